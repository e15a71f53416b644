"""Untyped ALU operations: `ZERO`, `IMM` (the literal arrives as source 0), `MSL` and `MSR` (isa.md 11.2, 19 item 4)."""

from __future__ import annotations

from typing import Any

from hw.kernels.abi import LANES, TILE, Kernel, Kind
from hw.kernels.bits import U0
from hw.kernels.reference import NO_FLAGS, Lanes, Matrix, Reference, Result, per_pe


def _zero(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
    for i in range(TILE):
        out[i] = U0


def _copy(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
    for i in range(TILE):
        out[i] = s0[i]


def _msl(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
    for c in range(0, LANES, 64):
        for i in range(16):
            out[c + i] = s0[c + 48 + i]
        for i in range(16, 64):
            out[c + i] = s0[c + i - 16]
    for i in range(LANES):
        out[LANES + i] = U0


def _msr(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
    for c in range(0, LANES, 64):
        for i in range(48):
            out[c + i] = s0[c + i + 16]
        for i in range(16):
            out[c + 48 + i] = s0[c + i]
    for i in range(LANES):
        out[LANES + i] = U0


def _rotated(distance: int) -> Reference:
    """PE p receives LW0 of PE (p + distance) mod 4 and LW1 = 0."""

    def reference(x: Lanes, y: Lanes, z: Lanes, mat: Matrix, par: tuple[int, ...]) -> Result:
        return [(x[(p + distance) % 4][0], 0) for p in range(4)], list(NO_FLAGS)

    return reference


ZERO = Kernel("alu.zero", Kind.LANES, _zero, per_pe(lambda pair: (0, 0)))
IMM = Kernel("alu.imm", Kind.LANES, _copy, per_pe(lambda pair: pair))
MSL = Kernel("alu.msl", Kind.LANES, _msl, _rotated(-1))
MSR = Kernel("alu.msr", Kind.LANES, _msr, _rotated(1))
