"""Transfers between the L1BM (or the turnaround register) and the 64 PEs of each L1B (isa.md 8)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from hw.kernels.abi import Kernel
from hw.program import Item
from isa.errors import AsmError
from isa.instructions.slots import L1BM_SIDE, PE_SOURCES, PLAIN_RESULTS, reductions, untyped
from isa.lower import kernels
from isa.lower.l1bm import lower_load, lower_reduce, lower_store
from isa.operand import MEMORIES, BankOperand, Kind, PeOperand
from isa.record import Group, Hazard, Parsed, Record, Slot, Variant
from isa.suffix import Suffix

L1BM_LWS = 8192

_SIDE = Slot("B", L1BM_SIDE)
_SOURCE = Slot("x", PE_SOURCES)
_REDUCED = Slot("x", PE_SOURCES, {"d": "e", "f": "e", "l": "e", "i": "e"}, rule="raw", accumulator=True)
_WIDE_OPS = {"fadd": "f", "max": "f", "min": "f", "bor": "lis"}


def _side(parsed: Parsed) -> BankOperand:
    return next(operand for operand in parsed.operands if isinstance(operand, BankOperand))


def _check_address(parsed: Parsed) -> None:
    """Range and alignment of the L1BM address, as far as the official assembler checks it (isa.md 8.1)."""
    side = _side(parsed)
    name = parsed.record.name
    if name == "l1bmd" and side.lws == 2:
        raise AsmError("l1bm/width", f"`{parsed.text}`: l1bmd has no 2-LW form", nearest="$" + side.text[2:])
    if side.addr >= L1BM_LWS:
        raise AsmError("address/range", f"`{side.text}`: the L1BM has {L1BM_LWS} LW", expected=f"0..{L1BM_LWS - 1}")
    align = 64 if name == "l1bmd" else 1 if name == "l1bmp" else 4 * side.lws
    if side.addr % align:
        raise AsmError(
            "address/alignment",
            f"`{side.text}`: `{name}` needs an address that is a multiple of {align}",
            expected=f"{side.addr // align * align} or {(side.addr // align + 1) * align}",
        )


def _check_load(parsed: Parsed) -> None:
    """Destination widths against the form (isa.md 8.1); the turnaround register cannot be broadcast by `l1bmp`."""
    _check_address(parsed)
    side = _side(parsed)
    if side.kind == Kind.TURN and parsed.record.name == "l1bmp":
        raise AsmError("l1bm/turnaround", "`l1bmp` cannot read the turnaround register", expected="`$lb` or `$llb`")
    for dest in parsed.dests:
        if dest.kind not in MEMORIES and dest.kind not in (Kind.BAR0, Kind.BAR1):
            continue
        if side.lws == 1 and dest.width == 4:
            raise AsmError("l1bm/width", f"`{dest.text}` is too long for the 1-LW form", nearest="$" + dest.text[2:])
        if side.lws == 2 and dest.width < 4:
            raise AsmError(
                "l1bm/width", f"`{dest.text}` is too short for the 2-LW form", expected="an `ll` destination"
            )


def _check_reduce(parsed: Parsed) -> None:
    _check_address(parsed)
    assert parsed.variant.rrn is not None
    prec, op = parsed.variant.rrn
    if _side(parsed).lws == 2 and prec not in _WIDE_OPS.get(op, ""):
        raise AsmError(
            "l1bm/wide-reduction",
            f"`{parsed.text}`: no 2-LW reduction `{prec}{op}`",
            expected="ffadd, fmax, fmin, lbor, ibor or sbor",
        )


def _note_reduce(parsed: Parsed) -> str:
    """`e` and `r` exist for single floating point; on other reductions the official emulator stops or ignores them."""
    assert parsed.variant.rrn is not None
    prec = parsed.variant.rrn[0]
    operand = parsed.operands[0]
    extended = isinstance(operand, PeOperand) and operand.modifier == "e"
    if prec not in "fh" and (parsed.variant.narrow or extended):
        return f"`{parsed.text}`: `e` and `r` have no effect on this reduction; the official emulator may stop"
    return ""


def _load(name: str, title: str, meaning: str, *, shift: bool = False, example: str) -> Record:
    return Record(
        name=name,
        title=title,
        group=Group.L1BM,
        mnemonics=untyped(name),
        slots=(_SIDE, PLAIN_RESULTS),
        meaning=meaning,
        example=example,
        source="isa.md 8.2, 8.4",
        lower=lower_load,
        suffix=Suffix.SHIFT if shift else Suffix.NONE,
        zero_flush=True,
        hazard=Hazard.L1_DOWN,
        check=_check_load,
    )


def _store(
    name: str,
    title: str,
    meaning: str,
    example: str,
    *,
    suffix: Suffix = Suffix.NONE,
    mnemonics: Mapping[str, Variant] | None = None,
    source_slot: Slot = _SOURCE,
    lower: Callable[[Parsed], Item] = lower_store,
    kernel: Callable[[Variant], Kernel] | None = None,
    check: Callable[[Parsed], None] = _check_address,
    note: Callable[[Parsed], str] | None = None,
) -> Record:
    return Record(
        name=name,
        title=title,
        group=Group.L1BM,
        mnemonics=mnemonics or untyped(name),
        slots=(source_slot, _SIDE),
        meaning=meaning,
        example=example,
        source="isa.md 8.2-8.5",
        lower=lower,
        kernel=kernel,
        suffix=suffix,
        hazard=Hazard.L1_UP,
        check=check,
        note=note,
    )


def _circuit(variant: Variant) -> Kernel:
    assert variant.rrn is not None
    return kernels.reduction(variant.rrn)


def _reduce(name: str, title: str, meaning: str, example: str) -> Record:
    # Half words take neither `e` nor `r`: their circuits use both already.
    mnemonics = {
        text: variant
        for text, variant in reductions(name, narrow=True).items()
        if not (variant.prec in "hs" and variant.narrow)
    }
    return _store(
        name,
        title,
        meaning,
        example,
        mnemonics=mnemonics,
        source_slot=_REDUCED,
        lower=lower_reduce,
        kernel=_circuit,
        check=_check_reduce,
        note=_note_reduce,
    )


RECORDS = (
    _load(
        "l1bmp",
        "broadcast one LW per cycle to all PEs",
        "LWw(c) <- L1BM[B + c + 4w]",
        example="l1bmp $lb0 $lr0v",
    ),
    _load(
        "l1bmm",
        "16x1 mode: distribute over PEs, broadcast over MABs",
        "1 LW: LW0(c) <- L1BM[B + 4c + p]; 2 LW: LWw(c) <- L1BM[B + 8c + 4w + p]",
        example="l1bmm $llb0 $llr0v",
    ),
    _load(
        "l1bmm4",
        "4x4 mode: distribute over PEs and groups of four MABs, broadcast inside them",
        "1 LW: LW0(c) <- L1BM[B + 16c + 4(m//4) + p]; 2 LW: LWw(c) <- L1BM[B + 32c + 8(m//4) + 4w + p]",
        example="l1bmm4 $lb0 $lr0v",
    ),
    _load(
        "l1bmd",
        "distribute one LW per PE and cycle; with shift s MAB m receives block m - s",
        "LW0(c) <- L1BM[B + 64c + 4((m - s) mod 16) + p]",
        shift=True,
        example="l1bmd+1 $lb0 $lr0v",
    ),
    _store(
        "l1bmm@",
        "16x1 mode: concatenate the PEs of one MAB",
        "L1BM[B + 4c + p] <- PE(M,p).LW0(c); 2 LW: L1BM[B + 8c + 4w + p] <- PE(M,p).LWw(c)",
        "l1bmm@3 $lr0v $lb0",
        suffix=Suffix.MAB,
    ),
    _store(
        "l1bmm4@",
        "4x4 mode: concatenate the PEs of MAB n of each four; n > 3 writes nothing",
        "L1BM[B + 16c + 4h + p] <- PE(4h+n,p).LW0(c); 2 LW: L1BM[B + 32c + 8h + 4w + p] <- PE(4h+n,p).LWw(c)",
        "l1bmm4@2 $llr0v $llb0",
        suffix=Suffix.MAB,
    ),
    _store(
        "l1bmd",
        "concatenate one LW per PE and cycle; with shift s MAB m writes block m + s",
        "L1BM[B + 64c + 4((m + s) mod 16) + p] <- PE(m,p).LW0(c)",
        "l1bmd-1 $lr0v $lb0",
        suffix=Suffix.SHIFT,
    ),
    _reduce(
        "l1bmr",
        "16x1 mode: reduce over the 16 MABs in two stages of four",
        "L1BM[B + 4c + p] <- reduce over m of PE(m,p).LW0(c); 2 LW: L1BM[B + 8c + 4w + p] <- reduce over m of LWw(c)",
        "l1bmrffadd $llr0v $llb0",
    ),
    _reduce(
        "l1bmr4",
        "4x4 mode: reduce over each four MABs",
        "L1BM[B + 16c + 4h + p] <- reduce over n of PE(4h+n,p).LW0(c); 2 LW: L1BM[B + 32c + 8h + 4w + p] <- of LWw",
        "l1bmr4liadd $lr0v $lb0",
    ),
)
