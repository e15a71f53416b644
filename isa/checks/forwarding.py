"""Rules that need the lines before: forwarding latches (isa.md 3.11) and the turnaround register (isa.md 8.4)."""

from __future__ import annotations

from collections.abc import Sequence

from isa.checks.latches import Latches, Turn
from isa.checks.value_width import FOLLOWS_SOURCE, check_filled, empty_latch, is_wide
from isa.errors import AsmError
from isa.operand import BankOperand, Kind
from isa.record import Group, Parsed

_CLASSES = {"l1bmm": "16x1", "l1bmm@": "16x1", "l1bmr": "16x1", "l1bmm4": "4x4", "l1bmm4@": "4x4", "l1bmr4": "4x4"}

# Module constants: a look-up of an enum member costs as much as a call.
_ALU, _MAU, _MREAD, _L1BM = Group.ALU, Group.MAU, Group.MREAD, Group.L1BM


def _is_load(item: Parsed) -> bool:
    return isinstance(item.operands[0], BankOperand)


def _turn_of(item: Parsed) -> Turn:
    side = next(operand for operand in item.operands if isinstance(operand, BankOperand))
    is_scatter = item.record.name == "l1bmd"
    shift = item.suffix if is_scatter and isinstance(item.suffix, int) else 0
    return Turn("d" if is_scatter else _CLASSES[item.record.name], side.lws, shift)


def check_context(items: Sequence[Parsed], latches: Latches) -> None:
    """What `$lbi` and the `$lbf` of a store need.  Raises AsmError turnaround/empty, /mismatch, latch/empty."""
    for item in items:
        if item.record.group is not _L1BM:
            continue
        first = item.operands[0]
        if first.kind == Kind.TURN:
            _check_turn(item, latches.turn)
        elif first.kind == Kind.LBF and not latches.loaded:
            raise empty_latch(item, first.text)


def check_latches(items: Sequence[Parsed], latches: Latches, *, hold: bool) -> None:
    """What the official hazard checker needs to know of forwarded values.  Raises AsmError latch/empty.

    It asks for the width of a result only where the result is latched, so not beside `noforward`.
    """
    for item in items:
        if item.variant.rrn is None and (hold or item.record.name not in FOLLOWS_SOURCE):
            continue
        check_filled(item, latches)


def _check_turn(item: Parsed, writer: Turn | None) -> None:
    if writer is None:
        raise AsmError(
            "turnaround/empty",
            f"`{item.text}` reads the turnaround register before any PE->L1BM transfer",
            expected="l1bmm@, l1bmr, l1bmd... in an earlier line without noforward",
        )
    reader = _turn_of(item)
    if reader != writer:
        parts = [
            f"{what} {ours} instead of {theirs}"
            for what, ours, theirs in (
                ("class", reader.kind, writer.kind),
                ("LW form", reader.lws, writer.lws),
                ("shift", reader.shift, writer.shift),
            )
            if ours != theirs
        ]
        raise AsmError(
            "turnaround/mismatch",
            f"`{item.text}` does not fit the last PE->L1BM transfer: {', '.join(parts)}",
            expected=f"class {writer.kind}, {writer.lws} LW, shift {writer.shift}",
        )


def advance(items: Sequence[Parsed], latches: Latches) -> Latches:
    """The latches after a line that is neither `nop` nor `noforward`.

    `$lbf` empties in a line without L1BM item; the official assembler keeps the others.
    """
    alu, mau, mread, turn = latches.alu, latches.mau, latches.mread, latches.turn
    lb: bool | None = None
    loaded = False
    for item in items:
        group = item.record.group
        if group is _ALU:
            alu = is_wide(item, latches)
        elif group is _MAU:
            mau = is_wide(item, latches)
        elif group is _MREAD:
            mread = True
        elif group is _L1BM:
            if _is_load(item):
                lb, loaded = is_wide(item, latches), True
            else:
                lb, turn = bool(lb), _turn_of(item)
    return Latches(alu, mau, lb, mread, loaded, turn)
