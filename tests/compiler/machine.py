"""Runs compiled programs on a simulated board for the compiler's tests, straight from DRAM image to DRAM image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.compiled import Compiled
from compiler.graph import encode
from compiler.iospec import IOSpec
from compiler.layout.image import DramImage
from hw.engine import execute
from hw.state import Board


def image_of(spec: IOSpec) -> DramImage:
    """How a value lies in DRAM."""
    return DramImage(spec.layout, spec.dtype)


def store(board: Board, spec: IOSpec, values: NDArray[Any]) -> None:
    """Put host values into DRAM as the program expects them."""
    image = image_of(spec)
    packed = image.pack(encode(np.asarray(values), spec.dtype), spec.pad_bits or 0)
    for group in range(4):
        board.dram[group][spec.addr : spec.addr + packed.shape[1]] = packed[group]


def load(board: Board, spec: IOSpec) -> NDArray[Any]:
    """Raw element bits of a value in DRAM."""
    image = image_of(spec)
    rows = np.stack([board.dram[group][spec.addr : spec.addr + image.lws_per_group] for group in range(4)])
    return image.unpack(rows)


def run(compiled: Compiled, feeds: Mapping[str, NDArray[Any]], board: Board | None = None) -> dict[str, NDArray[Any]]:
    """Raw outputs of one call."""
    board = board or Board()
    for name, spec in compiled.params.items():
        store(board, spec, compiled.values[name])
    for name, spec in compiled.inputs.items():
        store(board, spec, feeds[name])
    execute(compiled.program, board)
    return {name: load(board, spec) for name, spec in compiled.outputs.items()}
