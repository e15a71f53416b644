"""One PE as lists of 32-bit words: a slow second opinion on operands, masks and write order (isa.md 3, 4)."""

from __future__ import annotations

from dataclasses import dataclass

from hw.program import Dest, MaskRef, Mem, Source
from hw.state import Board, Memory

_MEMORY = {Mem.LM0: Memory.LM0, Mem.LM1: Memory.LM1, Mem.GRF0: Memory.GRF0, Mem.GRF1: Memory.GRF1}
Place = tuple[int, int, int, int, int]
Words = list[int]


@dataclass
class PeModel:
    """`memory`: words of LM and GRF; `t`: four words for each cycle; `masks`: [entry][cycle]; `bar`: LM0, LM1."""

    memory: dict[Mem, Words]
    t: list[Words]
    masks: list[list[int]]
    bar: list[int]
    place: Place

    @classmethod
    def of(cls, board: Board, place: Place) -> PeModel:
        """The PE of a board."""

        def words(long_words: list[int]) -> Words:
            return [half for lw in long_words for half in (lw >> 32, lw & 0xFFFFFFFF)]

        return cls(
            {mem: words(board.view(name)[place].tolist()) for mem, name in _MEMORY.items()},
            [words(cycle) for cycle in board.view(Memory.T)[place].tolist()],
            board.view(Memory.MASK)[place].tolist(),
            [int(board.view(name)[place]) for name in (Memory.BAR0, Memory.BAR1)],
            place,
        )

    def address(self, operand: Source | Dest, cycle: int) -> int:
        """Word address of a cycle."""
        a = operand.addr[cycle]
        if operand.mem in (Mem.LM0, Mem.LM1):
            a += self.bar[operand.mem is Mem.LM1]
        if operand.via_t:
            a += self.t[cycle][1]
        if operand.j is not None and self.place[4] <= operand.j:
            a += operand.width
        a %= len(self.memory[operand.mem])
        return a - a % operand.width

    def read(self, source: Source) -> list[Words]:
        """The 2LW of every cycle."""
        if source.mem is Mem.T:
            return [list(words) for words in self.t]
        values = []
        for cycle in range(4):
            a = self.address(source, cycle)
            words = self.memory[source.mem][a : a + source.width]
            values.append(words + [0] * (4 - source.width))
        return values

    def bits(self, mask: MaskRef | None, cycle: int) -> int:
        """The four mask bits."""
        return 15 if mask is None else self.masks[mask.entry][cycle]

    def write(self, dest: Dest, values: list[Words]) -> None:
        """Store the 2LW of every cycle."""
        for cycle in range(4):
            bits = self.bits(dest.mask, cycle)
            ll = dest.mask is not None and dest.mask.words
            if dest.mem is Mem.T:
                old = self.t[cycle]
                keeps_second = bits == 0 and not ll
            elif dest.mem in (Mem.BAR0, Mem.BAR1):
                number = int(dest.mem is Mem.BAR1)
                index = dest.width - 1
                old = [0, 0, 0, 0]
                old[index] = self.bar[number]
                new = merge(old, values[cycle], bits, ll, keeps_second=False)
                self.bar[number] = new[index] & 0xFFF
                continue
            else:
                a = self.address(dest, cycle)
                old = self.memory[dest.mem][a : a + dest.width] + [0] * (4 - dest.width)
                keeps_second = False
            new = merge(old, values[cycle], bits, ll, keeps_second)
            if dest.mem is Mem.T:
                self.t[cycle] = new
            else:
                self.memory[dest.mem][a : a + dest.width] = new[: dest.width]


def merge(old: Words, new: Words, bits: int, ll: bool, keeps_second: bool) -> Words:
    """Write `new` over `old` under four mask bits, most significant first."""
    on = [bits >> (3 - i) & 1 for i in range(4)]
    if ll:
        return [n if b else o for o, n, b in zip(old, new, on, strict=True)]
    halves = [(0xFFFF if on[0] else 0) << 16 | (0xFFFF if on[1] else 0), 0, 0, 0]
    halves[1] = (0xFFFF if on[2] else 0) << 16 | (0xFFFF if on[3] else 0)
    halves[2] = halves[3] = 0 if keeps_second else 0xFFFFFFFF
    return [(o & ~m) | (n & m) for o, n, m in zip(old, new, halves, strict=True)]
