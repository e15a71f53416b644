"""From a planned graph to VSM text: every node is emitted as straight-line code, and the whole is packed at once.

Packing across nodes merges layers: transfers of later layers start while earlier ones compute, and units that
one layer leaves idle serve the next.  A pragma comment marks where a layer begins; a line belongs to the oldest layer
that still has work on it or after it, so that the layers' cycles add up, and a layer that ran wholly in the shadow of
others has none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from compiler.emit.asm import Asm
from compiler.errors import CompilerError, DoesNotFit
from compiler.graph import MNGraph, MNNode
from compiler.layers.base import EmitContext
from compiler.layers.registry import layer_of
from hw.program import Line, Step
from isa import parse_item, parse_mv
from isa.pack import pack_traced, vsm_text

PRAGMA = "#@layer "


def emit_program(graph: MNGraph, scratch: Sequence[dict[str, int]]) -> str:
    """VSM source of the whole graph."""
    lines: list[Line] = []
    names: list[str] = []
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
            lines += [replace(_decode(text, node), line=len(names)) for text in asm]
            names.append(str(node))
    packed = pack_traced(lines)
    return _with_pragmas([line for line, _ in packed], _layers([layer for _, layer in packed]), names)


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
