"""Runs a problem with the emitters of the layers at exactly the stated layouts and addresses, and counts lines.

Nothing is downloaded or uploaded unless the problem is a transfer; constant tables are (they are part of the price).  A
`nop` that only waits for an MV is not counted, as the published counts have none (op_records.md, "What a line is").
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from compiler.emit.link import PRAGMA, emit_program
from compiler.errors import CompilerError
from compiler.graph import Location, MNGraph, MNNode, MNValue, OnnxType
from compiler.graph.dtypes import decode, encode
from compiler.graph.mntype import MNType
from compiler.layers.elementwise import COMPARISONS
from compiler.layers.registry import layer_of
from compiler.layout import Layout, LayoutError, PadLayout
from compiler.layout.image import DramImage
from compiler.plan.immediates import inline_scalars
from compiler.plan.layout_spec import FIX_OUTPUT, Entry, LayoutSpecs
from compiler.plan.layouts import plan_layouts
from compiler.plan.truth_casts import fold_truth_casts
from compiler.records import boards
from compiler.records.problems import Operand, Problem

ONNX = {MNType.FLOAT: OnnxType.FLOAT32, MNType.INT: OnnxType.INT64}
LETTER = {Location.LM0: "m", Location.LM1: "n"}
OTHER = {Location.LM0: Location.LM1, Location.LM1: Location.LM0}


@dataclass(frozen=True)
class Measured:
    """Lines of a problem: PE lines of each layer in order, MV lines; `refused` says why there are none."""

    problem: str
    layers: list[tuple[str, int]] = field(default_factory=list)
    mv_lines: int = 0
    refused: str = ""

    @property
    def pe_lines(self) -> int:
        """PE lines of all layers."""
        return sum(lines for _, lines in self.layers)


def measure(problem: Problem, seed: int = 0) -> Measured:
    """Lines of a problem whose results were right.  Raises CompilerError when they are not."""
    from hw.engine import execute
    from hw.state import Board
    from isa.assemble import assemble
    from isa.errors import AsmError

    try:
        graph, result = _lay_out(problem)
        scratch = _place(graph, problem, result)
        program = assemble(emit_program(graph, scratch))
    except (CompilerError, LayoutError, AsmError) as error:
        return Measured(problem.name, refused=str(error).splitlines()[0])
    data = problem.make(np.random.default_rng(seed))
    board = Board()
    for name, array in data.items():
        boards.store(board, graph.values[name], encode(array, graph.values[name].dtype))
    for name in graph.params:
        constant = graph.values[name].constant
        assert constant is not None
        boards.store(board, graph.values[name], encode(constant, graph.values[name].dtype))
    execute(program, board)
    value = graph.values[result]
    got, want = decode(boards.load(board, value), value.dtype), problem.want(data)
    off = float(np.max(np.abs(got - np.asarray(want, np.float64))))
    if not off <= problem.tolerance:
        raise CompilerError(f"{problem.name}: the result is off by {off}, allowed are {problem.tolerance}")
    layers, mv_lines = _count(program.source)
    return Measured(problem.name, layers, mv_lines)


def _lay_out(problem: Problem) -> tuple[MNGraph, str]:
    """The planned graph and the name of the value that is the result."""
    graph = MNGraph(inputs=list(problem.inputs), outputs=[problem.steps[-1].output])
    for name, operand in problem.inputs.items():
        value = MNValue(name, ONNX[operand.dtype], operand.shape, operand.dtype, _layout(operand))
        if operand.loc is Location.DRAM:
            _same_order(operand, value)
        graph.add_value(value)
    for name, data in problem.constants.items():
        dtype = MNType.FLOAT if data.dtype.kind == "f" else MNType.INT
        graph.add_value(MNValue(name, ONNX[dtype], data.shape, dtype, constant=data))
        graph.params.append(name)
    for step in problem.steps:
        kind = OnnxType.BOOL if step.op_type in COMPARISONS else ONNX[step.dtype]
        graph.add_value(MNValue(step.output, kind, step.shape, step.dtype))
        graph.nodes.append(MNNode(step.op_type, step.op_type, list(step.inputs), [step.output], dict(step.attrs)))
    inline_scalars(graph, ())
    fold_truth_casts(graph)
    planned = plan_layouts(graph, specs=LayoutSpecs(tuple(_fixed(problem))))
    result = problem.steps[-1].output
    if problem.result.dram:
        _same_order(problem.result, planned.values[result])
    return planned, result


def _fixed(problem: Problem) -> Iterator[Entry]:
    """The layouts in which results of steps must leave their operators."""
    for step in problem.steps:
        text = problem.result.layout if step is problem.steps[-1] else step.layout
        if text:
            layout = PadLayout(step.shape, Layout.parse(text))
            yield Entry(FIX_OUTPUT, step.op_type, step.shape, layout, problem.name)


def _layout(operand: Operand) -> PadLayout:
    return PadLayout(operand.shape, Layout.parse(operand.layout))


def _same_order(operand: Operand, value: MNValue) -> None:
    """Raise CompilerError unless our DRAM image has every element where the problem states it."""
    assert value.layout is not None
    stated = PadLayout(operand.shape, Layout.parse(operand.dram)).index_arrays()
    numbers = np.arange(np.prod(operand.shape, dtype=int), dtype=np.uint32).reshape(operand.shape)
    words = DramImage(value.layout, value.dtype).pack(numbers).view(np.uint32).reshape(4, -1, 2)[..., ::-1]
    if not np.array_equal(words[stated.l2b // 2, np.minimum(stated.addr, words.shape[1] - 1), stated.word], numbers):
        raise CompilerError(f"the DRAM image of {value.layout} has another order than {operand.dram}")


def _place(graph: MNGraph, problem: Problem, result: str) -> list[dict[str, int]]:
    """Set locations and addresses; returns the scratch of every node."""
    free = {"m": 0, "n": 0}
    for name, operand in problem.inputs.items():
        graph.values[name].place_at(operand.loc, operand.addr)
        if operand.loc in LETTER:
            free[LETTER[operand.loc]] = max(free[LETTER[operand.loc]], _end(graph.values[name]))
    nodes, graph.nodes = graph.nodes, []
    _load_params(graph, nodes)
    wanted = problem.result
    for node in list(graph.nodes):
        out = graph.values[node.outputs[0]]
        if out.loc is not None:
            continue
        layer, first = layer_of(node), graph.values[node.used[0]]
        if layer.first_in not in (None, first.loc) and first.loc in LETTER:
            _copy(graph, node)
            first = graph.values[node.used[0]]
        if layer.delivers_in_dram(node, graph):
            out.place_at(Location.DRAM, wanted.addr if out.name == result else 1 << 20)
        elif out.name == result:
            if first.loc is wanted.loc:
                _copy(graph, node)
            out.place_at(wanted.loc, wanted.addr)
        else:
            out.place_at(OTHER.get(first.loc or Location.DRAM, Location.LM0))
    if graph.values[result].loc is not wanted.loc:
        raise CompilerError(f"the result lies in {graph.values[result].loc}, not in {wanted.loc}")
    if wanted.loc in LETTER:
        free[LETTER[wanted.loc]] = max(free[LETTER[wanted.loc]], _end(graph.values[result]))
    scratch = []
    for node in graph.nodes:
        out = graph.values[node.outputs[0]]
        if out.loc in LETTER and out.addr is None:
            out.addr = free[LETTER[out.loc]]
            free[LETTER[out.loc]] += 2 * out.num_lw
        words: dict[str, int] = {}
        for key, size in layer_of(node).scratch(node, graph).items():
            letter = key if key != "other" else LETTER[out.loc or Location.LM0]
            words[letter] = free[letter]
            free[letter] += -(-size // 4) * 4
        scratch.append(words)
    return scratch


def _copy(graph: MNGraph, node: MNNode) -> None:
    """Move the first operand of a node to the other local memory."""
    value = graph.values[node.inputs[0]]
    name = graph.fresh_name(value.name, "Identity")
    copy = graph.add_value(MNValue(name, value.onnx_dtype, value.shape, value.dtype, value.layout))
    copy.place_at(OTHER[value.loc or Location.LM0])
    graph.nodes.insert(graph.nodes.index(node), MNNode("Identity", name, [value.name], [name]))
    node.inputs[0] = name


def _end(value: MNValue) -> int:
    assert value.addr is not None
    return -(-(value.addr + 2 * value.num_lw) // 4) * 4


def _load_params(graph: MNGraph, nodes: list[MNNode]) -> None:
    """Tables come from DRAM: a download in front of the first node that reads one."""
    address = 1 << 20
    loaded: dict[str, str] = {}
    for node in nodes:
        for position, name in enumerate(node.inputs):
            if name not in graph.params:
                continue
            value = graph.values[name]
            if name not in loaded:
                assert value.layout is not None
                value.place_at(Location.DRAM, address)
                address += DramImage(value.layout, value.dtype).slot_lws
                copy = graph.fresh_name(name, "Download")
                graph.add_value(MNValue(copy, value.onnx_dtype, value.shape, value.dtype, value.layout))
                graph.values[copy].place_at(Location.LM1)
                graph.nodes.append(MNNode("MNCoreDownload", copy, [name], [copy]))
                loaded[name] = copy
            node.inputs[position] = loaded[name]
        graph.nodes.append(node)


def _count(text: str) -> tuple[list[tuple[str, int]], int]:
    """(PE lines by layer, MV lines) of a packed program."""
    lines: Counter[str] = Counter()
    names: list[str] = []
    mv_lines = 0
    for line in (raw.split("#")[0].strip() if not raw.startswith(PRAGMA) else raw for raw in text.splitlines()):
        if line.startswith(PRAGMA):
            names.append(line[len(PRAGMA) :].split("(")[0])
        elif line.startswith("mv"):
            mv_lines += 1
        elif line.startswith("nop/"):
            lines[names[-1]] += int(line[4:])
        elif line and not line.startswith("nop; wait"):
            lines[names[-1]] += 1
    return [(name, lines[name]) for name in dict.fromkeys(names)], mv_lines
