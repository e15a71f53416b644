"""The order of transfers from DRAM to L2BM: those that continue each other become one, some go in front of others.

A joined transfer starts up once (timing.md 5.2).  The later of two is carried out with the earlier, where nothing
between them touches what it reads or writes and the smaller of the two takes less time than a start-up.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from compiler.emit.asm import MV_MAX
from compiler.emit.transfer import START_LW
from hw.program import L2Move, Line, Mv, MvForm, Step
from hw.sanitizer.footprint import footprint
from hw.sanitizer.resources import Footprint, Res
from isa import parse_mv

#: Long words of an L2B for each long word of one DRAM, by form (isa.md 6.2).
_SHARE = {MvForm.B_DRAM: 4, MvForm.B2: 1, MvForm.B4: 2}

_End = tuple[MvForm, int, int]


def join_moves(lines: Sequence[Line]) -> list[Line]:
    """The same program with fewer MVs."""
    result: list[Line | None] = list(lines)
    ends: dict[_End, int] = {}
    for number, line in enumerate(lines):
        if not isinstance(line, Mv) or line.form not in _SHARE or line.src.indirect or not line.tag:
            continue
        before = ends.pop((line.form, line.src.addr, line.dst.addr), None)
        first = result[before] if before is not None else None
        if before is None or not isinstance(first, Mv) or not _joinable(first, line, result[before + 1 : number]):
            ends[_end(line)] = number
            continue
        text = re.sub(r"/n\d+", f"/n{first.size + line.size}", first.text)
        joined = replace(parse_mv(text), line=first.line)
        result[before], result[number] = joined, None
        _wait_once(result, before, number, line.tag)
        ends[_end(joined)] = before
    return [line for line in result if line is not None]


def ahead_of(lines: Sequence[Line], before: Sequence[Line]) -> int:
    """How many MVs at the beginning of `lines` may go in front of `before`: those that have nothing to do with it."""
    count = 0
    for line in lines:
        if not isinstance(line, Mv) or line.form not in _SHARE:
            break
        moved = footprint(line)
        if any(_touches(other, moved) for other in before):
            break
        count += 1
    return count


def _end(mv: Mv) -> _End:
    return mv.form, mv.src.addr + mv.size // _SHARE[mv.form], mv.dst.addr + mv.size


def _joinable(first: Mv, second: Mv, between: Sequence[Line | None]) -> bool:
    if first.prio != second.prio or first.size + second.size > MV_MAX or min(first.size, second.size) > START_LW:
        return False
    moved = footprint(second)
    return not any(_touches(line, moved) for line in between if line is not None)


def _touches(line: Line, moved: Footprint) -> bool:
    """Whether a line uses what an MV writes in L2BM or changes what it reads in DRAM."""
    if isinstance(line, Mv):
        prints = [footprint(line)]
    else:
        prints = [footprint(item) for item in line.items if isinstance(item, L2Move)] if isinstance(line, Step) else []
    for found in prints:
        for access in (*found.reads, *found.writes):
            if access.res is Res.L2BM and any(access.total & own.total for own in moved.writes):
                return True
        if any(place.write and place.overlaps(own) for place in found.off_chip for own in moved.off_chip):
            return True
    return False


def _wait_once(lines: list[Line | None], start: int, joined: int, gone: int) -> None:
    """Of the waits for both tags keep the first, for the tag that is left."""
    first = lines[start]
    assert isinstance(first, Mv)
    mine = _wait(lines, start, first.tag)
    other = _wait(lines, joined, gone)
    if mine is None or other is None:
        return
    keep, drop = min(mine, other), max(mine, other)
    kept = lines[keep]
    assert isinstance(kept, Step)
    lines[keep] = replace(kept, wait=first.tag, text=f"nop; wait i{first.tag:02x}")
    lines[drop] = None


def _wait(lines: Sequence[Line | None], start: int, tag: int) -> int | None:
    """The first wait for a tag behind a line."""
    return next((n for n in range(start, len(lines)) if isinstance(s := lines[n], Step) and s.wait == tag), None)
