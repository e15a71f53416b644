"""Measuring one probe: emit just that node (and the transfers of its pattern), pack, and run the time model."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.emit.link import emit_program
from compiler.errors import CompilerError, LayoutConflict
from compiler.graph import GraphError, Location, MNGraph, MNNode, MNValue
from compiler.layers.registry import layer_of
from compiler.layout import LayoutError
from compiler.nodesim.patterns import UPLOADED, Pattern
from compiler.nodesim.probe import DOWNLOAD, IDENTITY, UPLOAD, Probe
from compiler.plan.addresses import plan_addresses
from compiler.schedulers.placement import FOREVER, place_values

_LOCAL = ("LM0", "LM1")


@dataclass(frozen=True)
class Result:
    """cycles and LM words of a probe that compiled, or `error`: why it did not."""

    cycles: int = 0
    lm_words: tuple[int, int] = (0, 0)
    error: str = ""

    def to_json(self) -> dict[str, object]:
        """As simulation_result.json and the cache hold it."""
        if self.error:
            return {"error": self.error}
        return {"cycles": self.cycles, "lm_words": list(self.lm_words)}


def measure(probe: Probe) -> Result:
    """Compile and time a probe.  What the compiler refuses is a result; other errors are bugs and pass through."""
    from hw.model import ModelError
    from isa.errors import IsaError
    from isa.pack import PackError

    try:
        return _measured(probe)
    except (CompilerError, GraphError, LayoutError, IsaError, PackError, ModelError) as error:
        return Result(error=f"{type(error).__name__}: {error}")


def _measured(probe: Probe) -> Result:
    from hw.model import simulate
    from hw.spec import default_spec
    from isa.assemble import assemble

    graph, skip = _transfer(probe) if probe.transfer else _node(probe)
    addresses = plan_addresses(graph)
    kept = [position for position, node in enumerate(graph.nodes) if node.name not in skip]
    part = graph.copy()
    part.nodes = [graph.nodes[position] for position in kept]
    text = emit_program(part, [addresses.scratch[position] for position in kept])
    words = (addresses.lm_peak["m"], addresses.lm_peak["n"])
    cycles = simulate(assemble(text, name=probe.label), default_spec()).cycles if text.strip() else 0
    return Result(cycles, words)


def _node(probe: Probe) -> tuple[MNGraph, set[str]]:
    """The placed graph of a node probe and the names of nodes that only prepare it."""
    pattern = probe.pattern
    node = probe.graph.nodes[-1]
    places = {name: place for name, place in zip(node.inputs, pattern.inputs, strict=True) if name}

    def home(name: str) -> Location:
        return Location.LM1 if places.get(name) == "LM1" else Location.LM0

    wanted = layer_of(node).first_in
    if wanted is not None and pattern.inputs[0] in _LOCAL and pattern.inputs[0] != wanted.value:
        raise LayoutConflict(f"{node.op_type} takes its first operand in {wanted}, not in {pattern.inputs[0]}")
    graph = place_values(probe.graph, lambda name: FOREVER, home).graph
    skip = {
        move.name
        for move in graph.nodes
        if (move.op_type == DOWNLOAD and places.get(move.inputs[0]) in _LOCAL)
        or (move.op_type == UPLOAD and pattern.output != UPLOADED)
    }
    return graph, skip


def _transfer(probe: Probe) -> tuple[MNGraph, set[str]]:
    """i0 in DRAM -> i0 in LM0 -> where the transfer goes; only the transfer itself is timed."""
    graph = probe.graph.copy()
    source = graph.values["i0"]
    source.place_at(Location.DRAM)
    held = _moved(graph, source, "held", DOWNLOAD, Location.LM0)
    if probe.transfer == DOWNLOAD:
        graph.outputs = [held.name]
        return graph, set()
    target = Location.DRAM if probe.transfer == UPLOAD else Location.LM1
    graph.outputs = [_moved(graph, held, "o0", probe.transfer, target).name]
    assert probe.transfer in (UPLOAD, IDENTITY)
    return graph, {"held"}


def _moved(graph: MNGraph, value: MNValue, name: str, op_type: str, loc: Location) -> MNValue:
    made = MNValue(name, value.onnx_dtype, value.shape, value.dtype, value.layout, value.gene, value.pad_type)
    made.place_at(loc)
    graph.nodes.append(MNNode(op_type, name, [value.name], [name]))
    return graph.add_value(made)


def describe(pattern: Pattern) -> dict[str, object]:
    """A pattern as simulation_result.json shows it."""
    return {"inputs": list(pattern.inputs), "output": pattern.output, "expected": pattern.expected.name.lower()}
