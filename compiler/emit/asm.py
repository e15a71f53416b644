"""Straight-line VSM of one layer: one PE item a line, MVs and waits in program order.

Emitters write here as if the machine executed one item after the other with no hazards; `isa.pack` turns the result
into VLIW lines with the distances the chip needs.  Only VSM text leaves a layer: nothing bypasses the assembler.
"""

from __future__ import annotations

from collections.abc import Iterator

from compiler.errors import CompilerError

MV_UNIT = 64
MV_MAX = 32704
TAGS = 63


def round_up(value: int, unit: int) -> int:
    """Smallest multiple of `unit` that is not below `value`."""
    return -(-value // unit) * unit


class Asm:
    """Collects VSM lines.  Tags are handed out in a circle of i01..i3f; a tag must be waited for before it comes
    round.
    """

    def __init__(self, first_tag: int = 1) -> None:
        self.lines: list[str] = []
        self._next_tag = first_tag
        self._open: list[int] = []

    def op(self, text: str) -> None:
        """One PE item, or several that have to share a line, separated by "; "."""
        self.lines.append(text)

    def mv(self, mnemonic: str, size: int, operands: str) -> int:
        """One MV of `size` long words (counted as its form says); returns the tag to wait for."""
        if size % MV_UNIT or not 0 < size <= MV_MAX:
            raise CompilerError(f"MV size {size} is no multiple of {MV_UNIT} in 1..{MV_MAX}")
        tag = self._next_tag
        if tag in self._open:
            self.wait(tag)
        self._next_tag = tag % TAGS + 1
        self._open.append(tag)
        self.lines.append(f"{mnemonic}/n{size}i{tag:02x} {operands}")
        return tag

    def wait(self, tag: int) -> None:
        """Hold everything below until the MV with `tag` has completed (no-op when it was waited for already)."""
        if tag in self._open:
            self._open.remove(tag)
            self.lines.append(f"nop; wait i{tag:02x}")

    def wait_all(self) -> None:
        """Wait for every MV still open."""
        for tag in list(self._open):
            self.wait(tag)

    @property
    def next_tag(self) -> int:
        """The tag the next MV would get; lets layers of one program continue the circle."""
        return self._next_tag

    def __iter__(self) -> Iterator[str]:
        return iter(self.lines)


def cycle_mask(count: int, *, wide: bool = False) -> str:
    """Destination suffix that lets only the first `count` of four cycles write ("" for all four)."""
    if count >= 4:
        return ""
    return "/" + ("ll" if wide else "") + "1" * count + "0" * (4 - count)


def flat(addresses: list[int]) -> str:
    """A flat operand list of four word addresses."""
    if len(addresses) != 4:
        raise CompilerError(f"a flat operand lists four addresses, got {len(addresses)}")
    return "[" + ",".join(str(a) for a in addresses) + "]"
