"""Distances between items and the check of whole programs, from the one table in `rules` (hazards.md)."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from hw.program import Item, Mv, Program, Step
from hw.sanitizer.effects import latch_used, official_footprint
from hw.sanitizer.footprint import footprint
from hw.sanitizer.order import value_distance
from hw.sanitizer.resources import Access, Footprint
from hw.sanitizer.roles import GRF_RULES, roles, share_grf
from hw.sanitizer.rules import LONGEST, OPEN, RULES, Check, Rule
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


class _Line:
    """A line of the program under check; the footprints of its items are made when a rule asks for addresses."""

    __slots__ = ("_index", "_prints", "_program", "_strict", "at", "earlier", "line")

    def __init__(self, program: Program, index: int, line: Step | Mv, at: int, earlier: int, strict: bool) -> None:
        self.line = line
        self.at = at
        self.earlier = earlier
        self._program = program
        self._index = index
        self._strict = strict
        self._prints: list[Footprint] | None = None

    @property
    def items(self) -> tuple[Item | Mv, ...]:
        """What the line does."""
        return (self.line,) if isinstance(self.line, Mv) else self.line.items

    @property
    def prints(self) -> list[Footprint]:
        """Footprints of the items, as the check counts them."""
        if self._prints is None:
            if isinstance(self.line, Mv):
                self._prints = [footprint(self.line)]
            elif self._strict:
                self._prints = [footprint(item) for item in self.line.items]
            else:
                used = latch_used(self._program.lines, self._index)
                self._prints = [official_footprint(item, used) for item in self.line.items]
        return self._prints


def check(program: Program, *, strict: bool = False) -> list[Violation]:
    """All pairs of lines that are closer than the hazard table allows, in program order; linear time.

    Every step counts, `nop`, `noforward` and `wait` lines included; MV, mask and debug lines do not.
    strict: count reads without effect too, which the official assembler ignores (see `effects`).
    """
    found: list[Violation] = []
    recent: deque[_Line] = deque()
    at = 0
    for index, line in enumerate(program.lines):
        if isinstance(line, Step):
            earlier = later = 0
            for item in line.items:
                first, second = roles(item)
                earlier |= first
                later |= second
        elif isinstance(line, Mv):
            earlier, later = roles(line)
        else:
            continue
        while recent and at - recent[0].at >= LONGEST:
            recent.popleft()
        this: _Line | None = None
        if later:
            for before in recent:
                common = before.earlier & later & OPEN[at - before.at]
                if common:
                    this = this or _Line(program, index, line, at, earlier, strict)
                    if common & ~GRF_RULES or share_grf(before.items, this.items):
                        _compare_lines(before, this, found)
        if isinstance(line, Step):
            if earlier:
                recent.append(this or _Line(program, index, line, at, earlier, strict))
            at += 1
    return found


def _compare_lines(earlier: _Line, later: _Line, out: list[Violation]) -> None:
    distance = later.at - earlier.at
    for a in earlier.prints:
        for b in later.prints:
            if not a.earlier & b.later:
                continue
            need = hazard(a, b)
            if need is not None and distance < need.steps:
                out.append(
                    Violation(
                        rule=f"hazard {need.rule.row}",
                        line=later.line.line,
                        earlier_line=earlier.line.line,
                        resource=need.rule.later[1],
                        address=need.address,
                        found=distance,
                        required=need.steps,
                        what=need.rule.what,
                        earlier_text=earlier.line.text,
                        text=later.line.text,
                    )
                )
