"""The hazard table of the chip as data (hazards.md section 2, rows 1-13).

Row 14 calls `l2bmi` after `l2bmi` free; the official assembler asks for D >= 4 when the second one reads an L1B that
the first one writes, so row 11 covers that pair here.

Each rule names the earlier and the later access it is about and how to compare them.  Everything that needs distances
(checker, packer, messages, documentation) reads this one table.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from hw.sanitizer.resources import Actor, Res


class Check(Enum):
    """How a rule compares two accesses.

    DATA:  for a common address, d = 4*D + (later cycle) - (earlier cycle) must reach the threshold.
    WORDS: for a common address, D must reach the threshold whatever the cycles.
    PORT:  at any address, D must reach the threshold.
    """

    DATA = "data"
    WORDS = "words"
    PORT = "port"


@dataclass(frozen=True, slots=True)
class Rule:
    """One row: `earlier` always writes; `later` reads unless `later_writes`.  Only common places (L1Bs, L2Bs) count."""

    row: int
    earlier: tuple[Actor, Res]
    later: tuple[Actor, Res]
    check: Check
    threshold: int
    what: str
    later_writes: bool = False


def _pe(row: int, written: Res, read: Res, check: Check, threshold: int, what: str) -> Rule:
    return Rule(row, (Actor.PE, written), (Actor.PE, read), check, threshold, what)


def _l1(row: int, earlier: Actor, later: Actor, check: Check, threshold: int, what: str, writes: bool = False) -> Rule:
    return Rule(row, (earlier, Res.L1BM), (later, Res.L1BM), check, threshold, what, writes)


RULES: tuple[Rule, ...] = (
    _pe(1, Res.GRF0, Res.GRF0, Check.DATA, 7, "a GRF0 write is visible 7 cycles later"),
    _pe(1, Res.GRF1, Res.GRF1, Check.DATA, 7, "a GRF1 write is visible 7 cycles later"),
    _pe(2, Res.T, Res.T, Check.DATA, 7, "a T write is visible 7 cycles later, also as an index"),
    _pe(3, Res.LM0, Res.LM0, Check.PORT, 3, "an LM0 write keeps the port for two more steps"),
    _pe(3, Res.LM1, Res.LM1, Check.PORT, 3, "an LM1 write keeps the port for two more steps"),
    _pe(4, Res.BAR0, Res.LM0, Check.PORT, 3, "an LM0 read needs the base address three steps after its write"),
    _pe(4, Res.BAR1, Res.LM1, Check.PORT, 3, "an LM1 read needs the base address three steps after its write"),
    _l1(5, Actor.STORE, Actor.LOAD, Check.PORT, 3, "PE->L1BM keeps the PE side of the L1BM for two more steps"),
    _l1(6, Actor.STORE, Actor.UP, Check.DATA, 11, "PE->L1BM data reach the L2BM side 11 cycles later"),
    _l1(6, Actor.STORE, Actor.INNER, Check.DATA, 11, "PE->L1BM data reach the L2BM side 11 cycles later"),
    _l1(7, Actor.DOWN, Actor.LOAD, Check.DATA, 7, "L2BM->L1BM data reach the PE side 7 cycles later"),
    _l1(8, Actor.DOWN, Actor.UP, Check.PORT, 3, "L2BM->L1BM keeps the L2BM side of these L1Bs for two more steps"),
    _l1(8, Actor.DOWN, Actor.INNER, Check.PORT, 3, "L2BM->L1BM keeps the L2BM side of these L1Bs for two more steps"),
    Rule(
        9,
        (Actor.UP, Res.L2BM),
        (Actor.DOWN, Res.L2BM),
        Check.PORT,
        4,
        "L1BM->L2BM keeps the L2BM port for three more steps",
    ),
    Rule(
        10,
        (Actor.UP, Res.L2BM),
        (Actor.MV, Res.L2BM),
        Check.WORDS,
        2,
        "an MV may read L2BM words one step after L1BM->L2BM wrote them",
    ),
    _l1(11, Actor.INNER, Actor.UP, Check.PORT, 4, "l2bmi keeps the L2BM side of its target L1Bs for three more steps"),
    _l1(
        11, Actor.INNER, Actor.INNER, Check.PORT, 4, "l2bmi keeps the L2BM side of its target L1Bs for three more steps"
    ),
    _l1(12, Actor.INNER, Actor.LOAD, Check.DATA, 11, "l2bmi data reach the PE side 11 cycles later"),
    _l1(
        13,
        Actor.INNER,
        Actor.DOWN,
        Check.PORT,
        2,
        "l2bmi keeps the write port of its target L1Bs for one more step",
        True,
    ),
)

def most_steps(rule: Rule) -> int:
    """The largest distance D a rule can ask for: DATA with threshold t and cycles 3 -> 0 needs ceil((t+3)/4)."""
    return -(-(rule.threshold + 3) // 4) if rule.check is Check.DATA else rule.threshold


LONGEST = max(map(most_steps, RULES))
"""Largest distance D any rule can ask for."""

OPEN = tuple(sum(1 << k for k, rule in enumerate(RULES) if most_steps(rule) > d) for d in range(LONGEST))
"""Rules that can ask for more than distance d, as a bit set, for d below `LONGEST`."""
