"""What one line reads and writes, as text for one PE (or the L1B, L2B, group it belongs to)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hw.lockstep import Moment
from hw.lockstep.cells import Spot, place_text
from hw.state.topology import Topology
from isa.debugger.record import Access, expand_bits
from isa.debugger.values import check_dtype, integers
from isa.dump.rows import number_body
from isa.dump.statement import FORMATS

_WHOLE = 0xFFFFFFFFFFFFFFFF
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

    def row(self, dtype: str = "") -> str:
        """Address and values."""
        half = " LW1" if self.second else ""
        where = f"{self.spot.store.unit} {self.spot.address}{half}".strip()
        text = f"{where:<12} {shown(self.before, self.mask, dtype)}"
        return text if self.after is None else f"{text} -> {shown(self.after, self.mask, dtype)}"


def shown(value: int, mask: int, dtype: str = "") -> str:
    """Hex digits, dots for half words that are not touched; whole long words as numbers if a format is given."""
    if dtype and mask == _WHOLE:
        body = number_body(value, dtype) if dtype in FORMATS else integers(value, 64, dtype)
        return body.partition(") (")[0] + ")"
    digits = f"{value:016X}"
    return "".join(digits[4 * i : 4 * i + 4] if mask >> (48 - 16 * i) & 0xFFFF else "...." for i in range(4))


@dataclass(frozen=True)
class Effects:
    """Reads and writes of a line at its latest run, or (`done` False) as it would touch things now.

    in_flight: an MV that has issued and not delivered; what it has not done yet is shown as it would touch things now.
    """

    moment: Moment
    done: bool
    accesses: tuple[Access, ...]
    size: Topology
    in_flight: bool = False

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

    def text(self, pe: tuple[int, ...] = (0, 0, 0, 0, 0), dtype: str = "") -> str:
        """Several lines: what happens at a PE; dtype: a format of `Debugger.print`, none for hex digits."""
        check_dtype(dtype)
        moment = self.moment
        when = f"cycle {moment.cycle}{', in flight' * self.in_flight}" if self.done or self.in_flight else "not run yet"
        out = [f"line {moment.line.line}: {moment.line.text} ({when})"]
        for write, title in ((False, "reads"), (True, "writes" if self.done else "will write over")):
            for cells in _different(self.cells(pe, write=write)):
                spot = cells[0].spot
                out.append(f"  {title} {spot.store.label} of {place_text(spot.place)}")
                out += [f"    {cell.row(dtype)}" for cell in cells[:_SHOWN]]
                if len(cells) > _SHOWN:
                    out.append(f"    ... {len(cells) - _SHOWN} more")
        if len(out) == 1:
            out.append(f"  touches nothing at {place_text(pe)}")
        return "\n".join(out)


def _different(groups: Iterator[list[Cell]]) -> Iterator[list[Cell]]:
    """Each list once; the two long words of T or of a latch as one list."""
    seen: list[list[Cell]] = []
    merged: list[list[Cell]] = []
    for cells in groups:
        if cells in seen:
            continue
        seen.append(cells)
        if cells[0].second and merged and merged[-1][0].spot.store is cells[0].spot.store:
            merged[-1] += cells
        else:
            merged.append(list(cells))
    yield from merged
