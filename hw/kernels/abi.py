"""The calling convention of the value kernels, and the lazily compiled `Kernel` object.

A kernel handles one *tile*: the 64 PEs of an L1B in the four cycles of a step.  A 2LW operand of a tile is a buffer of
512 `uint64`: index ``lw*256 + c*64 + p*16 + m`` (lw 0 = most significant long word, c cycle, p PE in the MAB, m MAB).
All kernels share one C signature so that the engine can call any of them by address; each is compiled on first use
and cached under a folder named by the hash of the kernel sources, so an edit can never meet a stale cache.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

LANES = 256
TILE = 512


class Kind(IntEnum):
    """What a kernel's operands mean.

    LANES:  out[512], flags[256] <- f(s0[512], s1[512], s2[512], mat, par); every operation of a MAU or ALU item, and of
            matrix reads (mat -> out) and writes (s0 -> mat).
    SOURCE: out[512] <- f(s0[512]); an input modifier (`-`, `e`, `r`).
    REDUCE: out[par[1]] <- reduce of s0[par[0]][par[1]]; one reduction circuit over par[0] inputs for par[1] long words.
    """

    LANES = 0
    SOURCE = 1
    REDUCE = 2


@dataclass(frozen=True, eq=False)
class Kernel:
    """A value operation: fast body, slow reference, and the facts the engine needs.

    body(s0, s1, s2, out, flags, mat, par): plain Python function that Numba compiles; pointers to uint64 (flags: uint8,
        par: int64).  `mat` points at one matrix plane: 16 rows x 4 PEs x 16 MABs of uint64, index row*64 + p*16 + m.
        flags[c*64 + p*16 + m] receives four bits.  `out` never aliases an input.  Kernels without flags leave `flags`
        alone.
    reference: LANES/SOURCE: ``reference(x, y, z, mat, par) -> (out, flags)`` for one MAB in one cycle: x, y, z lists
        of four (lw0, lw1) Python ints, mat a list of 16 rows of four ints, par a tuple, out four (lw0, lw1), flags four
        ints 0..15.  Matrix writes and reads take the cycle as the last element of par and may change mat in place.
        REDUCE: ``reference(inputs, par) -> int`` on single long words (par without the two counts).
    unit_value: REDUCE only, the long word that stands for an absent input.
    """

    name: str
    kind: Kind
    body: Callable[..., None]
    reference: Callable[..., Any]
    unit_value: int = 0
    has_flags: bool = False

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kernel) and other.name == self.name

    @property
    def address(self) -> int:
        """Machine address of the compiled body (compiles on first use, or loads the cached code)."""
        from hw.kernels.load import address_of

        return address_of(self.name, self.body)
