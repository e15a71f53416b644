"""The eighteen MV forms between PDM, DRAM and L2BM (isa.md 6.2)."""

from __future__ import annotations

from hw.kernels.abi import Kernel
from hw.program import MvForm
from isa.errors import AsmError
from isa.instructions.slots import reductions, untyped
from isa.lower import kernels
from isa.lower.mv import lower_mv
from isa.mv_suffix import MvOptions
from isa.operand import BankOperand, Kind
from isa.record import Group, Hazard, Parsed, Record, Slot, Variant
from isa.suffix import Suffix

_ALIGN = {Kind.PDM: 64, Kind.L2BM: 64, Kind.DRAM: 16}
_LWS = {Kind.PDM: 1 << 19, Kind.L2BM: 1 << 15}
_LETTERS = {"p": Kind.PDM, "d": Kind.DRAM, "l": Kind.L2BM}


def _check(parsed: Parsed) -> None:
    """Alignment and range of the addresses (isa.md 6.1; a DAR entry has neither), `nd` only with `$di`."""
    options = parsed.suffix
    indirect = any(isinstance(operand, BankOperand) and operand.indirect for operand in parsed.operands)
    if isinstance(options, MvOptions) and options.repeat and not indirect:
        raise AsmError("mv/suffix", f"`{parsed.text}`: `nd` without a `$di` operand")
    for operand in parsed.operands:
        assert isinstance(operand, BankOperand)
        if operand.indirect:
            continue
        align = _ALIGN[operand.kind]
        if operand.addr % align:
            raise AsmError(
                "address/alignment",
                f"`{operand.text}`: address {operand.addr} is no multiple of {align}",
                expected=f"{operand.addr // align * align} or {(operand.addr // align + 1) * align}",
            )
        limit = _LWS.get(operand.kind)
        if limit is not None and operand.addr >= limit:
            raise AsmError("address/range", f"`{operand.text}` is outside the memory", expected=f"0..{limit - 1}")


def _circuit(variant: Variant) -> Kernel:
    assert variant.rrn is not None
    return kernels.reduction(variant.rrn)


def _slot(name: str, spec: str) -> Slot:
    """`p@g` = PDM with group, `l@.l` = L2BM with bank only, `d` = DRAM without anything."""
    return Slot(name, frozenset({_LETTERS[spec[0]]}), place=spec[1:])


