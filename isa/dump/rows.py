"""Bodies of dump lines: the long words of one row in one format."""

from __future__ import annotations

from isa.dump.errors import DumpError
from isa.dump.numbers import DOUBLE, FORMATS, HALF, SINGLE, Format, block, ordinary


def untyped(lw: int, *, upper: bool = False) -> str:
    """``(f:1, i:{{0x3FF0,0x0},{0x0,0x0}}, v:0x3FF0000000000000)``.

    upper: the official emulator prints the number of the second LW of a 2LW in capitals (``-INF``, ``3.2E-273``).
    """
    a, b, c, d = (lw >> s & 0xFFFF for s in (48, 32, 16, 0))
    number = ordinary(lw, DOUBLE)
    return f"(f:{number.upper() if upper else number}, i:{{{{0x{a:X},0x{b:X}}},{{0x{c:X},0x{d:X}}}}}, v:0x{lw:X})"


def typed(values: list[str], raw: list[int], form: Format) -> str:
    """``(1, 5) (0x3f800000, 0x40a00000)``."""
    digits = form.bits // 4
    return f"({', '.join(values)}) ({', '.join(f'0x{x:0{digits}x}' for x in raw)})"


def _block_exponent(raw: list[int], form: Format) -> int:
    """The common exponent of a block.  Extended half blocks may hold fields with exponent 0; no others may differ."""
    exponents = {form.exponent(x) for x in raw}
    if form is HALF and len(exponents) > 1:
        exponents.discard(0)
    if len(exponents) > 1:
        raise DumpError(f"{form.name} in a PackedWord contain different exponent. Maybe it is not block float.")
    return max(exponents)


def number_body(lw: int, spec: str, *, bits: int = 64, exponent: int | None = None) -> str:
    """One long word (or word, `bits` 32) in format d, f, h or a block form; `exponent` overrides the block's own.

    Raises DumpError where a block has no common exponent, or the format is wider than a word.
    """
    form = FORMATS[spec[-1]]
    if form.bits > bits:
        raise DumpError("Target type is smaller than expected format")
    raw = form.split(lw, bits)
    if not spec.startswith("b"):
        return typed([ordinary(x, form) for x in raw], raw, form)
    if form in (SINGLE, DOUBLE) and exponent is None:
        return typed([block(x, form, form.exponent(x)) for x in raw], raw, form)  # every element is its own block
    common = _block_exponent(raw, form) if exponent is None else exponent
    return typed([block(x, form, common) for x in raw], raw, form)


def wide_body(lw0: int, lw1: int, spec: str) -> str:
    """A 2LW.  The official emulator prints block forms of a 2LW only when all exponents are 0."""
    if not spec:
        return f"{{{untyped(lw0)}, {untyped(lw1, upper=True)}}}"
    if spec.startswith("b"):
        form = FORMATS[spec[-1]]
        if any(form.exponent(x) for lw in (lw0, lw1) for x in form.split(lw)):
            raise DumpError("x.exponent() != common_exponent")
    return f"{{{number_body(lw0, spec)}, {number_body(lw1, spec)}}}"


def matrix_body(lws: list[int], spec: str) -> str:
    """A matrix row: the long words of the four PE columns; a block form needs one exponent for the whole row."""
    exponent: int | None = None
    if spec.startswith("b"):
        form = FORMATS[spec[-1]]
        exponent = _block_exponent([x for lw in lws for x in form.split(lw)], form)
    return "{" + ", ".join(number_body(lw, spec, exponent=exponent) for lw in lws) + "}"
