"""A quantity over time beside the spans: bandwidth, utilisation, occupancy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Counter:
    """`values[i]` in `unit` holds from cycle `cycles[i]` to `cycles[i+1]`; shown in `process` under heading `group`."""

    process: str
    group: str
    name: str
    unit: str
    cycles: NDArray[np.int64]
    values: NDArray[np.float64]
