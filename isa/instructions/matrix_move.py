"""Matrix register write and transposed read (isa.md 10)."""

from __future__ import annotations

from hw.kernels.abi import Kernel
from isa.errors import AsmError
from isa.instructions.slots import PE_SOURCES, PLAIN_RESULTS
from isa.lower.compute import lower_mread, lower_mwrite
from isa.lower.kernels import table_entry
from isa.operand import Kind, MatrixOperand
from isa.record import Group, Parsed, Record, Slot, Variant

_MATRIX = Slot("M", frozenset({Kind.MATRIX}))
_SOURCE = Slot("x", PE_SOURCES, {"d": "-e", "f": "-e", "g": "-e", "h": "-r"}, rule="keep_zero_sign")


def _matrix(parsed: Parsed) -> MatrixOperand:
    return next(operand for operand in parsed.operands if isinstance(operand, MatrixOperand))


def _check_write(parsed: Parsed) -> None:
    matrix = _matrix(parsed)
    if matrix.lws == 2 and parsed.variant.prec != "h":
        raise AsmError(
            "matrix/width", f"`{parsed.text}`: only hmwrite has the 2-LW form", nearest=f"$l{matrix.text[3:]}"
        )


def _check_read(parsed: Parsed) -> None:
    matrix = _matrix(parsed)
    half = parsed.variant.prec == "h"
    if half != (matrix.lws == 2):
        form = "$llx0, $lly0" if half else "$lx0, $ly0"
        raise AsmError("matrix/width", f"`{parsed.text}`: wrong width of the matrix operand", expected=form)
    if half and (matrix.start or 0) % 2:
        raise AsmError("matrix/alignment", f"`{parsed.text}`: hmread needs an even column")
    sized = [dest for dest in parsed.dests if dest.kind not in (Kind.T, Kind.NOWRITE)]
    for dest in sized[1:]:
        if dest.width != sized[0].width:
            raise AsmError(
                "matrix/destinations",
                f"`{sized[0].text}` and `{dest.text}` differ in width",
                expected="one width for all destinations of a matrix read",
            )


def _write_kernel(variant: Variant) -> Kernel:
    return table_entry("matrix_move", "MWRITE", (variant.prec, 1))


def _read_kernel(variant: Variant) -> Kernel:
    return table_entry("matrix_move", "MREAD", (variant.prec, 2 if variant.prec == "h" else 1))


MWRITE = Record(
    name="mwrite",
    title="write four (2-LW form: eight) rows of a matrix register",
    group=Group.MWRITE,
    mnemonics={f"{prec}mwrite": Variant(prec) for prec in "dfgh"},
    slots=(_SOURCE, _MATRIX),
    meaning="row M+c <- LW0 of the four PEs in cycle c; 2-LW form: rows M+2c, M+2c+1 <- LW0, LW1",
    example="gmwrite $lr0v $lx0",
    source="isa.md 10.2",
    lower=lower_mwrite,
    kernel=_write_kernel,
    check=_check_write,
)

MREAD = Record(
    name="mread",
    title="read four columns (half: eight) of a matrix register",
    group=Group.MREAD,
    mnemonics={f"{prec}mread": Variant(prec) for prec in "dfgh"},
    slots=(_MATRIX, PLAIN_RESULTS),
    meaning="PE p receives the elements of its rows in column M+c; half: columns M+2c, M+2c+1",
    example="hmread $llx0 $llr0v",
    source="isa.md 10.3",
    lower=lower_mread,
    kernel=_read_kernel,
    zero_flush=True,
    check=_check_read,
)

RECORDS = (MWRITE, MREAD)
