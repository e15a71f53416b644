"""Host arrays into the device layout in board DRAM and back (H2D and D2H).

The transposition into the layout happens on the host, as in the vendor's runtime; the image lands in the DRAM
arrays directly.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from compiler.graph.dtypes import decode, encode
from compiler.graph.errors import DtypeError
from compiler.graph.mntype import MNType
from compiler.iospec import IOSpec
from compiler.layout import PadLayout
from compiler.layout.image import DramImage
from runtime.errors import DTypeMismatchError, ShapeMismatchError, ValueRangeError

if TYPE_CHECKING:
    from hw.state import Board


def upload(board: Board, spec: IOSpec, array: np.ndarray, *, addr: int | None = None) -> None:
    """Write `array` (shape and framework dtype of the spec) into DRAM at the spec's address or at `addr`.

    Padding is filled with the spec's padding element.  Raises ShapeMismatchError, DTypeMismatchError or
    ValueRangeError.
    """
    write_image(board, spec, pack(spec, array), addr=addr)


def download(board: Board, spec: IOSpec, *, addr: int | None = None) -> np.ndarray:
    """Read the tensor back from the spec's address or from `addr`, in the spec's shape and framework dtype."""
    raw = image_of(spec).unpack(read_image(board, spec, addr=addr))
    try:
        return decode(raw, spec.dtype, spec.onnx_dtype.numpy)
    except DtypeError as error:
        raise ValueRangeError(f"{spec.name}: {error}") from error


def pack(spec: IOSpec, array: np.ndarray) -> np.ndarray:
    """The DRAM image of `array`: uint64 (4 groups, long words)."""
    if array.shape != spec.shape:
        raise ShapeMismatchError(f"{spec.name}: expected shape {spec.shape}, got {array.shape}")
    if array.dtype != spec.onnx_dtype.numpy:
        raise DTypeMismatchError(f"{spec.name}: expected dtype {spec.onnx_dtype.numpy}, got {array.dtype}")
    try:
        raw = encode(array, spec.dtype)
    except DtypeError as error:
        raise ValueRangeError(f"{spec.name}: {error}") from error
    return image_of(spec).pack(raw, spec.pad_bits or 0)


def write_image(board: Board, spec: IOSpec, image: np.ndarray, *, addr: int | None = None) -> None:
    """Put a finished image into DRAM."""
    start = spec.addr if addr is None else addr
    for group in range(4):
        board.dram[group][start : start + image.shape[1]] = image[group]


def read_image(board: Board, spec: IOSpec, *, addr: int | None = None) -> np.ndarray:
    """Copy a tensor's image out of DRAM: uint64 (4 groups, long words)."""
    start = spec.addr if addr is None else addr
    length = image_of(spec).lws_per_group
    return np.stack([board.dram[group][start : start + length] for group in range(4)])


def image_of(spec: IOSpec) -> DramImage:
    """The image description of a tensor; equal layouts share one, with its index tables."""
    return _image(spec.layout, spec.dtype)


@lru_cache(maxsize=1024)
def _image(layout: PadLayout, dtype: MNType) -> DramImage:
    return DramImage(layout, dtype)
