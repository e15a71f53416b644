"""Compiled ONNX -> MNGraph: values with element types and shapes, nodes with attributes, parameters, immediates."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import onnx
from numpy.typing import NDArray

from compiler.errors import CompilerError, EmptyTensor
from compiler.frontend.roles import PARAMETER, ROLE_KEY
from compiler.graph import MNGraph, MNNode, MNType, MNValue, OnnxType
from compiler.plan.constants import MAKERS, made_constant
from compiler.plan.gathers import gather_type, open_one_hot
from compiler.plan.immediates import inline_scalars, place_immediate
from compiler.plan.opening import open_operators
from compiler.plan.small_integers import SMALL, check_small_integers

REDUCTIONS = (
    *("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceSumSquare", "ReduceL1", "ReduceL2"),
    *("ReduceLogSum", "ReduceLogSumExp", "ChainerCastReduceSum"),
)

#: Inputs that are read at compile time; the value moves into the attribute of that name (None: shape of the result
#: says it all).
IMMEDIATES: dict[tuple[str, int], str | None] = {
    ("Reshape", 1): None,
    ("Squeeze", 1): None,
    ("Unsqueeze", 1): None,
    **{("Slice", position): None for position in range(1, 5)},
    **{("Pad", position): None for position in range(1, 4)},
    ("Expand", 1): None,
    ("Tile", 1): None,
    ("Split", 1): None,
    ("ConstantOfShape", 0): None,
    **{("Range", position): None for position in range(3)},
    ("OneHot", 1): None,
    ("OneHot", 2): None,
    ("CumSum", 1): "axis",
    ("TopK", 1): "k",
    ("Trilu", 1): "k",
    **{("Resize", position): None for position in range(1, 4)},
    **{(op_type, 1): "axes" for op_type in REDUCTIONS},
}

#: Inputs that are read at compile time when they are constants (and not parameters, which may change).
IF_CONSTANT = frozenset({("Gather", 1), ("GatherElements", 1)})

INTEGER_TYPES = {
    OnnxType.INT64: MNType.INT,
    OnnxType.INT32: MNType.INT,
    OnnxType.BOOL: MNType.INT,
    OnnxType.FLOAT32: MNType.FLOAT,
    **dict.fromkeys(SMALL, MNType.INT),
}


def import_model(model: onnx.ModelProto, updated: Collection[str] = ()) -> MNGraph:
    """The graph of a model whose value_info is complete.

    updated: initializers that are parameters although the model does not mark them, since calls change them.

    Initializers that layers read as tensors become `params` with their data as `constant`; those of IMMEDIATES
    become Constant nodes at IMM; one that is read in both ways becomes both.  Raises CompilerError for values without
    static shape or with an element type the chip has no form for.
    """
    graph = MNGraph()
    infos = {info.name: info for info in (*model.graph.value_info, *model.graph.input, *model.graph.output)}
    constants: dict[str, NDArray[Any]] = {
        tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer
    }
    for info in model.graph.input:
        if info.name not in constants:
            _add(graph, info.name, infos)
            graph.inputs.append(info.name)
    parameters = {*updated, *(info.name for info in model.graph.value_info if _is_parameter(info))}
    immediate, shared = _immediate_names(model, parameters)
    for name, data in constants.items():
        code = onnx.helper.np_dtype_to_tensor_dtype(data.dtype)
        value = MNValue(name, OnnxType.from_code(code), data.shape, _mn_type(name, code), constant=data)
        graph.add_value(value)
        if name in immediate:
            graph.nodes.append(place_immediate(value))
        else:
            _check_elements(name, data.shape)
            graph.params.append(name)
    twins: dict[str, str] = {}
    for name in sorted(shared):
        value = graph.values[name]
        twins[name] = graph.fresh_name(name, "Immediate")
        twin = MNValue(twins[name], value.onnx_dtype, value.shape, value.dtype, constant=value.constant)
        graph.nodes.append(place_immediate(graph.add_value(twin)))
        constants[twin.name] = constants[name]
    immediate |= set(twins.values())
    in_dram = {*graph.inputs, *graph.params}
    for number, proto in enumerate(model.graph.node):
        for name in proto.output:
            if name:
                _add(graph, name, infos)
        if proto.op_type in MAKERS:
            graph.nodes.append(made_constant(graph, proto, constants))
            continue
        node = _node(proto, number, constants)
        for position, name in enumerate(node.inputs):
            if name in twins and _known(node.op_type, position, name, parameters):
                node.inputs[position] = twins[name]
        if node.op_type == "Gather" and node.inputs[1] not in immediate:
            node.op_type = gather_type(node, in_dram)
        graph.nodes += open_one_hot(graph, node, constants) if node.op_type == "OneHot" else [node]
    graph.outputs = [info.name for info in model.graph.output]
    check_small_integers(graph)
    open_operators(graph)
    inline_scalars(graph, {*parameters, *(info.name for info in model.graph.input)})
    return graph


def _is_parameter(info: onnx.ValueInfoProto) -> bool:
    return any(entry.key == ROLE_KEY and entry.value == PARAMETER for entry in info.metadata_props)


def _mn_type(name: str, code: int) -> MNType:
    kind = OnnxType.from_code(code)
    if kind not in INTEGER_TYPES:
        raise CompilerError(
            f"value {name!r} has element type {kind}; the chip code here handles {', '.join(INTEGER_TYPES)} (float32 "
            "tensors are half, single or double on the chip by the option float_dtype)"
        )
    return INTEGER_TYPES[kind]


def _add(graph: MNGraph, name: str, infos: dict[str, onnx.ValueInfoProto]) -> None:
    info = infos.get(name)
    if info is None or not info.type.tensor_type.HasField("shape"):
        raise CompilerError(f"value {name!r} has no inferred shape")
    tensor = info.type.tensor_type
    shape = []
    for dim in tensor.shape.dim:
        if not dim.HasField("dim_value"):
            raise CompilerError(
                f"value {name!r} has the dynamic dimension {dim.dim_param!r}; all shapes must be static"
            )
        shape.append(dim.dim_value)
    _check_elements(name, tuple(shape))
    graph.add_value(MNValue(name, OnnxType.from_code(tensor.elem_type), tuple(shape), _mn_type(name, tensor.elem_type)))


def _check_elements(name: str, shape: tuple[int, ...]) -> None:
    if 0 in shape:
        raise EmptyTensor(
            f"value {name!r} of shape {shape} has no elements: axis {shape.index(0)} is 0; a tensor on the chip needs "
            "least one element on every axis"
        )


def _known(op_type: str, position: int, name: str, parameters: set[str]) -> bool:
    """Whether a constant is read at compile time there."""
    place = (op_type, position)
    return place in IMMEDIATES or (place in IF_CONSTANT and name not in parameters)


def _immediate_names(model: onnx.ModelProto, parameters: set[str]) -> tuple[set[str], set[str]]:
    """Initializers that only compile-time inputs read, and those that such inputs and others read."""
    uses: dict[str, set[bool]] = {tensor.name: set() for tensor in model.graph.initializer}
    for node in model.graph.node:
        for position, name in enumerate(node.input):
            if name in uses:
                uses[name].add(_known(node.op_type, position, name, parameters))
    for output in model.graph.output:
        if output.name in uses:
            uses[output.name].add(False)
    found = [{name for name, kinds in uses.items() if kinds == wanted} for wanted in ({True}, {True, False})]
    return found[0], found[1]


def _node(proto: onnx.NodeProto, number: int, constants: dict[str, NDArray[Any]]) -> MNNode:
    attrs: dict[str, Any] = {a.name: onnx.helper.get_attribute_value(a) for a in proto.attribute}
    for position, name in enumerate(proto.input):
        target = IMMEDIATES.get((proto.op_type, position))
        if target is not None and name:
            if name not in constants:
                raise CompilerError(f"{proto.op_type} {proto.output[0]!r}: input {name!r} must be a constant")
            attrs[target] = [int(v) for v in constants[name].ravel()]
    return MNNode(proto.op_type, proto.name or f"node_{number}", list(proto.input), list(proto.output), attrs)
