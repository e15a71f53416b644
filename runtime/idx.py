"""The IDX file format of the MNIST digits: reading it with every check that the header allows."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path

import numpy as np

from runtime.errors import DataError

UNSIGNED_BYTE = 0x08


def read_idx(path: Path, dimensions: int) -> np.ndarray:
    """Read an IDX file (plain, or gzip if the name ends in .gz) of unsigned bytes with that many dimensions.

    Returns uint8 of the shape in the header.  Raises DataError if the file is missing, truncated or of another kind.
    """
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"cannot read the IDX file {path}: {error}") from error
    header = 4 + 4 * dimensions
    if len(raw) < header or raw[:2] != b"\0\0" or raw[2] != UNSIGNED_BYTE or raw[3] != dimensions:
        raise DataError(
            f"{path} is not an IDX file of unsigned bytes with {dimensions} dimensions (starts {raw[:4].hex()})"
        )
    shape = tuple(int(n) for n in np.frombuffer(raw, ">u4", dimensions, 4))
    if len(raw) != header + math.prod(shape):
        raise DataError(f"{path} promises {shape}, i.e. {header + math.prod(shape)} bytes, but has {len(raw)}")
    return np.frombuffer(raw, np.uint8, offset=header).reshape(shape).copy()
