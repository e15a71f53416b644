"""How definedness flows through a kernel: which parts of its operands an operation uses, what its result depends on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from functools import cache

from hw.kernels.abi import Kernel
from hw.kernels.alu_float import ALU_FLOAT
from hw.kernels.alu_int import ALU_INT
from hw.kernels.alu_misc import IMM, MSL, MSR, ZERO
from hw.kernels.bfn import BFN
from hw.kernels.mau_matrix import MAU_MATRIX
from hw.kernels.mau_vector import MAU_VECTOR

BITS = {"l": 64, "d": 64, "i": 32, "f": 32, "g": 32, "s": 16, "h": 16}


class Flow(Enum):
    """Kinds of data flow."""

    COPY = auto()  # each half word of the 2LW for itself
    LANE = auto()  # elements of LW0; LW1 of the first source passes (isa.md 11.1)
    LEFT = auto()  # LW0 of the PE below (msl)
    RIGHT = auto()  # LW0 of the PE above (msr)
    BLOCK = auto()  # the four PEs of a MAB share an exponent (isa.md 11.6)
    VECTOR = auto()  # MAU, elements of LW0 (isa.md 9.3)
    HALF_VECTOR = auto()  # MAU in half precision: accumulators and results are 2LW
    MATRIX = auto()  # the four PEs of a MAB are one vector (isa.md 9.4)


@dataclass(frozen=True, slots=True)
class Family:
    """`bits`: element width.  accumulator: number of the accumulator-type source, -1 without one.  wide: results (and
    accumulators) are 2LW.  narrow: results are narrowed by one level.  first_word: only w0 of the vector counts (fm*).
    """

    flow: Flow
    bits: int
    accumulator: int = -1
    wide: bool = False
    narrow: bool = False
    first_word: bool = False


@cache
def _table() -> dict[Kernel, Family]:
    families: dict[Kernel, Family] = {
        ZERO: Family(Flow.COPY, 64),
        IMM: Family(Flow.COPY, 64),
        MSL: Family(Flow.LEFT, 64),
        MSR: Family(Flow.RIGHT, 64),
    }
    alu = [(op, prec, kernel) for (op, prec, _), kernel in ALU_INT.items()]
    alu += [(op, prec, kernel) for (op, prec), kernel in ALU_FLOAT.items()]
    for op, prec, kernel in alu:
        families[kernel] = Family(Flow.COPY if op == "passa" else Flow.LANE, BITS[prec])
    for (prec, _, _), kernel in BFN.items():
        families[kernel] = Family(Flow.BLOCK, 32 if prec == "f" else 64, wide=prec == "h")
    accumulators = {"vfma": 2, "vadd": 1}
    for (op, prec, narrow, _), kernel in MAU_VECTOR.items():
        flow = Flow.HALF_VECTOR if prec == "h" else Flow.VECTOR
        families[kernel] = Family(flow, BITS[prec], accumulators.get(op, -1), prec == "h", narrow)
    for (op, prec, narrow, _), kernel in MAU_MATRIX.items():
        bits = 32 if prec == "h" else BITS[prec]
        families[kernel] = Family(Flow.MATRIX, bits, 1 if op == "mfma" else -1, prec == "h", narrow, prec == "f")
    return families


def family_of(kernel: Kernel) -> Family:
    """The family of an ALU or MAU kernel; one that is in no table counts as working on whole long words."""
    return _table().get(kernel, Family(Flow.LANE, 64))
