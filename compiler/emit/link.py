"""From a planned graph to VSM text: every node is emitted as straight-line code, then linked (compiler.md 10).

Linked by merging (L1Merge), the default: the whole is packed at once.  Transfers of later layers start while earlier
ones compute, and units that one layer leaves idle serve the next.  Linked by concatenation: every node is packed alone
and follows the one before at a distance that no hazard exceeds; longer, and easier to read.

A pragma comment marks where a layer begins; a line belongs to the oldest layer that still has work on it or after it,
so that the layers' cycles add up, and a layer that ran wholly in the shadow of others has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compiler.emit.asm import Asm
from compiler.emit.join_moves import ahead_of, join_moves
from compiler.errors import CompilerError, DoesNotFit
from compiler.graph import MNGraph, MNNode
from compiler.layers.base import EmitContext
from compiler.layers.registry import layer_of
from hw.program import Line, Step
from isa import parse_item, parse_mv
from isa.pack import pack_traced, vsm_text

PRAGMA = "#@layer "
#: Steps between nodes that are packed alone: above every distance of hazards.md, so that none reaches across.
SEPARATION = 16


def emit_program(graph: MNGraph, scratch: Sequence[dict[str, int]], *, merge: bool = True) -> str:
    """VSM source of the whole graph.  `merge` False: every node is packed alone."""
    bodies = _bodies(graph, scratch)
    if not merge:
        gap = f"nop/{SEPARATION}\n"
        packed_alone = (vsm_text([line for line, _ in pack_traced(body.lines)]) for body in bodies)
        return gap.join(f"{PRAGMA}{body.name}\n{text}" for body, text in zip(bodies, packed_alone, strict=True))
    packed = pack_traced(join_moves(_in_order(bodies)))
    names = [body.name for body in bodies]
    return _with_pragmas([line for line, _ in packed], _layers([layer for _, layer in packed]), names)


@dataclass(frozen=True)
class _Body:
    """A node and its straight-line code.  ahead: the transfers it begins with go in front of the node before."""

    name: str
    lines: list[Line]
    ahead: bool


def _in_order(bodies: Sequence[_Body]) -> list[Line]:
    lines: list[Line] = []
    start = 0
    for body in bodies:
        count = ahead_of(body.lines, lines[start:]) if body.ahead else 0
        lines[start:start] = body.lines[:count]
        start = len(lines)
        lines += body.lines[count:]
    return lines


def _bodies(graph: MNGraph, scratch: Sequence[dict[str, int]]) -> list[_Body]:
    """Every node that has code; lines are numbered by the node."""
    bodies: list[_Body] = []
    first_tag = 1
    for node, words in zip(graph.nodes, scratch, strict=True):
        if node.op_type == "Constant":
            continue
        asm = Asm(first_tag)
        try:
            layer_of(node).emit(node, EmitContext(graph, words), asm)
        except DoesNotFit as error:
            raise DoesNotFit(str(error), tuple(node.outputs)) from error
        asm.wait_all()
        first_tag = asm.next_tag
        if asm.lines:
            lines = [replace(_decode(text, node), line=len(bodies)) for text in asm]
            bodies.append(_Body(str(node), lines, layer_of(node).fetches_ahead(node)))
    return bodies


def _layers(oldest: Sequence[int | None]) -> list[int]:
    """For each line the oldest layer with work there or later; lines at the end that do nothing go to the last one."""
    result: list[int] = []
    current = max((layer for layer in oldest if layer is not None), default=0)
    for layer in reversed(oldest):
        current = current if layer is None else min(current, layer)
        result.append(current)
    return result[::-1]


def _with_pragmas(lines: Sequence[Line], layers: Sequence[int], names: Sequence[str]) -> str:
    parts: list[str] = []
    start = 0
    for number, name in enumerate(names):
        end = start
        while end < len(lines) and layers[end] <= number:
            end += 1
        parts.append(PRAGMA + name + "\n" + vsm_text(lines[start:end]))
        start = end
    return "".join(parts)


def _decode(text: str, node: MNNode) -> Line:
    try:
        if text.startswith("mv"):
            return parse_mv(text)
        if text.startswith("nop; wait i"):
            return Step(nop=True, wait=int(text[-2:], 16), text=text)
        return Step(items=tuple(map(parse_item, text.split("; "))), text=text)
    except Exception as error:
        raise CompilerError(f"{node}: the emitter wrote a line the assembler refuses: {text!r}: {error}") from error
