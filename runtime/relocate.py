"""Moves a decoded program to other DRAM addresses.

Programs are compiled for an empty board.  When several of them, or tensors that live longer than one program, share
a board, the DRAM addresses of their MV instructions are rewritten before the program is lowered (compiler.md 10,
"relocation").
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
from collections.abc import Iterable, Mapping

from hw.program import Line, Mv, MvForm, MvPlace, Program, Space
from runtime.dram import Extent
from runtime.errors import RelocationError

# What part of `size` one DRAM sees; 1 where the form counts per group (isa.md 6.2).
_SHARE = {
    MvForm.B_DRAM: 4,
    MvForm.R_DRAM: 4,
    MvForm.D_PDM_DRAM: 4,
    MvForm.D_DRAM_PDM: 4,
    MvForm.B4: 2,
    MvForm.R4: 2,
}


def together(program: Program, slots: Iterable[Extent]) -> list[Extent]:
    """The extents that must keep their distances: slots of parameters, and as one those that a transfer spans.

    Parameters without gaps between them have slots that overlap; the same holds for these.
    """
    runs: list[Extent] = []
    for slot in sorted(slots):
        runs = [*runs[:-1], _union(runs[-1], slot)] if runs and slot.start < runs[-1].end else [*runs, slot]
    for touched in touched_extents(program):
        at = bisect.bisect_right(runs, touched.start, key=lambda run: run.start)
        first = at - 1 if at and runs[at - 1].end > touched.start else at
        end = bisect.bisect_left(runs, touched.end, key=lambda run: run.start)
        if end - first > 1:
            runs[first:end] = [_union(runs[first], runs[end - 1])]
    return runs


def _union(left: Extent, right: Extent) -> Extent:
    return Extent(left.start, max(left.end, right.end) - left.start)


def scratch_extents(program: Program, slots: Iterable[Extent]) -> list[Extent]:
    """DRAM that the program uses outside the given slots, as disjoint extents (spilled values).

    DAR-indirect transfers are left out: their addresses are data.  Raises RelocationError if the slots overlap or a
    transfer crosses the border of a slot.
    """
    ordered = sorted(slots)
    for left, right in itertools.pairwise(ordered):
        if right.start < left.end:
            raise RelocationError(
                f"two DRAM slots of the program overlap: [{left.start}, {left.end}) and {right.start}"
            )
    merged: list[Extent] = []
    for touched in sorted(touched_extents(program)):
        if _containing(touched, ordered) is not None:
            continue
        if merged and touched.start <= merged[-1].end:
            end = max(merged[-1].end, touched.end)
            merged[-1] = Extent(merged[-1].start, end - merged[-1].start)
        else:
            merged.append(touched)
    return merged


def only_read(program: Program, extents: Iterable[Extent]) -> bool:
    """Whether a program writes to none of the extents, as far as its text tells: not with DAR-indirect transfers."""
    wanted = list(extents)
    for line in program.lines:
        if not isinstance(line, Mv):
            continue
        if any(place.space is Space.DRAM and place.indirect for place in (line.src, line.dst)):
            return False
        if line.dst.space is Space.DRAM:
            written = _extent_of(line, line.dst)
            if any(written.start < extent.end and extent.start < written.end for extent in wanted):
                return False
    return True


def relocate(program: Program, moves: Mapping[Extent, int]) -> Program:
    """Return the program with every DRAM address inside an extent shifted to that extent's new start.

    `moves` maps each extent the program uses to its new first address.  Without a change the same object comes
    back, so that what is cached for it stays valid.  Raises RelocationError for DAR-indirect transfers, whose
    addresses are data.
    """
    if all(extent.start == start for extent, start in moves.items()):
        return program
    extents = sorted(moves)
    lines = tuple(_relocate_line(line, extents, moves) for line in program.lines)
    return dataclasses.replace(program, lines=lines, source="")


def _relocate_line(line: Line, extents: list[Extent], moves: Mapping[Extent, int]) -> Line:
    if not isinstance(line, Mv):
        return line
    src = _relocate_place(line, line.src, extents, moves)
    dst = _relocate_place(line, line.dst, extents, moves)
    return line if src is line.src and dst is line.dst else dataclasses.replace(line, src=src, dst=dst)


def _relocate_place(line: Mv, place: MvPlace, extents: list[Extent], moves: Mapping[Extent, int]) -> MvPlace:
    if place.space is not Space.DRAM:
        return place
    if place.indirect:
        raise RelocationError(f"line {line.line}: a DAR-indirect transfer cannot be moved: {line.text}")
    touched = _extent_of(line, place)
    home = _containing(touched, extents)
    if home is None:
        raise RelocationError(
            f"line {line.line}: DRAM address {place.addr} belongs to no slot of the program: {line.text}"
        )
    return dataclasses.replace(place, addr=place.addr - home.start + moves[home])


def touched_extents(program: Program) -> Iterable[Extent]:
    """The DRAM of every transfer whose address stands in the program (not DAR-indirect), in program order."""
    for line in program.lines:
        if isinstance(line, Mv):
            for place in (line.src, line.dst):
                if place.space is Space.DRAM and not place.indirect:
                    yield _extent_of(line, place)


def _extent_of(line: Mv, place: MvPlace) -> Extent:
    return Extent(place.addr, -(-line.size // _SHARE.get(line.form, 1)))


def _containing(touched: Extent, extents: list[Extent]) -> Extent | None:
    """The one of the sorted extents that holds all of `touched`, None if none touches it.

    Raises RelocationError if an extent holds only a part of it.
    """
    at = bisect.bisect_right(extents, touched.start, key=lambda extent: extent.start)
    for extent in extents[max(0, at - 1) : at + 1]:
        if extent.start <= touched.start and touched.end <= extent.end:
            return extent
        if touched.start < extent.end and extent.start < touched.end:
            raise RelocationError(
                f"a transfer of DRAM [{touched.start}, {touched.end}) crosses the slot [{extent.start}, {extent.end})"
            )
    return None
