"""MAU matrix-vector operations (isa.md 9.4, numerics.md 6): `MAU_MATRIX[(op, prec, narrow, half)]`.

op mfma or mmul; prec d, f, g, h; half "u" or "d" for d, else "".  Source 0 is the block-float vector x, source 1 the
addend y (mfma only); `mat` is the plane.  Results that fill LW0 only have LW1 = 0.  Flag = NOT sign of each output
element.

par[7] must be 0 on entry.  A block of the matrix or of x whose elements have different exponents (other than extended
half elements) leaves a nonzero code there (`hw.kernels.mixed`) and unspecified values in the results; the references
raise `hw.formats.errors.MixedBlockError`.  Rows and columns that take no part are not looked at.
"""

from __future__ import annotations

from typing import Any

from hw.formats import multiply_add, words
from hw.formats.descriptor import FLOATS, NARROWER, FloatFormat
from hw.kernels.abi import Kernel, Kind
from hw.kernels.mau_double_matrix import double_matrix_body
from hw.kernels.mau_half_matrix import half_matrix_body
from hw.kernels.mau_single_matrix import single_matrix_body
from hw.kernels.mau_vector import pack_results
from hw.kernels.reference import Lanes, Matrix, Reference, Result

_ELEMENT_BITS = {"d": 64, "f": 32, "g": 32, "h": 16}


def _block(lws: list[int], prec: str) -> list[int]:
    """Elements of a block spread over the four PEs; f uses the first word of each PE only."""
    elements = [words.split(long_word, _ELEMENT_BITS[prec]) for long_word in lws]
    return [part[0] for part in elements] if prec == "f" else [e for part in elements for e in part]


def _reference(op: str, prec: str, half: str, out: FloatFormat) -> Reference:
    addend = multiply_add.accumulator(prec)
    per_pe = {"d": 1, "f": 2, "g": 2, "h": 4}[prec]

    def reference(x: Lanes, y: Lanes, z: Lanes, mat: Matrix, par: tuple[int, ...]) -> Result:
        vector = _block([pair[0] for pair in x], prec)
        pairs, flags = [], []
        for p in range(4):
            addends = words.split(y[p][0], addend.bits) + words.split(y[p][1], addend.bits)
            active = half == "" or (half == "u") == (p < 2)
            results = []
            for k in range(per_pe):
                y_k = addends[k] if op == "mfma" else 0
                if active:
                    row = _block(mat[(p * per_pe + k) * (4 // per_pe)], prec)
                    results.append(multiply_add.matrix_row(row, vector, y_k, prec, out))
                else:
                    results.append(multiply_add.fma(0, 0, y_k, prec, out))
            pair, bits = pack_results(results, out)
            pairs.append(pair)
            flags.append(bits)
        return pairs, flags

    return reference


def _body(op: str, prec: str, half: str, out: FloatFormat) -> Any:
    if prec == "d":
        return double_matrix_body(half, op == "mmul", out)
    if prec == "h":
        return half_matrix_body(op == "mmul", out)
    return single_matrix_body(prec, op == "mmul", out)


def _kernel(op: str, prec: str, narrow: bool, half: str) -> Kernel:
    wide = multiply_add.accumulator(prec)
    out = NARROWER[wide.letter] if narrow else wide
    return Kernel(
        name=f"mau.{prec}{op}{half}{'r' * narrow}",
        kind=Kind.LANES,
        body=_body(op, prec, half, out),
        reference=_reference(op, prec, half, out),
        has_flags=True,
    )


MAU_MATRIX: dict[tuple[str, str, bool, str], Kernel] = {
    (op, prec, narrow, half): _kernel(op, prec, narrow, half)
    for op in ("mfma", "mmul")
    for prec in (*FLOATS, "g")
    for half in (("u", "d") if prec == "d" else ("",))
    for narrow in (False, True)
}
