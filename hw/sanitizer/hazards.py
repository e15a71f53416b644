"""Distances between items and the check of whole programs, from the one table in `rules` (hazards.md)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from hw.program import Item, Mv, Program, Step
from hw.sanitizer.effects import latch_users, official_footprint
from hw.sanitizer.footprint import footprint
from hw.sanitizer.order import value_distance
from hw.sanitizer.resources import Access, Footprint
from hw.sanitizer.rules import LONGEST, RULES, Check, Rule
from hw.sanitizer.violation import Violation

# (earlier cycle, later cycle) pairs, largest "earlier - later" first: the first overlap asks for the largest distance
_CYCLES = sorted(((a, b) for a in range(4) for b in range(4)), key=lambda pair: pair[1] - pair[0])


@dataclass(frozen=True, slots=True)
class Distance:
    """The distance a rule asks for; `address` is None where any address counts."""

    steps: int
    rule: Rule
    address: int | None


def _compare(rule: Rule, first: Access, second: Access) -> Distance | None:
    if not first.places & second.places:
        return None
    if rule.check is Check.PORT:
        return Distance(rule.threshold, rule, None)
    common = first.total & second.total
    if not common:
        return None
    if rule.check is Check.WORDS:
        return Distance(rule.threshold, rule, (common & -common).bit_length() - 1)
    for a, b in _CYCLES:
        common = first.cycles[a] & second.cycles[b]
        if common:
            steps = -(-(rule.threshold + a - b) // 4)
            return Distance(steps, rule, (common & -common).bit_length() - 1)
    return None


def hazard(earlier: Footprint, later: Footprint) -> Distance | None:
    """The strictest rule of the hazard table between two footprints, or None."""
    worst: Distance | None = None
    bits = earlier.earlier & later.later
    while bits:
        index = (bits & -bits).bit_length() - 1
        bits &= bits - 1
        rule = RULES[index]
        for first in earlier.writes:
            if (first.actor, first.res) != rule.earlier:
                continue
            for second in later.writes if rule.later_writes else later.reads:
                if (second.actor, second.res) == rule.later:
                    found = _compare(rule, first, second)
                    if found is not None and (worst is None or found.steps > worst.steps):
                        worst = found
    return worst


def required_distance(earlier: Item | Mv, later: Item | Mv) -> int:
    """Smallest number of steps from `earlier` to `later`: 0 = may share a line, 1 = next line, 2 = one step between ...

    Takes the hazard table and the order of values together.  A reader of a forwarding latch needs exactly 1 (in steps
    that are no nops); this function returns 1 for it.  For MVs the distance counts up to the step before which the MV
    line stands (an MV is no step); for an MV as `earlier` the result is 0, its readers need the `wait` instead.
    """
    if isinstance(earlier, Mv):
        return 0
    first, second = footprint(earlier), footprint(later)
    by_value = value_distance(first, second)
    by_table = hazard(first, second)
    return max(by_value or 0, by_table.steps if by_table is not None else 0)


def check(program: Program, *, strict: bool = False) -> list[Violation]:
    """All pairs of lines that are closer than the hazard table allows, in program order; linear time.

    Every step counts, `nop`, `noforward` and `wait` lines included; MV, mask and debug lines do not.
    strict: count reads without effect too, which the official assembler ignores (see `effects`).
    """
    found: list[Violation] = []
    recent: deque[tuple[int, Step, list[Footprint]]] = deque()
    known: dict[tuple[int, bool], Footprint] = {}
    users = latch_users(program)
    position = 0
    for index, line in enumerate(program.lines):
        if not isinstance(line, (Step, Mv)):
            continue
        while recent and position - recent[0][0] >= LONGEST:
            recent.popleft()
        prints = []
        for item in (line,) if isinstance(line, Mv) else line.items:
            key = (id(item), users[index])
            fp = known.get(key)
            if fp is None:
                if strict or isinstance(item, Mv):
                    fp = known[key] = footprint(item)
                else:
                    fp = known[key] = official_footprint(item, users[index])
            prints.append(fp)
        for at, step, earlier in recent:
            _compare_lines(at, step, earlier, position, line, prints, found)
        if isinstance(line, Step):
            if any(fp.earlier for fp in prints):
                recent.append((position, line, prints))
            position += 1
    return found


def _compare_lines(
    at: int,
    earlier: Step,
    first: list[Footprint],
    position: int,
    line: Step | Mv,
    second: list[Footprint],
    out: list[Violation],
) -> None:
    for a in first:
        for b in second:
            if not a.earlier & b.later:
                continue
            need = hazard(a, b)
            if need is not None and position - at < need.steps:
                out.append(
                    Violation(
                        rule=f"hazard {need.rule.row}",
                        line=line.line,
                        earlier_line=earlier.line,
                        resource=need.rule.later[1],
                        address=need.address,
                        found=position - at,
                        required=need.steps,
                        what=need.rule.what,
                        earlier_text=earlier.text,
                        text=line.text,
                    )
                )
