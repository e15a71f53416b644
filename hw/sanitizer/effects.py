"""Reads without effect: what the official assembler leaves out of its hazard check (observed; hazards.md 3).

A read counts only in cycles in which its item writes something: a destination whose literal mask lets the cycle pass,
any `$omr`, or a latch that the next step reads.  With `$nowrite` alone and nobody reading the latch the item reads
nothing. Of a literally masked 2LW access nothing counts as written, although the machine writes its second half
(isa.md 19).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from hw.program import Compute, Item, L2Move, Line, Mem, PeLoad, PeStore, Program, Step, Unit
from hw.sanitizer.footprint import finish, footprint, written_cycles
from hw.sanitizer.resources import LATCHES, Access, Footprint, Res

_ALL = (True, True, True, True)
_NONE = (False, False, False, False)
_LATCHED = frozenset({Mem.MAUF, Mem.ALUF, Mem.LBF, Mem.MREADF})
_BY_CYCLE = (Res.GRF0, Res.GRF1, Res.T, Res.L1BM)


def latch_users(program: Program) -> list[bool]:
    """For each line: does a later step read a latch or the turnaround register as this step leaves it?"""
    return [latch_used(program.lines, index) for index in range(len(program.lines))]


def latch_used(lines: Sequence[Line], index: int) -> bool:
    """`latch_users` of one line; looks ahead to the next step that fills the same latches."""
    line = lines[index]
    if not isinstance(line, Step) or line.hold or not line.items:
        return False
    latches, turn = True, _stores(line)
    for after in range(index + 1, len(lines)):
        later = lines[after]
        if not isinstance(later, Step) or not later.items:
            continue
        for item in later.items:
            if (latches and _reads_latch(item)) or (turn and isinstance(item, PeLoad) and item.addr is None):
                return True
        if not later.hold:
            latches = False
            turn = turn and not _stores(later)
            if not turn:
                break
    return False


def _stores(step: Step) -> bool:
    return any([isinstance(item, PeStore) for item in step.items])


def _reads_latch(item: Item) -> bool:
    sources = item.sources if isinstance(item, Compute) else (item.source,) if isinstance(item, PeStore) else ()
    return any([source.mem in _LATCHED for source in sources])  # a list: faster than a generator of two


def _read_cycles(item: Item, used: bool) -> Sequence[bool]:
    """Cycles in which the reads of an item have an effect."""
    if used or isinstance(item, L2Move) or (isinstance(item, Compute) and item.unit is Unit.MWRITE):
        return _ALL
    if isinstance(item, PeStore):
        return _NONE if item.addr is None and item.first is None else _ALL
    cycles: Sequence[bool] = _NONE
    for dest in item.dests:
        if dest.mem is Mem.OMR:
            return _ALL
        if dest.mem is not Mem.NOWRITE:
            cycles = [a or b for a, b in zip(cycles, written_cycles(dest.mask), strict=True)]
    return cycles


def _discards(item: Item, used: bool) -> bool:
    """Nothing at all becomes of the item's result."""
    if used or isinstance(item, (L2Move, PeStore)):
        return False
    return bool(item.dests) and all(d.mem is Mem.NOWRITE for d in item.dests)


@lru_cache(maxsize=1 << 16)
def official_footprint(item: Item, used: bool) -> Footprint:
    """The footprint as far as the official assembler looks at it; `used`: a latch of this step is read later."""
    full = footprint(item)
    cycles = _read_cycles(item, used)
    if all(cycles) and not _half_masked(item):
        return full
    reads: list[Access] = []
    if not _discards(item, used):
        for access in full.reads:
            if access.res in _BY_CYCLE and not all(cycles):
                kept = [bits if on else 0 for bits, on in zip(access.cycles, cycles, strict=True)]
                access = Access.of(
                    access.res, False, access.actor, (kept[0], kept[1], kept[2], kept[3]), access.places, access.unknown
                )
            reads.append(access)
    writes = [_masked_whole(item, a) for a in full.writes if a.res not in LATCHES]
    return finish(reads, writes)


def _half_masked(item: Item) -> bool:
    """Is there a masked 2LW destination, whose second half is written all the same?"""
    dests = item.dests if isinstance(item, (Compute, PeLoad)) else ()
    return any(d.width == 4 and d.mask is not None for d in dests)


def _masked_whole(item: Item, access: Access) -> Access:
    """Drop the unmasked second half of literally masked 2LW writes."""
    if not isinstance(item, (Compute, PeLoad)) or access.res not in (Res.GRF0, Res.GRF1):
        return access
    mem = Mem.GRF0 if access.res is Res.GRF0 else Mem.GRF1
    for dest in item.dests:
        if dest.mem is mem and dest.width == 4:
            on = written_cycles(dest.mask)
            kept = [bits if passes else 0 for bits, passes in zip(access.cycles, on, strict=True)]
            return Access.of(access.res, True, access.actor, (kept[0], kept[1], kept[2], kept[3]))
    return access
