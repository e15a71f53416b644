"""Fast stand-ins of value kernels, by kernel: `FAST[kernel]` gives the same bits without flags, on rows.

The engine uses them where a step needs no flags; every other case runs the kernel itself.  See `hw.kernels.fast_ir` for
how a row kernel finds its operands.
"""

from __future__ import annotations

from hw.kernels.abi import Kernel
from hw.kernels.fast_alu import FAST_ALU
from hw.kernels.fast_bfn import FAST_BFN
from hw.kernels.fast_half_matrix import FAST_HALF_MATRIX
from hw.kernels.fast_ir import RowKernel
from hw.kernels.fast_single_matrix import FAST_SINGLE_MATRIX
from hw.kernels.fast_vector import FAST_VECTOR

FAST: dict[Kernel, RowKernel] = {**FAST_ALU, **FAST_BFN, **FAST_VECTOR, **FAST_HALF_MATRIX, **FAST_SINGLE_MATRIX}
