"""What a problem is: its tensors with their places, the reference, the tolerance, and the published line counts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from traces.records_mnist.layout import Grid

Array = NDArray[np.generic]
R = "((8_L2B:1, 4:2, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))"
G = "((4_L2B:2, 64:2), (2:1, 4_PE:1, 2_W:1))"
V = "((4_L2B:2, 32:1, 2_W:1))"
W = "((16:2), (2:1, 4_PE:1, 2_W:1))"
DG = "((4_L2B:2, 64:8), (8:1, 2_W:1))"
D16 = "((4_L2B:2, 4:8), (8:1, 2_W:1))"
D1024 = "((4_L2B:2, 4:512), (512:1, 2_W:1))"
WIDE = "((16:1), (8_MAB:2, 8_L1B:1, 2_MAB:1, 4_PE:1, 2_W:1))"
WIDE_BATCH = "((8_L2B:1, 32:1), (8_MAB:2, 8_L1B:1, 2_MAB:1, 4_PE:1, 2_W:1))"


@dataclass(frozen=True)
class Tensor:
    """memory: "m" (LM0), "n" (LM1) or "d" (DRAM).  address: of the first element, in long words.  dtype: "Float"/"Int".

    group: for DRAM without an L2B axis the only group that counts; None means every group.
    """

    shape: tuple[int, ...]
    layout: str
    memory: str
    address: int = 0
    dtype: str = "Float"
    group: int | None = None

    @property
    def groups(self) -> range:
        """DRAM groups that hold the tensor or its copies."""
        return range(4) if self.group is None else range(self.group, self.group + 1)

    @property
    def grid(self) -> Grid:
        return _grid(self.shape, self.layout)

    def words(self, values: Array) -> NDArray[np.uint32]:
        """The 32-bit patterns of the values."""
        kind = np.float32 if self.dtype == "Float" else np.int32
        return np.ascontiguousarray(values.astype(kind)).view(np.uint32)


_GRIDS: dict[tuple[tuple[int, ...], str], Grid] = {}


def _grid(shape: tuple[int, ...], layout: str) -> Grid:
    return _GRIDS.setdefault((shape, layout), Grid(shape, layout))


Make = Callable[[np.random.Generator], list[Array]]


@dataclass(frozen=True)
class Problem:
    """One problem.

    make: random inputs.  expect: the reference result (float64 or int64).  atol: 0 demands equal values (zeros of both
    signs are equal).  par, top: published line counts, None if unknown.  assumed: what the page does not state.
    """

    name: str
    inputs: tuple[Tensor, ...]
    output: Tensor
    make: Make
    expect: Callable[..., Array]
    atol: float = 0.0
    par: int | None = None
    top: int | None = None
    assumed: str = ""
