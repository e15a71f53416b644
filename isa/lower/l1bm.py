"""L1BM maps and the lowering of L1BM items (isa.md 8)."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from hw.program import L1Map, PeLoad, PeStore, Unit
from isa.lower import kernels, pe
from isa.operand import BankOperand, Kind, PeOperand
from isa.record import Parsed

NARROW_OPS = ("fadd", "max", "min")


@cache
def broadcast_map(lws: int) -> L1Map:
    """`l1bmp`: one LW per cycle for all PEs; the second LWs of the 2-LW form follow after four."""
    return L1Map(f"p/{lws}", lws, 4 * lws, lambda c, w, m, p: c + 4 * w)


@cache
def column_map(lws: int, mab: int | None = None, stages: int = 0) -> L1Map:
    """16x1 mode: the four PEs differ, MABs share; `mab` is the only writer of `l1bmm@`, `stages` 2 reduces."""
    stride = 4 * lws
    return L1Map(
        f"16x1/{lws}",
        lws,
        4 * stride,
        lambda c, w, m, p: stride * c + 4 * w + p,
        (lambda m: True) if mab is None else (lambda m: m == mab),
        stages,
    )


@cache
def square_map(lws: int, mab: int | None = None, stages: int = 0) -> L1Map:
    """4x4 mode: PEs and the upper MAB bits differ; MAB `mab` of each four writes, `stages` 1 reduces the four."""
    block = 4 * lws
    return L1Map(
        f"4x4/{lws}",
        lws,
        16 * block,
        lambda c, w, m, p: 4 * block * c + block * (m // 4) + 4 * w + p,
        (lambda m: True) if mab is None else (lambda m: m % 4 == mab),
        stages,
    )


@cache
def scatter_map(shift: int = 0) -> L1Map:
    """`l1bmd`: every PE has its own LW; MAB m meets block m + shift."""
    return L1Map(f"d{shift:+d}", 1, 256, lambda c, w, m, p: 64 * c + 4 * ((m + shift) % 16) + p)


def _bank(parsed: Parsed, index: int) -> BankOperand:
    operand = parsed.operands[index]
    assert isinstance(operand, BankOperand)
    return operand


def _address(bank: BankOperand) -> int | None:
    return None if bank.kind == Kind.TURN else bank.addr


def lower_load(parsed: Parsed) -> PeLoad:
    """L1BM or turnaround register to PEs."""
    bank = _bank(parsed, 0)
    if parsed.record.name == "l1bmp":
        layout = broadcast_map(bank.lws)
    elif parsed.record.name == "l1bmm":
        layout = column_map(bank.lws)
    elif parsed.record.name == "l1bmm4":
        layout = square_map(bank.lws)
    else:
        # With shift s, MAB m receives block m - s.
        layout = scatter_map(-number_of(parsed) % 16)
    unit = Unit.L1BM_TURN if bank.kind == Kind.TURN else Unit.L1BM
    return PeLoad(
        unit, layout, _address(bank), tuple(map(pe.dest, parsed.dests)), pe.mask_ref(parsed.flush), parsed.text
    )


def number_of(parsed: Parsed) -> int:
    """The MAB number of `l1bmm@n` or the shift of `l1bmd+n` as written, 0 without."""
    return parsed.suffix if isinstance(parsed.suffix, int) else 0


def lower_store(parsed: Parsed) -> PeStore:
    """`l1bmm@`, `l1bmm4@`, `l1bmd` from the PEs."""
    bank = _bank(parsed, 1)
    number = number_of(parsed)
    turn_map: L1Map | None = None
    if parsed.record.name == "l1bmm@":
        layout = column_map(bank.lws, number)
    elif parsed.record.name == "l1bmm4@":
        layout = square_map(bank.lws, number)
    else:
        layout = scatter_map(number % 16)
        turn_map = scatter_map() if number % 16 else None
    source = pe.source(_operand(parsed), parsed.record.slots[0], "")
    return PeStore(Unit.L1BM, layout, _address(bank), source, turn_map=turn_map, text=parsed.text)


def _operand(parsed: Parsed) -> PeOperand:
    operand = parsed.operands[0]
    assert isinstance(operand, PeOperand)
    return operand


def lower_reduce(parsed: Parsed) -> PeStore:
    """`l1bmr`, `l1bmr4`: halves run on the single circuits, widened before and rounded in the last stage (isa.md 8.5).

    `e` and `r` act on single floating point only.  The official assembler accepts them on other reductions, where they
    have no effect or stop the official emulator; here they are ignored (with a warning).
    """
    bank = _bank(parsed, 1)
    operand = _operand(parsed)
    assert parsed.variant.rrn is not None
    prec, op = parsed.variant.rrn
    half = prec == "h"
    single = half or (prec == "f" and op in NARROW_OPS)
    narrow = half or (single and parsed.variant.narrow)
    extend = "e" if half or (single and operand.modifier) else ""
    if operand.modifier != extend:
        operand = replace(operand, modifier=extend)
    source = pe.source(operand, parsed.record.slots[0], "h" if extend else prec)
    first = kernels.reduction(("f" if half else prec, op))
    last = kernels.narrow_reduction(op) if narrow else first
    if parsed.record.name == "l1bmr4":
        layout = square_map(bank.lws, stages=1)
        # One stage only: it is the last one too.
        first = last
    else:
        layout = column_map(bank.lws, stages=2)
    return PeStore(Unit.L1BM, layout, _address(bank), source, first, last, text=parsed.text)
