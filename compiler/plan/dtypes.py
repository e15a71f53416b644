"""Dtype planner: which element type each FLOAT32 value has on the chip (`float_dtype`, seed 4.2.2.2).

`mixed`: Half for the operands and results of matrix products, and for what is made of them, or made only for them, by
layers that are exact on Half (moves, relu); Float everywhere else.  `half`: Half wherever a layer has code for it.
`float`: Float everywhere; `double`: Double everywhere.  Addends of the single-precision accumulator (a bias) are Float
under `mixed` and `half` too.  Where a value has another type than a layer needs, a Cast node goes in.
"""

from __future__ import annotations

from compiler.graph import Location, MNGraph, MNNode, MNType, MNValue, OnnxType
from compiler.layers.base import HalfUse
from compiler.layers.registry import layer_of

HALF, FLOAT = MNType.HALF, MNType.FLOAT
#: The type that a rule starts from; `float` and `double` know no other.
BASE = {"mixed": FLOAT, "half": HALF, "float": FLOAT, "double": MNType.DOUBLE}
UNIFORM = ("float", "double")


def plan_dtypes(graph: MNGraph, float_dtype: str) -> None:
    """Set `dtype` of every value and insert the Cast nodes; `float_dtype` is a key of `BASE`."""
    _Planner(graph, float_dtype).run()


class _Planner:
    def __init__(self, graph: MNGraph, rule: str) -> None:
        self._graph, self._rule, self._base = graph, rule, BASE[rule]
        self._wanted: dict[str, MNType] = {}
        self._casts: dict[tuple[str, MNType], str] = {}

    def run(self) -> None:
        graph = self._graph
        nodes = [node for node in graph.nodes if node.op_type != "Constant"]
        for node in reversed(nodes):
            self._want(node)
        for name in (*graph.inputs, *graph.params):
            if self._is_float(name):
                graph.values[name].dtype = self._wanted.get(name, self._base)
        planned, graph.nodes = graph.nodes, []
        for node in planned:
            if node.op_type != "Constant":
                self._settle(node)
            graph.nodes.append(node)

    def _is_float(self, name: str) -> bool:
        """Whether a name is that of a FLOAT32 tensor on the chip: immediates are not."""
        value = self._graph.values[name] if name else None
        return value is not None and value.onnx_dtype is OnnxType.FLOAT32 and value.loc is not Location.IMM

    def _fixed(self, node: MNNode, name: str) -> MNType | None:
        """The type a node needs for a value whatever the types of its other values; None: it takes either."""
        layer = layer_of(node)
        if self._rule in UNIFORM:
            return self._base
        if name in layer.single_values(node):
            return FLOAT
        if name in layer.half_values(node):
            return HALF
        use = layer.half_use(node)
        if self._rule == "half":
            return FLOAT if use is HalfUse.NONE else HALF
        return None if use is HalfUse.EXACT else FLOAT

    def _group(self, node: MNNode) -> tuple[str, ...]:
        """The values of a node that share a type which the node leaves open."""
        same = layer_of(node).same_type(node)
        return tuple(name for name in same if self._is_float(name) and self._fixed(node, name) is None)

    def _want(self, node: MNNode) -> None:
        """Note what a node asks of its inputs.  Where readers differ, `mixed` keeps Float and `half` Half."""
        group = self._group(node)
        of_results = [self._wanted[name] for name in node.outputs if name in group and name in self._wanted]
        for name in node.used:
            if not self._is_float(name):
                continue
            need = self._fixed(node, name)
            if need is None and name in group and of_results:
                need = of_results[0]
            if need is not None and self._wanted.get(name) is not self._base:
                self._wanted[name] = need

    def _settle(self, node: MNNode) -> None:
        group = self._group(node)
        common = self._common(node, group)
        for position, name in enumerate(node.inputs):
            if self._is_float(name):
                need = self._fixed(node, name) or (common if name in group else None)
                node.inputs[position] = self._as(name, need)
        for name in node.outputs:
            if self._is_float(name):
                kind = self._fixed(node, name) or (common if name in group else None)
                self._graph.values[name].dtype = kind or FLOAT

    def _common(self, node: MNNode, group: tuple[str, ...]) -> MNType | None:
        """The type of the values that share one: Half when all inputs are, or when all readers want it."""
        given = {self._graph.values[name].dtype for name in node.used if name in group}
        wanted = {self._wanted.get(name) for name in node.outputs if name in group}
        return HALF if given == {HALF} or wanted == {HALF} else FLOAT

    def _as(self, name: str, need: MNType | None) -> str:
        """The name of a value in the type that is needed."""
        value = self._graph.values[name]
        if need is None or value.dtype is need:
            return name
        if (name, need) not in self._casts:
            cast = self._graph.fresh_name(name, "Cast")
            self._graph.add_value(MNValue(cast, value.onnx_dtype, value.shape, need, gene=value.gene))
            self._graph.nodes.append(MNNode("Cast", cast, [name], [cast], {"to": OnnxType.FLOAT32.code}))
            self._casts[name, need] = cast
        return self._casts[name, need]
