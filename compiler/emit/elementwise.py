"""Copies and conversions: one long-word stream in, one out.

A value is `num_lw` consecutive long words at a word address of local memory "m" (LM0) or "n" (LM1); a step handles
four of them, one a cycle.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from compiler.emit.asm import Asm, cycle_mask


@dataclass(frozen=True)
class Stream:
    """Where a value lies in local memory: memory letter, word address, long words."""

    lm: str
    addr: int
    num_lw: int

    def at(self, lw: int, *, wide: bool = False) -> str:
        """Operand text for the four cycles from long word `lw` on (`wide`: two long words a cycle)."""
        return f"${'ll' if wide else 'l'}{self.lm}{self.addr + 2 * lw}v"

    def groups(self) -> Iterator[tuple[int, str]]:
        """(first long word, destination mask) of every step."""
        for lw in range(0, self.num_lw, 4):
            yield lw, cycle_mask(self.num_lw - lw)


def emit_copy(asm: Asm, src: Stream, dst: Stream) -> None:
    """Move a value to another place (Identity: to the other local memory)."""
    for lw, mask in dst.groups():
        asm.op(f"lpassa {src.at(lw)} {dst.at(lw)}{mask}")


def emit_half_to_float(asm: Asm, src: Stream, dst: Stream, *, words_split: bool) -> None:
    """Widen.  `words_split`: a long word of four halves becomes two of two singles; else its two words are alike and
    one of them is taken.
    """
    if not words_split:
        for lw, mask in dst.groups():
            asm.op(f"hvpassa {src.at(lw)} {dst.at(lw)}{mask}")
        return
    pairs = dst.num_lw // 2
    for lw in range(0, pairs, 4):
        mask = cycle_mask(pairs - lw, wide=True)
        asm.op(f"hvpassa {src.at(lw)} {dst.at(2 * lw, wide=True)}{mask}")


def emit_float_to_half(asm: Asm, src: Stream, dst: Stream, *, words_split: bool) -> None:
    """Narrow with one rounding; the inverse of `emit_half_to_float`."""
    if not words_split:
        asm.op('imm i"32" $ls0')
        for lw, mask in dst.groups():
            asm.op(f"fvpassar {src.at(lw)} $lr0v")
            asm.op("ullsr $lr0v $ls0 $nowrite")
            asm.op(f"lor $aluf $lr0v {dst.at(lw)}{mask}")
        return
    asm.op("zero $ls0")
    pairs = src.num_lw // 2
    for lw in range(0, pairs, 4):
        mask = cycle_mask(pairs - lw)
        asm.op(f"hvaddr $ls0 {src.at(2 * lw, wide=True)} {dst.at(lw)}{mask}")
