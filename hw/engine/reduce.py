"""Runs a REDUCE kernel on numpy arrays, for the MV reductions."""

from __future__ import annotations

import ctypes

import numpy as np
from numpy.typing import NDArray

from hw.kernels.abi import Kernel

U64 = NDArray[np.uint64]
_CALL = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 7)


def run_circuit(kernel: Kernel, inputs: U64) -> U64:
    """Reduce uint64 [n][count] (contiguous) over axis 0 in one circuit; uint64 [count]."""
    count = inputs.shape[1]
    out = np.empty(count, np.uint64)
    parameters = np.zeros(8, np.int64)
    parameters[0], parameters[1] = inputs.shape
    source, target = inputs.ctypes.data, out.ctypes.data
    _CALL(kernel.address)(source, source, source, target, target, source, parameters.ctypes.data)
    return out