# form, name of the record, mode, source, destination, mapping, what the size counts, example
_FORMS: tuple[tuple[MvForm, str, str, str, str, str, str, str], ...] = (
    (
        MvForm.P_L,
        "mvp-pdm-l2bm",
        "p",
        "p@g",
        "l@g.l",
        "L2BM(h,l)[B+t] <- PDM_g[A+t]",
        "LW",
        "mvp/n64i01 $p0@0 $lc0@0.1",
    ),
    (
        MvForm.L_P,
        "mvp-l2bm-pdm",
        "p",
        "l@g.l",
        "p@g",
        "PDM_g[B+t] <- L2BM(h,l)[A+t]",
        "LW",
        "mvp/n64i01 $lc0@0.1 $p0@0",
    ),
    (
        MvForm.D_L,
        "mvp-dram-l2bm",
        "p",
        "d@g",
        "l@g[.l]",
        "L2BM(h,l)[B+t] <- DRAM_g[A+t]",
        "LW",
        "mvp/n64i01 $d0@2 $lc0@2.0",
    ),
    (
        MvForm.D_L,
        "mvp-l2bm-dram",
        "p",
        "l@g[.l]",
        "d@g",
        "DRAM_g[B+t] <- L2BM(h,l)[A+t]",
        "LW",
        "mvp/n64i01 $lc0@2.0 $d0@2",
    ),
    (MvForm.P_D, "mvp-pdm-dram", "p", "p@g", "d@g", "DRAM_h[B+t] <- PDM_g[A+t]", "LW", "mvp/n64i01 $p0@0 $d0@1"),
    (MvForm.P_D, "mvp-dram-pdm", "p", "d@g", "p@g", "PDM_g[B+t] <- DRAM_h[A+t]", "LW", "mvp/n64i01 $d0@1 $p0@0"),
    (MvForm.P_P, "mvp-pdm-pdm", "p", "p@g", "p@g", "PDM_h[B+t] <- PDM_g[A+t]", "LW", "mvp/n64i01 $p0@0 $p0@1"),
    (
        MvForm.PARALLEL,
        "mvp-all-dram-l2bm",
        "p",
        "d",
        "l[@.l]",
        "every g: L2BM(g,l)[B+t] <- DRAM_g[A+t]",
        "LW per group",
        "mvp/n64i01 $d0 $lc0@.1",
    ),
    (
        MvForm.PARALLEL,
        "mvp-all-l2bm-dram",
        "p",
        "l[@.l]",
        "d",
        "every g: DRAM_g[B+t] <- L2BM(g,l)[A+t]",
        "LW per group",
        "mvp/n64i01 $lc0@.1 $d0",
    ),
    (
        MvForm.PARALLEL,
        "mvp-all-pdm-l2bm",
        "p",
        "p",
        "l@.l",
        "every g: L2BM(g,l)[B+t] <- PDM_g[A+t]",
        "LW per group",
        "mvp/n64i01 $p0 $lc0@.1",
    ),
    (
        MvForm.PARALLEL,
        "mvp-all-l2bm-pdm",
        "p",
        "l@.l",
        "p",
        "every g: PDM_g[B+t] <- L2BM(g,l)[A+t]",
        "LW per group",
        "mvp/n64i01 $lc0@.1 $p0",
    ),
    (MvForm.B_PDM, "mvb-pdm", "b", "p@g", "l", "every L2BM[B+t] <- PDM_g[A+t]", "LW", "mvb/n64i01 $p0@0 $lc0"),
    (
        MvForm.B_DRAM,
        "mvb-dram",
        "b",
        "d",
        "l",
        "every L2BM[B+64i+16g+k] <- DRAM_g[A+16i+k]",
        "LW at the L2BM",
        "mvb/n64i01 $d0 $lc0",
    ),
    (
        MvForm.B2,
        "mvb2",
        "b2",
        "d",
        "l",
        "L2BM(g,0)[B+t], L2BM(g,1)[B+t] <- DRAM_g[A+t]",
        "LW per group",
        "mvb2/n64i01 $d0 $lc0",
    ),
    (
        MvForm.B4,
        "mvb4",
        "b4",
        "d",
        "l",
        "every g': L2BM(g',l)[B+64i+16g+k] <- DRAM_g[A+32i+16l+k]",
        "LW at the L2BM",
        "mvb4/n64i01 $d0 $lc0",
    ),
    (
        MvForm.R_PDM,
        "mvr-pdm",
        "r",
        "l",
        "p@g",
        "PDM_g[B+t] <- reduce over the 8 L2BMs of L2BM[A+t]",
        "LW",
        "mvrffadd/n64i01 $lc0 $p0@0",
    ),
    (
        MvForm.R_DRAM,
        "mvr-dram",
        "r",
        "l",
        "d",
        "DRAM_g[B+16i+k] <- reduce over the 8 L2BMs of L2BM[A+64i+16g+k]",
        "LW at the L2BM",
        "mvrliadd/n64i01 $lc0 $d0",
    ),
    (
        MvForm.R2,
        "mvr2",
        "r2",
        "l",
        "d",
        "DRAM_g[B+t] <- reduce over l of L2BM(g,l)[A+t]",
        "LW per group",
        "mvr2dmax/n64i01 $lc0 $d0",
    ),
    (
        MvForm.R4,
        "mvr4",
        "r4",
        "l",
        "d",
        "DRAM_g[B+32i+16l+k] <- reduce over g' of L2BM(g',l)[A+64i+16g+k]",
        "LW at the L2BM",
        "mvr4sbor/n64i01 $lc0 $d0",
    ),
    (
        MvForm.D_PDM_L,
        "mvd-pdm-l2bm",
        "d",
        "p@g",
        "l",
        "L2BM(q)[B+16i+k] <- PDM_g[A+128i+16q+k]",
        "LW per L2BM",
        "mvd/n64i01 $p0@0 $lc0",
    ),
    (
        MvForm.D_L_PDM,
        "mvd-l2bm-pdm",
        "d",
        "l",
        "p@g",
        "PDM_g[B+128i+16q+k] <- L2BM(q)[A+16i+k]",
        "LW per L2BM",
        "mvd/n64i01 $lc0 $p0@0",
    ),
    (
        MvForm.D_PDM_DRAM,
        "mvd-pdm-dram",
        "d",
        "p@g",
        "d",
        "DRAM_h[B+16i+k] <- PDM_g[A+64i+16h+k]",
        "LW at the PDM",
        "mvd/n64i01 $p0@0 $d0",
    ),
    (
        MvForm.D_DRAM_PDM,
        "mvd-dram-pdm",
        "d",
        "d",
        "p@g",
        "PDM_g[B+64i+16h+k] <- DRAM_h[A+16i+k]",
        "LW at the PDM",
        "mvd/n64i01 $d0 $p0@0",
    ),
)


def _record(
    form: MvForm, name: str, mode: str, source: str, target: str, meaning: str, counts: str, example: str
) -> Record:
    reduces = mode.startswith("r")
    return Record(
        name=name,
        title=f"form {int(form)}; the size counts {counts}",
        group=Group.MV,
        mnemonics=reductions(f"mv{mode}") if reduces else untyped(f"mv{mode}"),
        slots=(_slot("A", source), _slot("B", target)),
        meaning=meaning,
        example=example,
        source="isa.md 6.2",
        lower=lower_mv(form),
        suffix=Suffix.MV,
        kernel=_circuit if reduces else None,
        hazard=Hazard.MV,
        check=_check,
    )


RECORDS = tuple(_record(*row) for row in _FORMS)
