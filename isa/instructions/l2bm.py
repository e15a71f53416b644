"""Transfers between the L2BM and the eight L1BMs of each L2B, and the DAR update (isa.md 7)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hw.kernels.abi import Kernel
from hw.program import Item
from isa.errors import AsmError
from isa.instructions.slots import reductions, untyped
from isa.lower import kernels, l2bm
from isa.operand import BankOperand, Kind
from isa.record import Group, Hazard, Parsed, Record, Slot, Variant
from isa.suffix import Suffix

L2BM_LWS = 32768

# The official assembler silently reads `$lbi` here as `$lb0`; that is refused.
_LB = Slot("B", frozenset({Kind.L1BM}))
_LC = Slot("A", frozenset({Kind.L2BM}))
_TARGET = Slot("D", frozenset({Kind.L1BM}))


def _check_side(operand: BankOperand, align: int, name: str) -> None:
    if operand.lws == 2:
        raise AsmError("l2bm/width", f"`{operand.text}`: `{name}` takes 1-LW operands", nearest="$" + operand.text[2:])
    if operand.kind == Kind.L2BM and operand.addr >= L2BM_LWS:
        raise AsmError("address/range", f"`{operand.text}`: the L2BM has {L2BM_LWS} LW", expected=f"0..{L2BM_LWS - 1}")
    if operand.addr % align:
        raise AsmError(
            "address/alignment",
            f"`{operand.text}`: `{name}` needs an address that is a multiple of {align}",
            expected=f"{operand.addr // align * align} or {(operand.addr // align + 1) * align}",
        )


def _check(lc_align: int, lb_align: int) -> Callable[[Parsed], None]:
    def check(parsed: Parsed) -> None:
        for operand in parsed.operands:
            assert isinstance(operand, BankOperand)
            align = lc_align if operand.kind == Kind.L2BM else lb_align
            _check_side(operand, align, parsed.record.name)

    return check


def _check_dars(parsed: Parsed) -> None:
    place = parsed.operands[0]
    assert isinstance(place, BankOperand)
    _check_side(place, 64, "l2bmdars")


def _circuit(variant: Variant) -> Kernel:
    assert variant.rrn is not None
    return kernels.reduction(variant.rrn)


def _move(
    name: str,
    title: str,
    meaning: str,
    example: str,
    slots: tuple[Slot, ...],
    lower: Callable[[Parsed], Item],
    hazard: Hazard,
    aligns: tuple[int, int],
    *,
    suffix: Suffix = Suffix.NONE,
    mnemonics: Mapping[str, Variant] | None = None,
    kernel: Callable[[Variant], Kernel] | None = None,
) -> Record:
    return Record(
        name=name,
        title=title,
        group=Group.L2BM,
        mnemonics=mnemonics or untyped(name),
        slots=slots,
        meaning=meaning,
        example=example,
        source="isa.md 7.3, 7.4",
        lower=lower,
        kernel=kernel,
        suffix=suffix,
        hazard=hazard,
        check=_check(*aligns),
    )


DARS = Record(
    name="l2bmdars",
    title="load the DAR buffer of each group from L2B l and remember the first DAR entry",
    group=Group.L2BM,
    mnemonics=untyped("l2bmdars"),
    slots=(Slot("A", frozenset({Kind.L2BM}), place="@[g].l"), Slot("E", frozenset({Kind.DAR}))),
    meaning="buffer <- L2BM[A..], two 32-bit entries per LW, upper word first",
    example="l2bmdars $lc0@.0 $dar16",
    source="isa.md 7.8",
    lower=l2bm.lower_dars,
    hazard=Hazard.NONE,
    check=_check_dars,
)

DARW = Record(
    name="l2bmdarw",
    title="write the next four entries of the DAR buffer",
    group=Group.DARW,
    mnemonics=untyped("l2bmdarw"),
    slots=(),
    meaning="DAR[E + 4n + c] <- buffer[4n + c]",
    example="l2bmdarw",
    source="isa.md 7.8",
    lower=l2bm.lower_darw,
    hazard=Hazard.NONE,
)

RECORDS = (
    _move(
        "l2bmb",
        "broadcast to the L1Bs of a set",
        "for b in set: L1BM_b[B + 16c + k] <- L2BM[A + 16c + k], k < 16",
        "l2bmb@0/3 $lc0 $lb0",
        (_LC, _LB),
        l2bm.lower_down,
        Hazard.L2_DOWN,
        (16, 16),
        suffix=Suffix.SET,
    ),
    _move(
        "l2bmb2",
        "broadcast to pairs of L1Bs",
        "for b in set: L1BM_b[B + 16c + k] <- L2BM[A + 64c + 16(b//2) + k], k < 16",
        "l2bmb2 $lc0 $lb0",
        (_LC, _LB),
        l2bm.lower_down,
        Hazard.L2_DOWN,
        (64, 16),
        suffix=Suffix.SET,
    ),
    _move(
        "l2bmd",
        "distribute to the L1Bs of a set",
        "for b in set: L1BM_b[B + 8c + k] <- L2BM[A + 64c + 8b + k], k < 8",
        "l2bmd $lc0 $lb0",
        (_LC, _LB),
        l2bm.lower_down,
        Hazard.L2_DOWN,
        (64, 8),
        suffix=Suffix.SET,
    ),
    _move(
        "l2bmd",
        "concatenate all eight L1Bs",
        "L2BM[A + 64c + 8b + k] <- L1BM_b[B + 8c + k], k < 8",
        "l2bmd $lb0 $lc0",
        (_LB, _LC),
        l2bm.lower_up,
        Hazard.L2_UP,
        (64, 8),
    ),
    _move(
        "l2bm@",
        "copy one L1B",
        "L2BM[A + 16c + k] <- L1BM_n[B + 16c + k], k < 16",
        "l2bm@5 $lb0 $lc0",
        (_LB, _LC),
        l2bm.lower_up,
        Hazard.L2_UP,
        (16, 16),
        suffix=Suffix.L1B,
    ),
    _move(
        "l2bmr",
        "reduce over the L1Bs of a set; the others contribute the unit value",
        "L2BM[A + 16c + k] <- reduce over b in set of L1BM_b[B + 16c + k], k < 16",
        "l2bmrffadd $lb0 $lc0",
        (_LB, _LC),
        l2bm.lower_reduce,
        Hazard.L2_UP,
        (16, 16),
        suffix=Suffix.SET,
        mnemonics=reductions("l2bmr"),
        kernel=_circuit,
    ),
    _move(
        "l2bmr2",
        "reduce over pairs of L1Bs",
        "L2BM[A + 64c + 16h + k] <- reduce over b in {2h, 2h+1} of L1BM_b[B + 16c + k], k < 16",
        "l2bmr2liadd $lb0 $lc0",
        (_LB, _LC),
        l2bm.lower_reduce,
        Hazard.L2_UP,
        (64, 16),
        mnemonics=reductions("l2bmr2"),
        kernel=_circuit,
    ),
    _move(
        "l2bmi",
        "multicast inside the L2B: every source serves the L1Bs that agree with it in the ignored bits",
        "L1BM_b'[D + 16c + k] <- L1BM_b[B + 16c + k] with (b AND i) = (b' AND i), b' not in set, k < 16",
        "l2bmi@0/4 $lb0 $lb64",
        (_LB, _TARGET),
        l2bm.lower_inner,
        Hazard.L2_INNER,
        (16, 16),
        suffix=Suffix.SET_REQUIRED,
    ),
    DARS,
    DARW,
)
