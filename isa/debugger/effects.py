"""What one line reads and writes, as text for one PE (or the L1B, L2B, group it belongs to)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hw.lockstep import Moment
from hw.lockstep.cells import Spot, place_text
from hw.state.topology import Topology
from isa.debugger.record import Access, expand_bits

_SHOWN = 8  # cells of one operand that are written out


@dataclass(frozen=True, slots=True)
class Cell:
    """One long word of an access: `before` and `after` are raw; `after` is None for reads and for lines still to come.

    mask: the bits that are touched.  second: LW1 of T or a latch.
    """

    spot: Spot
    before: int
    after: int | None
    mask: int
    second: bool = False

    def __str__(self) -> str:
        half = " LW1" if self.second else ""
        text = f"{self.spot.name}{half} of {place_text(self.spot.place)}: {shown(self.before, self.mask)}"
        return text if self.after is None else f"{text} -> {shown(self.after, self.mask)}"


def shown(value: int, mask: int) -> str:
    """Hex digits; half words that are not touched are dots."""
    digits = f"{value:016X}"
    return "".join(digits[4 * i : 4 * i + 4] if mask >> (48 - 16 * i) & 0xFFFF else "...." for i in range(4))


@dataclass(frozen=True)
class Effects:
    """Reads and writes of a line at its latest run, or (`done` False) as it would touch things now."""

    moment: Moment
    done: bool
    accesses: tuple[Access, ...]
    size: Topology

    def cells(self, pe: tuple[int, ...], *, write: bool) -> Iterator[list[Cell]]:
        """For each operand the cells that concern a PE (n, c, b, m, p): its own, those of its L1B, L2B and group."""
        for access in self.accesses:
            if access.cells.write is write:
                found = list(self._of(access, pe))
                if found:
                    yield found

    def _of(self, access: Access, pe: tuple[int, ...]) -> Iterator[Cell]:
        cells, before = access.cells, access.before
        n, c, b, m, p = pe
        q = n * self.size.l2b_per_group + c
        first = {"l": q * self.size.l1b_per_l2b + b, "q": q, "n": n}[cells.store.axes[0]]
        if cells.group is not None and cells.group != n:
            return
        bits = expand_bits(np.broadcast_to(cells.bits, before.shape))
        if cells.group is None:
            rows = np.flatnonzero(cells.places == first)
            if not len(rows):
                return
            outer: tuple[int, ...] = (int(rows[0]),)
        else:
            outer = ()
        lanes = cells.store.axes[-1] == "m"
        seen: set[tuple[object, ...]] = set()
        for k in range(before.shape[len(outer)]):
            position = (*outer, k, p, m) if lanes else (*outer, k)
            mask = int(bits[position])
            spot = cells.spot(position, before.shape, self.size.l2b_per_group, self.size.l1b_per_l2b)
            key = (spot, mask)
            if not mask or key in seen:
                continue
            seen.add(key)
            after = None if access.after is None else int(access.after[position])
            yield Cell(spot, int(before[position]), after, mask, cells.lw == 1 and not cells.store.in_words)

    def text(self, pe: tuple[int, ...] = (0, 0, 0, 0, 0)) -> str:
        """Several lines: what happens at a PE."""
        moment = self.moment
        when = f"cycle {moment.cycle}" if self.done else "not run yet"
        head = f"line {moment.line.line}: {moment.line.text} ({when}), at {place_text(pe)}"
        out = [head]
        for write, title in ((False, "reads"), (True, "writes" if self.done else "will write (content now)")):
            groups = list(self.cells(pe, write=write))
            if groups:
                out.append(f"  {title}")
            for cells in groups:
                out += [f"    {cell}" for cell in cells[:_SHOWN]]
                if len(cells) > _SHOWN:
                    out.append(f"    ... {len(cells) - _SHOWN} more of {cells[0].spot.store.label}")
        if len(out) == 1:
            out.append("  touches nothing here")
        return "\n".join(out)
