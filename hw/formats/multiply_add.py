"""MAU arithmetic: products with omission, multiply-add with finite alignment, matrix rows (numerics.md 3, 6, 12)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hw.formats.descriptor import BLOCKS, DOUBLE, FLOATS, SINGLE, BlockFormat, FloatFormat
from hw.formats.errors import MixedBlockError
from hw.formats.exact import MINUS_INFINITY, PLUS_INFINITY, ZERO, Exact, add, encode, number, round_odd


@dataclass(frozen=True, slots=True)
class Alignment:
    """Finite adder, with d = product exponent - addend exponent: product dropped when -d >= `drop_product`, addend when
    d >= `drop_addend`, else the addend is rounded to odd at 2**(product exponent - unit)."""

    drop_product: int
    drop_addend: int
    unit: int


VECTOR: dict[str, Alignment] = {"f": Alignment(26, 43, 41), "h": Alignment(26, 30, 28), "d": Alignment(55, 90, 88)}
MATRIX: dict[str, Alignment] = {
    "f": Alignment(28, 41, 39),
    "d": Alignment(57, 88, 86),
    "g": Alignment(29, 36, 34),
    "h": Alignment(30, 28, 26),
}
# Low bits whose mutual products are omitted, and the bit that stands in for them (numerics.md 3.2).
OMISSION: dict[str, tuple[int, int]] = {"f": (5, 1 << 8), "d": (16, 1 << 30)}
# Terms of a matrix row take this exponent step down when one factor is an extended element (numerics.md 6.3).
EXTENSION_STEP = 6


@dataclass(frozen=True, slots=True)
class LostBits:
    """Bits of the half multiplier's adder rows that do not reach the rounding (`shifted_half_product`).

    Masks by name: `sum_j` and `carry_j` are the carry-save pair after rows 8..j, `row_1` is row 1 itself; of `either_4`
    a column counts once when it is set in sum or carry.
    """

    either_4: int
    sum_4: int
    sum_3: int
    carry_2: int
    sum_2: int
    row_1: int


ONE_STEP = LostBits(either_4=0, sum_4=0, sum_3=0, carry_2=0, sum_2=0x10, row_1=0x4)
TWO_STEPS = LostBits(either_4=0x100, sum_4=0x200, sum_3=0x80, carry_2=0x40, sum_2=0x10, row_1=0x4)
# With two steps, a tie goes to the odd neighbour when this bit of `carry_4` is set.
TIE_CARRY = 12


def accumulator(prec: str) -> FloatFormat:
    """Format of the addend and of the unnarrowed result: double for d, single for f, g, h."""
    return DOUBLE if prec == "d" else SINGLE


def omitted_product(a: int, b: int, prec: str) -> int:
    """a * b without the products of the low bits (f, d); plus one stand-in bit when any of those was set."""
    product = a * b
    if prec in OMISSION:
        low_bits, stand_in = OMISSION[prec]
        low = (a % (1 << low_bits)) * (b % (1 << low_bits))
        if low:
            product += stand_in - low
    return product


def product(x: int, y: int, prec: str) -> Exact:
    """P(x, y) of numerics.md 3; x and y are patterns of the precision."""
    fmt = FLOATS[prec]
    (sx, ex, mx), (sy, ey, my) = fmt.split(x), fmt.split(y)
    if ex == 0 or ey == 0:
        return ZERO
    if fmt.all_ones in (ex, ey):
        return MINUS_INFINITY if sx ^ sy else PLUS_INFINITY
    hidden = 1 << fmt.mantissa_bits
    n = omitted_product(hidden + mx, hidden + my, prec)
    return Exact(-n if sx ^ sy else n, ex + ey - 2 * (fmt.bias + fmt.mantissa_bits))


def align(p: Exact, exponent: int, addend: int, fmt: FloatFormat, rule: Alignment) -> tuple[Exact, Exact]:
    """Apply the finite adder to a product of unbiased `exponent` and the addend pattern of `fmt`."""
    w = number(addend, fmt)
    if w.is_zero or w.inf:
        return p, w
    distance = exponent - (fmt.split(addend)[1] - fmt.bias)
    if -distance >= rule.drop_product:
        return ZERO, w
    if distance >= rule.drop_addend:
        return p, ZERO
    return p, round_odd(w, exponent - rule.unit)


def fma(x: int, y: int, z: int, prec: str, out: FloatFormat) -> int:
    """x * y + z with one rounding to `out`; z is a pattern of `accumulator(prec)`."""
    p, w = product(x, y, prec), number(z, accumulator(prec))
    if not (p.is_zero or p.inf):
        fmt = FLOATS[prec]
        exponent = fmt.split(x)[1] + fmt.split(y)[1] - 2 * fmt.bias
        p, w = align(p, exponent, z, accumulator(prec), VECTOR[prec])
    return encode(add(p, w), out)


def one(prec: str) -> int:
    """The pattern of 1.0."""
    fmt = FLOATS[prec]
    return fmt.join(0, fmt.bias, 0)


def block_exponent(block: Sequence[int], fmt: BlockFormat) -> int:
    """Common exponent field of a block; half blocks may hold extended elements (field 0).  Raises MixedBlockError."""
    fields = [fmt.element.split(x)[1] for x in block]
    common = max(fields) if fmt.letter == "h" else fields[0]
    for position, exponent in enumerate(fields):
        if exponent != common and not (fmt.letter == "h" and exponent == 0):
            raise MixedBlockError(position, exponent, common)
    return common


def _add_row(total: int, carry: int, row: int) -> tuple[int, int]:
    """One row into a carry-save pair."""
    return total ^ carry ^ row, (total & carry | total & row | carry & row) << 1


def shifted_half_product(a: int, x: int, shift: int) -> int:
    """a * x / 2**shift of two 9-bit fields, as the half multiplier rounds products of extended elements.

    The multiplier adds rows from the highest down, in carry-save form; row j has the partial products of bit j of one
    field with bits up to j of the other.  Some bits of the intermediate sums do not reach the rounding to nearest even.
    Found by comparison with the vendor's emulator; exact for all 512 * 512 pairs at a shift of 6 and of 12.
    """
    if shift == 0:
        return a * x
    row = [
        ((a >> j & 1) * (x & ((1 << j) - 1)) + (x >> j & 1) * (a & ((1 << j) - 1)) << j) + ((a & x) >> j & 1) * 4**j
        for j in range(9)
    ]
    total, carry = _add_row(row[8], row[7], row[6])
    total, carry = _add_row(total, carry, row[5])
    sum_4, carry_4 = _add_row(total, carry, row[4])
    sum_3, carry_3 = _add_row(sum_4, carry_4, row[3])
    sum_2, carry_2 = _add_row(sum_3, carry_3, row[2])
    lost = ONE_STEP if shift == EXTENSION_STEP else TWO_STEPS
    kept = (
        a * x
        - ((sum_4 | carry_4) & lost.either_4)
        - (sum_4 & lost.sum_4)
        - (sum_3 & lost.sum_3)
        - (carry_2 & lost.carry_2)
        - (sum_2 & lost.sum_2)
        - (row[1] & lost.row_1)
    )
    odd = kept >> shift
    if shift != EXTENSION_STEP:
        odd = odd ^ carry_4 >> TIE_CARRY
    return kept + (1 << shift - 1) - 1 + (odd & 1) >> shift


def _term(a: int, x: int, fmt: BlockFormat) -> int:
    """Signed product of two block elements in units of the product of the field LSBs."""
    (sa, ea, ma), (sx, ex, mx) = fmt.element.split(a), fmt.element.split(x)
    unread = fmt.element.mantissa_bits - fmt.field_bits
    magnitude = omitted_product(ma >> unread << unread, mx >> unread << unread, fmt.letter)
    if fmt.letter == "h":
        magnitude = shifted_half_product(ma, mx, EXTENSION_STEP * ((ea == 0) + (ex == 0)))
    return -magnitude if sa ^ sx else magnitude


def matrix_row(row: Sequence[int], x: Sequence[int], y: int, prec: str, out: FloatFormat) -> int:
    """sum_j row_j * x_j + y with one rounding to `out`; row and x are blocks, y a pattern of `accumulator(prec)`."""
    fmt = BLOCKS[prec]
    e_row, e_x = block_exponent(row, fmt), block_exponent(x, fmt)
    w = number(y, accumulator(prec))
    if e_row == 0 or e_x == 0:
        return encode(w, out)
    if fmt.element.all_ones in (e_row, e_x):
        return encode(PLUS_INFINITY, out)
    total = sum(_term(a, b, fmt) for a, b in zip(row, x, strict=True))
    exponent = e_row + e_x - 2 * fmt.element.bias
    s = Exact(total, exponent - 2 * (fmt.element.mantissa_bits - 1))
    s, w = align(s, exponent, y, accumulator(prec), MATRIX[prec])
    return encode(add(s, w), out)
