"""Operators that are made of others: each is replaced by nodes that have layers, right after the import.

Softmax and its relatives, means and norms, losses.  Products with factors: `compiler.plan.opening_products`;
convolutions and poolings: `compiler.plan.opening_windows`; normalisations: `compiler.plan.opening_norms`; gathers,
scatters, order and running sums: `compiler.plan.opening_indices`; functions of elements, images of other sizes:
`compiler.plan.opening_elements`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from compiler.graph import MNGraph, MNNode, OnnxType
from compiler.layers.reduce import reduced_axes
from compiler.plan import opening_elements, opening_indices, opening_norms, opening_products, opening_windows
from compiler.plan.opener import Opener
from compiler.plan.opening_indices import picked


def _axis(opener: Opener, default: int = -1) -> int:
    return int(opener.node.attrs.get("axis", default)) % len(opener.shape(opener.node.inputs[0]))


def _shifted(o: Opener, x: str, axes: Sequence[int]) -> tuple[str, str, str]:
    """(largest element, exponentials of the differences to it, the differences)."""
    largest = o.reduce("ReduceMax", x, axes)
    difference = o.like("Sub", x, largest)
    return largest, o.like("Exp", difference), difference


def _softmax(o: Opener) -> None:
    x, axes = o.node.inputs[0], (_axis(o),)
    _, powers, _ = _shifted(o, x, axes)
    # One reciprocal for each sum: a division of every element costs several times a product.
    o.finish(o.like("Mul", powers, o.like("Reciprocal", o.reduce("ReduceSum", powers, axes))))


def _log_softmax_of(o: Opener, x: str, axis: int) -> str:
    _, powers, difference = _shifted(o, x, (axis,))
    return o.like("Sub", difference, o.like("Log", o.reduce("ReduceSum", powers, (axis,))))


def _log_softmax(o: Opener) -> None:
    o.finish(_log_softmax_of(o, o.node.inputs[0], _axis(o)))


def _reduction(finish: str, prepare: str = "") -> Callable[[Opener], None]:
    """A sum of prepared elements, finished by an element-wise operator ("" for none; Mul is by 1 / count)."""

    def opened(o: Opener) -> None:
        x = o.node.inputs[0]
        axes = reduced_axes(o.node, len(o.shape(x)))
        terms = o.like("Mul", x, x) if prepare == "Mul" else o.like(prepare, x) if prepare else x
        total = o.reduce("ReduceSum", terms, axes, keep=bool(o.node.attrs.get("keepdims", 1)))
        if finish == "Mul":
            count = math.prod(o.shape(x)[axis] for axis in axes)
            total = o.like("Mul", total, o.constant(1 / count, OnnxType.FLOAT32))
        elif finish:
            total = o.like(finish, total)
        o.finish(total)

    return opened


def _log_sum_exp(o: Opener) -> None:
    x, keep = o.node.inputs[0], bool(o.node.attrs.get("keepdims", 1))
    axes = reduced_axes(o.node, len(o.shape(x)))
    largest, powers, _ = _shifted(o, x, axes)
    total = o.like("Add", o.like("Log", o.reduce("ReduceSum", powers, axes)), largest)
    if not keep:
        total = o.make("Squeeze", total, shape=[extent for n, extent in enumerate(o.shape(x)) if n not in axes])
    o.finish(total)


def _cast_reduce_sum(o: Opener) -> None:
    x, to = o.node.inputs[0], OnnxType.from_code(int(o.node.attrs["to"]))
    axes = reduced_axes(o.node, len(o.shape(x)))
    cast = o.make("Cast", x, shape=o.shape(x), kind=to, to=to.code)
    o.finish(o.reduce("ReduceSum", cast, axes, keep=bool(o.node.attrs.get("keepdims", 1))))


def _loss(o: Opener, log_probabilities: str) -> None:
    """Negative log likelihood: classes along axis 1, targets of the shape without it, optional weights per class."""
    shape, target = o.shape(log_probabilities), o.node.inputs[1]
    column = o.make("Unsqueeze", target, shape=[shape[0], 1, *shape[2:]])
    loss = o.like("Neg", picked(o, log_probabilities, column, 1))
    weight = ""
    if len(o.node.inputs) > 2 and o.node.inputs[2]:
        spread = o.make("Reshape", o.node.inputs[2], shape=[1, shape[1], *[1] * (len(shape) - 2)])
        weight = picked(o, spread, column, 1)
    if "ignore_index" in o.node.attrs:
        ignored = o.constant(int(o.node.attrs["ignore_index"]), o.kind(column))
        counted = o.like("Not", o.like("Equal", column, ignored, kind=OnnxType.BOOL))
        valid = o.make("Cast", counted, shape=o.shape(column), kind=OnnxType.FLOAT32, to=OnnxType.FLOAT32.code)
        weight = o.like("Mul", weight, valid) if weight else valid
    if weight:
        loss = o.like("Mul", loss, weight)
    reduction = o.node.attrs.get("reduction", b"mean")
    reduction = reduction.decode() if isinstance(reduction, bytes) else str(reduction)
    everything = range(len(o.shape(loss)))
    if reduction == "none":
        o.finish(o.make("Squeeze", loss, shape=o.shape(target)))
        return
    total = o.reduce("ReduceSum", loss, everything, keep=False)
    if reduction == "mean":
        if weight:
            total = o.like("Div", total, o.reduce("ReduceSum", weight, everything, keep=False))
        else:
            total = o.like("Mul", total, o.constant(1 / math.prod(o.shape(target)), OnnxType.FLOAT32))
    o.finish(total)


def _negative_log_likelihood(o: Opener) -> None:
    _loss(o, o.node.inputs[0])


def _cross_entropy(o: Opener) -> None:
    logs = _log_softmax_of(o, o.node.inputs[0], 1)
    _loss(o, logs)
    if len(o.node.outputs) > 1 and o.node.outputs[1]:
        o.finish(logs, 1)


OPENINGS: dict[str, Callable[[Opener], None]] = {
    "Softmax": _softmax,
    "LogSoftmax": _log_softmax,
    "ReduceMean": _reduction("Mul"),
    "ReduceSumSquare": _reduction("", "Mul"),
    "ReduceL1": _reduction("", "Abs"),
    "ReduceL2": _reduction("Sqrt", "Mul"),
    "ReduceLogSum": _reduction("Log"),
    "ReduceLogSumExp": _log_sum_exp,
    "ChainerCastReduceSum": _cast_reduce_sum,
    "NegativeLogLikelihoodLoss": _negative_log_likelihood,
    "SoftmaxCrossEntropyLoss": _cross_entropy,
    "LayerNormalization": opening_norms.layer_normalisation,
    "InstanceNormalization": opening_norms.instance_normalisation,
    "BatchNormalization": opening_norms.batch_normalisation,
    "Gemm": opening_products.gemm,
    "Conv": opening_windows.conv,
    "ConvTranspose": opening_windows.conv_transpose,
    "ChainerConvGradWeight": opening_windows.conv_grad_weight,
    "MaxPool": opening_windows.max_pool,
    "ChainerMaxPoolGrad": opening_windows.max_pool_grad,
    "AveragePool": opening_windows.average_pool,
    "ChainerAveragePoolGrad": opening_windows.average_pool_grad,
    "GlobalAveragePool": opening_windows.global_pool("ReduceSum"),
    "GlobalMaxPool": opening_windows.global_pool("ReduceMax"),
    "MatMul": opening_elements.matrix_by_vector,
    "GatherElements": opening_indices.gather_elements,
    "ScatterElements": opening_indices.scatter_elements,
    "TopK": opening_indices.top_k,
    "CumSum": opening_indices.running_sum,
    "Trilu": opening_indices.triangle,
    "IsNaN": opening_elements.is_nan,
    "IsInf": opening_elements.is_infinite,
    "Mish": opening_elements.mish,
    "Celu": opening_elements.celu,
    "Selu": opening_elements.selu,
    "Softsign": opening_elements.softsign,
    "DepthToSpace": opening_elements.depth_to_space,
    "SpaceToDepth": opening_elements.space_to_depth,
    "Resize": opening_elements.resize,
}


def _has_layer(graph: MNGraph, node: MNNode) -> bool:
    """Whether a form of an operator in OPENINGS stays as it is."""
    values = graph.values
    if node.op_type == "BatchNormalization":
        return bool(node.attrs.get("training_mode", 0))  # statistics of the batch: refused by its name
    if node.op_type == "Gemm":
        return opening_products.gemm_has_layer(graph, node)
    if node.op_type == "ChainerCastReduceSum":
        return values[node.inputs[0]].dtype is values[node.outputs[0]].dtype
    if node.op_type == "MatMul":
        return opening_elements.is_matrix_product(graph, node)
    return opening_indices.has_layer(graph, node)


def open_operators(graph: MNGraph) -> None:
    """Replace the nodes of all operators in OPENINGS, in place."""
    nodes, graph.nodes = graph.nodes, []
    for node in nodes:
        if node.op_type not in OPENINGS or _has_layer(graph, node):
            graph.nodes.append(node)
            continue
        opener = Opener(graph, node)
        OPENINGS[node.op_type](opener)
        graph.nodes += opener.nodes
