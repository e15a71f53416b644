"""From a planned graph to VSM text: each node is emitted and packed alone, then the pieces are appended (Concat).

A node's code starts with all transfers of the node before completed; `nop/3` between two nodes covers the longest
hazard distance of the chip (hazards.md), so that pieces can follow each other in any order.  A pragma comment names the
node, which lets the time model and the trace speak of layers.
"""

from __future__ import annotations

from collections.abc import Sequence

from compiler.emit.asm import Asm
from compiler.errors import CompilerError
from compiler.graph import MNGraph, MNNode
from compiler.layers.base import EmitContext
from compiler.layers.registry import layer_of
from hw.program import Line, Step
from isa import parse_item, parse_mv
from isa.pack import pack, vsm_text

SEPARATOR = Step(nop=True)
BOUNDARY_NOPS = 3
PRAGMA = "#@layer "


def emit_program(graph: MNGraph, scratch: Sequence[dict[str, int]]) -> str:
    """VSM source of the whole graph."""
    parts: list[str] = []
    first_tag = 1
    for node, words in zip(graph.nodes, scratch, strict=True):
        if node.op_type == "Constant":
            continue
        asm = Asm(first_tag)
        layer_of(node).emit(node, EmitContext(graph, words), asm)
        asm.wait_all()
        first_tag = asm.next_tag
        if not asm.lines:
            continue
        lines = pack([_decode(text, node) for text in asm])
        parts.append(PRAGMA + str(node) + "\n" + vsm_text([*lines, *[SEPARATOR] * BOUNDARY_NOPS]))
    return "".join(parts)


def _decode(text: str, node: MNNode) -> Line:
    try:
        if text.startswith("mv"):
            return parse_mv(text)
        if text.startswith("nop; wait i"):
            return Step(nop=True, wait=int(text[-2:], 16), text=text)
        return Step(items=(parse_item(text),), text=text)
    except Exception as error:
        raise CompilerError(f"{node}: the emitter wrote a line the assembler refuses: {text!r}: {error}") from error
