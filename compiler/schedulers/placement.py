"""Where values are at each step: the mechanism that all schedulers share (seed 4.2.2.4).

The nodes keep their order.  A *layer step* is one operator of the compiled ONNX together with the nodes that
prepare its operands (layout switches, paddings, reshapes).  Each value has a *reach*: for how many steps after the one
in which it came to local memory it can be used from there.  Every later use goes through DRAM, by an Upload where the
value is made and a Download where it is used.  Graph outputs are uploaded.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from compiler.errors import CompilerError
from compiler.graph import Location, MNGraph, MNNode, MNValue
from compiler.layers.registry import layer_of

HELPERS = frozenset(
    {
        "MNCoreBankDownload",
        "MNCoreDealtDownload",
        "MNCoreInputSplit",
        "MNCoreOutputConcat",
        "MNCoreSlicedDownload",
        "MNCoreSlicedUpload",
        "MNCoreLayoutSwitch",
        "MNCoreRefillPadding",
        "Reshape",
        "Flatten",
        "Squeeze",
        "Unsqueeze",
        "Transpose",
        "Identity",
    }
)
#: A reach without end: the value stays in local memory.
FOREVER = 1 << 30
OTHER = {Location.LM0: Location.LM1, Location.LM1: Location.LM0}


@dataclass
class Schedule:
    """The scheduled graph and, for each ONNX output, the DRAM value that holds it.

    origin: the value of the unscheduled graph that each value made here is a copy of.
    """

    graph: MNGraph
    outputs: dict[str, str] = field(default_factory=dict)
    origin: dict[str, str] = field(default_factory=dict)


def in_lm0(name: str) -> Location:
    """Every value is downloaded to LM0."""
    return Location.LM0


def place_values(
    graph: MNGraph, reach: Callable[[str], int], home: Callable[[str], Location] = in_lm0
) -> Schedule:
    """Insert Downloads, Uploads and Identities and give every value its location (addresses come later).

    home: the local memory that a value is downloaded to where the layer does not ask for one.
    """
    return _Scheduler(graph, reach, home).run()


class _Scheduler:
    def __init__(self, graph: MNGraph, reach: Callable[[str], int], home: Callable[[str], Location]) -> None:
        self._source = graph.copy()
        self._graph = graph.copy()
        self._graph.nodes = []
        self._reach = reach
        self._home = home
        self._steps = _layer_steps(self._source)
        self._shared = _shared(self._source)
        self._in_lm: dict[str, tuple[str, int]] = {}
        self._in_dram: dict[str, str] = {}
        self._stored = {name for node in graph.nodes for k, name in enumerate(node.inputs) if _reads_dram(node, k)}
        self._stored |= set(graph.outputs)
        self._result = Schedule(self._graph)

    def run(self) -> Schedule:
        for name in (*self._graph.inputs, *self._graph.params):
            self._graph.values[name].place_at(Location.DRAM)
            self._in_dram[name] = name
        last_use = self._last_steps()
        for node, step in zip(self._source.nodes, self._steps, strict=True):
            if node.op_type == "Constant":
                self._graph.nodes.append(node)
                continue
            originals = list(node.outputs)
            self._place(node, step)
            for name in originals:
                if last_use.get(name, -1) > step + self._reach(name) or name in self._stored:
                    self._upload(name)
        for name in self._source.outputs:
            if name not in self._in_dram:
                raise CompilerError(f"output {name!r} never reaches DRAM")
            self._result.outputs[name] = self._in_dram[name]
        self._graph.outputs = list(dict.fromkeys(self._result.outputs.values()))
        return self._result

    def _last_steps(self) -> dict[str, int]:
        last: dict[str, int] = {}
        for node, step in zip(self._source.nodes, self._steps, strict=True):
            for name in node.used:
                last[name] = max(step, last.get(name, -1))
        return last

    def _place(self, node: MNNode, step: int) -> None:
        layer = layer_of(node)
        graph = self._graph
        shared = node.inputs[0] in self._shared
        for position, name in enumerate(list(node.inputs)):
            if not name or graph.values[name].loc is Location.IMM:
                continue
            if _reads_dram(node, position):
                if name not in self._in_dram:
                    raise CompilerError(
                        f"{node.op_type} {node.outputs[0]!r} reads {name!r} from DRAM, but it was never stored there"
                    )
                node.inputs[position] = self._in_dram[name]
            else:
                wanted = layer.first_in if position == 0 else None
                node.inputs[position] = self._fetch(name, step, wanted)
        if layer.in_place and shared:
            node.inputs[0] = self._identity(node.inputs[0])
        graph.nodes.append(node)
        first = next((graph.values[n] for p, n in enumerate(node.inputs) if n and p not in layer.streamed), None)
        self._name_slices(node)
        for name in node.outputs:
            value = graph.values[name]
            if layer.delivers_in_dram(node, graph):
                value.place_at(Location.DRAM)
                self._in_dram[name] = name
                continue
            if first is None or first.loc is None:
                value.place_at(Location.LM0)
            elif layer.alias:
                value.place_at(first.loc)
                value.parent = first.name
            else:
                value.place_at(OTHER[first.loc])
            self._in_lm[name] = (name, step)

    def _name_slices(self, node: MNNode) -> None:
        """Slices of a value in DRAM lie inside of it."""
        if node.op_type == "MNCoreInputSplit":
            for name in node.outputs:
                self._graph.values[name].parent = node.inputs[0]
        elif node.op_type == "MNCoreOutputConcat":
            for name in node.inputs:
                self._graph.values[name].parent = node.outputs[0]

    def _fetch(self, name: str, step: int, wanted: Location | None) -> str:
        """A name under which the value is in local memory now."""
        held = self._in_lm.get(name)
        if held is not None and held[1] + self._reach(name) >= step:
            current = self._graph.values[held[0]]
            if wanted is None or current.loc is wanted:
                return held[0]
            copy = self._identity(held[0])
            self._in_lm[name] = (copy, step)
            return copy
        if name not in self._in_dram:
            raise CompilerError(f"value {name!r} is needed in local memory but was not kept")
        source = self._graph.values[self._in_dram[name]]
        fetched = self._derive(source, name, "Download", wanted or self._home(name))
        self._graph.nodes.append(MNNode("MNCoreDownload", fetched.name, [source.name], [fetched.name]))
        self._in_lm[name] = (fetched.name, step)
        return fetched.name

    def _identity(self, name: str) -> str:
        value = self._graph.values[name]
        assert value.loc is not None
        copy = self._derive(value, name, "Identity", OTHER[value.loc])
        self._graph.nodes.append(MNNode("Identity", copy.name, [name], [copy.name]))
        return copy.name

    def _upload(self, name: str) -> None:
        if name in self._in_dram:
            return
        held, _ = self._in_lm[name]
        stored = self._derive(self._graph.values[held], name, "Upload", Location.DRAM)
        self._graph.nodes.append(MNNode("MNCoreUpload", stored.name, [held], [stored.name]))
        self._in_dram[name] = stored.name

    def _derive(self, value: MNValue, base: str, step: str, loc: Location) -> MNValue:
        name = self._graph.fresh_name(base, step)
        made = MNValue(name, value.onnx_dtype, value.shape, value.dtype, value.layout, value.gene, value.pad_type)
        made.place_at(loc)
        self._result.origin[name] = self._result.origin.get(base, base)
        return self._graph.add_value(made)


def _reads_dram(node: MNNode, position: int) -> bool:
    """Whether a node reads this input where it is stored."""
    if node.op_type in ("Constant", "MNCoreOutputConcat"):
        return node.op_type != "Constant"
    return position in layer_of(node).streamed


def _shared(graph: MNGraph) -> set[str]:
    """Values that lie in the memory of a graph output or of something that several layers read, perhaps in another
    shape: what is written over them is written over a copy.
    """
    root: dict[str, str] = {}
    readers: Counter[str] = Counter()
    for node in graph.nodes:
        layer = layer_of(node) if node.op_type != "Constant" else None
        if layer is not None and layer.alias and not layer.in_place:
            root[node.outputs[0]] = root.get(node.inputs[0], node.inputs[0])
        else:
            readers.update({root.get(name, name) for name in node.used})
    readers.update(2 * [root.get(name, name) for name in graph.outputs])
    return {name for name in graph.values if readers[root.get(name, name)] > 1}


def _prepares(node: MNNode, graph: MNGraph) -> bool:
    """Whether a node is no operator of the compiled ONNX, but prepares an operand; so do conversions between the chip's
    own types of one framework type.
    """
    kinds = {graph.values[name].onnx_dtype for name in (*node.used, *node.outputs)}
    return node.op_type in HELPERS or (node.op_type == "Cast" and len(kinds) == 1)


def _layer_steps(graph: MNGraph) -> list[int]:
    """Layer step of every node; helpers belong to the step of the operator that reads them first."""
    steps = [0] * len(graph.nodes)
    count = sum(not _prepares(node, graph) for node in graph.nodes)
    first_reader: dict[str, int] = {}
    for position in reversed(range(len(graph.nodes))):
        node = graph.nodes[position]
        if _prepares(node, graph):
            readers = [first_reader[name] for name in node.outputs if name in first_reader]
            steps[position] = min(readers, default=count)
        else:
            count -= 1
            steps[position] = count
        for name in node.used:
            first_reader[name] = steps[position]
    return steps
