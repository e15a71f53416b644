"""How wide a value the official checker takes an item's result to be: two long words, or at most one (hazards.md 5)."""

from __future__ import annotations

from isa.checks.latches import Latches
from isa.errors import AsmError
from isa.operand import BankOperand, Kind
from isa.record import Group, Parsed

FORWARDS = (Kind.ALUF, Kind.MAUF, Kind.LBF, Kind.MREADF)

# Module constants: a look-up of an enum member costs as much as a call.
_MAU, _MREAD, _L1BM = Group.MAU, Group.MREAD, Group.L1BM

# Operations whose result is as wide as their source; all other ALU results count as one long word.
FOLLOWS_SOURCE = frozenset({"passa", "floor", "ftoi", "bfn", "hbfn", "bfe"})


def is_wide(item: Parsed, latches: Latches) -> bool:
    """Whether the result counts as a 2LW; False where that depends on an empty latch."""
    group = item.record.group
    if group is _MREAD:
        return True
    if group is _L1BM:
        side = item.operands[0]
        return isinstance(side, BankOperand) and side.lws == 2
    if group is _MAU:
        return item.variant.prec == "h" and not item.variant.narrow
    if item.record.name not in FOLLOWS_SOURCE:
        return False
    source = item.sources[0]
    if source.modifier == "r":
        return False
    if source.kind in FORWARDS:
        return bool(latches.width(source.kind))
    return source.kind != Kind.FIXED and source.width == 4


def check_filled(item: Parsed, latches: Latches) -> None:
    """Refuse an item whose result width depends on a latch that nothing filled.  Raises AsmError latch/empty."""
    for operand in item.sources:
        if operand.kind in FORWARDS and operand.modifier != "r" and latches.width(operand.kind) is None:
            raise empty_latch(item, operand.text)


def empty_latch(item: Parsed, latch: str) -> AsmError:
    """The refusal of a read from a latch that nothing filled."""
    return AsmError(
        "latch/empty",
        f"`{item.text}` reads `{latch}`, which no line before has filled",
        expected="an item of that unit in the step before",
    )
