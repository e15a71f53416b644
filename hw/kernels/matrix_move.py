"""Matrix register write and transposed read (isa.md 10.2, 10.3): `MWRITE[(prec, lws)]`, `MREAD[(prec, lws)]`.

par[0] is the start row (write) or column (read).  A plane holds 16 physical rows of four long words (one per PE
column); logical row r is physical row 4r for d, 2r for f and g, r for h.  Keys: d, f, g with 1 LW; writes of h with 1
or 2 LW, reads of h with 2.  `f` and `g` name the same kernel.  LW1 of d, f, g reads is 0.
"""

from __future__ import annotations

from typing import Any

from hw.formats import words
from hw.kernels.abi import LANES, Kernel, Kind
from hw.kernels.bits import HALFWORD, U0, WORD, I, U
from hw.kernels.reference import NO_FLAGS, Lanes, Matrix, Reference, Result

_ROWS = {"d": 4, "f": 8, "h": 16}
_BITS = {"d": 64, "f": 32, "h": 16}
_S16, _S32, _S48 = U(16), U(32), U(48)


def _write_body(rows: int) -> Any:
    """Row (start + c) mod rows <- LW0."""
    last = I(rows - 1)
    stride = I(64 * (16 // rows))

    def body(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
        for c in range(4):
            row = ((par[0] + c) & last) * stride
            for i in range(64):
                mat[row + i] = s0[c * 64 + i]

    return body


def _write_pairs(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
    """Rows start + 2c and start + 2c + 1 (mod 16) <- LW0 and LW1."""
    for c in range(4):
        first = ((par[0] + 2 * c) & 15) * 64
        second = ((par[0] + 2 * c + 1) & 15) * 64
        for i in range(64):
            mat[first + i] = s0[c * 64 + i]
            mat[second + i] = s0[LANES + c * 64 + i]


def _read_d(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
    for c in range(4):
        column = ((par[0] + c) & 3) * 16
        for p in range(4):
            for m in range(16):
                out[c * 64 + p * 16 + m] = mat[p * 256 + column + m]
                out[LANES + c * 64 + p * 16 + m] = U0


def _read_f(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
    for c in range(4):
        column = (par[0] + c) & 7
        pe = (column >> 1) * 16
        shift = U((1 - (column & 1)) * 32)
        for p in range(4):
            row = p * 256 + pe
            for m in range(16):
                high = mat[row + m] >> shift & WORD
                out[c * 64 + p * 16 + m] = high << _S32 | (mat[row + 128 + m] >> shift & WORD)
                out[LANES + c * 64 + p * 16 + m] = U0


def _read_h(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
    for k in range(8):
        column = (par[0] + k) & 15
        pe = (column >> 2) * 16
        shift = U((3 - (column & 3)) * 16)
        base = (k & 1) * LANES + (k >> 1) * 64
        for p in range(4):
            row = p * 256 + pe
            for m in range(16):
                a = (mat[row + m] >> shift & HALFWORD) << _S48
                b = (mat[row + 64 + m] >> shift & HALFWORD) << _S32
                c = (mat[row + 128 + m] >> shift & HALFWORD) << _S16
                out[base + p * 16 + m] = a | b | c | (mat[row + 192 + m] >> shift & HALFWORD)


def _write_reference(rows: int, lws: int) -> Reference:
    def reference(x: Lanes, y: Lanes, z: Lanes, mat: Matrix, par: tuple[int, ...]) -> Result:
        start, cycle = par[0], par[-1]
        for w in range(lws):
            mat[(start + lws * cycle + w) % rows * (16 // rows)] = [pair[w] for pair in x]
        return [(0, 0)] * 4, list(NO_FLAGS)

    return reference


def _read_reference(prec: str, lws: int) -> Reference:
    rows, bits = _ROWS[prec], _BITS[prec]
    per_pe = rows // 4

    def reference(x: Lanes, y: Lanes, z: Lanes, mat: Matrix, par: tuple[int, ...]) -> Result:
        start, cycle = par[0], par[-1]
        elements = [[e for long_word in row for e in words.split(long_word, bits)] for row in mat[:: 16 // rows]]
        out = []
        for p in range(4):
            pair = [0, 0]
            for w in range(lws):
                column = (start + lws * cycle + w) % rows
                pair[w] = words.join([elements[p * per_pe + k][column] for k in range(per_pe)], bits)
            out.append((pair[0], pair[1]))
        return out, list(NO_FLAGS)

    return reference


def _write(prec: str, lws: int) -> Kernel:
    body = _write_pairs if lws == 2 else _write_body(_ROWS[prec])
    return Kernel(f"mwrite.{prec}{lws}", Kind.LANES, body, _write_reference(_ROWS[prec], lws))


def _read(prec: str, lws: int) -> Kernel:
    body = {"d": _read_d, "f": _read_f, "h": _read_h}[prec]
    return Kernel(f"mread.{prec}{lws}", Kind.LANES, body, _read_reference(prec, lws))


MWRITE: dict[tuple[str, int], Kernel] = {("d", 1): _write("d", 1), ("f", 1): _write("f", 1), ("h", 1): _write("h", 1)}
MWRITE["h", 2] = _write("h", 2)
MWRITE["g", 1] = MWRITE["f", 1]

MREAD: dict[tuple[str, int], Kernel] = {("d", 1): _read("d", 1), ("f", 1): _read("f", 1), ("h", 2): _read("h", 2)}
MREAD["g", 1] = MREAD["f", 1]
