"""Products made of others (see `compiler.plan.opening`)."""

from __future__ import annotations

from compiler.graph import MNGraph, MNNode, OnnxType
from compiler.plan.opener import Opener


def _factor(o: Opener, name: str) -> float:
    return float(o.node.attrs.get(name, 1.0))


def gemm_has_layer(graph: MNGraph, node: MNNode) -> bool:
    """Whether a Gemm is a plain product with at most a vector over its columns added."""
    columns = graph.values[node.outputs[0]].shape[-1:]
    plain = all(float(node.attrs.get(name, 1.0)) == 1.0 for name in ("alpha", "beta"))
    return plain and all(graph.values[name].shape == columns for name in node.inputs[2:] if name)


def gemm(o: Opener) -> None:
    """alpha * A . B + beta * C with any C that broadcasts to the result."""
    attrs = {name: o.node.attrs[name] for name in ("transA", "transB", "spread") if name in o.node.attrs}
    shape = o.shape(o.node.outputs[0])
    addend = o.node.inputs[2] if len(o.node.inputs) > 2 else ""
    if addend and _factor(o, "beta") != 1.0:
        addend = o.like("Mul", addend, o.constant(_factor(o, "beta"), OnnxType.FLOAT32))
    if addend and _factor(o, "alpha") == 1.0 and o.shape(addend) == shape[-1:]:
        o.finish(o.make("Gemm", *o.node.inputs[:2], addend, shape=shape, **attrs))
        return
    product = o.make("Gemm", *o.node.inputs[:2], shape=shape, **attrs)
    if _factor(o, "alpha") != 1.0:
        product = o.like("Mul", product, o.constant(_factor(o, "alpha"), OnnxType.FLOAT32))
    o.finish(o.like("Add", product, addend) if addend else product)
