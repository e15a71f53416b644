"""Host arrays to DRAM and back, through real layouts of the seed's listing."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.graph.mntype import MNType, OnnxType
from compiler.iospec import IOSpec
from compiler.layout import PadLayout
from hw.state import Board
from runtime.errors import DTypeMismatchError, ShapeMismatchError, ValueRangeError
from runtime.transfer import download, image_of, read_image, upload

CASES = {
    "x": IOSpec(
        "x",
        (125, 1, 32, 32),
        OnnxType.FLOAT32,
        MNType.HALF,
        PadLayout.parse("(125,1,32,32)/((8_L2B:1, 8_L1B:1, 2:1), (), (16_MAB:1, 2:4), (2:2, 4_W:1, 4_PE:1))"),
        1024,
        0,
    ),
    "t": IOSpec(
        "t",
        (125,),
        OnnxType.INT64,
        MNType.INT,
        PadLayout.parse("(125)/((8_L2B:1, 8_L1B:1, 1:1, 2_W:1); B@[PE,MAB])"),
        0,
        0,
    ),
    "bias": IOSpec(
        "bias",
        (256,),
        OnnxType.FLOAT32,
        MNType.FLOAT,
        PadLayout.parse("(256)/((16_MAB:1, 2:1, 2_W:1, 4_PE:1); B@[L1B,L2B])"),
        25600,
        0,
    ),
}


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


def sample(spec: IOSpec) -> np.ndarray:
    rng = np.random.default_rng(1)
    if spec.onnx_dtype is OnnxType.INT64:
        return rng.integers(-(2**31), 2**31, spec.shape)
    # Values that the half format holds, so that the round trip is exact.
    return (rng.integers(-512, 512, spec.shape) / 64).astype(np.float32)


@pytest.mark.parametrize("name", CASES)
def test_round_trip(board: Board, name: str) -> None:
    spec, array = CASES[name], sample(CASES[name])
    upload(board, spec, array)
    back = download(board, spec)
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)


def test_another_address(board: Board) -> None:
    spec, array = CASES["t"], sample(CASES["t"])
    upload(board, spec, array, addr=1 << 20)
    np.testing.assert_array_equal(download(board, spec, addr=1 << 20), array)
    upload(board, spec, array * 0)
    np.testing.assert_array_equal(download(board, spec, addr=1 << 20), array)


def test_only_the_slot_is_written() -> None:
    board = Board()
    spec = CASES["x"]
    size = image_of(spec).lws_per_group
    upload(board, spec, np.ones(spec.shape, np.float32))
    for group in range(4):
        dram = board.dram[group]
        assert not dram[: spec.addr].any() and not dram[spec.addr + size : spec.addr + 2 * size].any()
        assert dram[spec.addr : spec.addr + size].any()


def test_padding_is_filled(board: Board) -> None:
    plain = CASES["bias"]
    layout = PadLayout.parse("(250)/((16_MAB:1, 2:1, 2_W:1, 4_PE:1); B@[L1B,L2B])")
    inf = IOSpec("b", (250,), plain.onnx_dtype, plain.dtype, layout, 0, 0x7F800000)
    upload(board, inf, np.ones(250, np.float32))
    words = read_image(board, inf).view(np.uint32)
    assert set(np.unique(words)) == {0x3F800000, 0x7F800000}


def test_rounding_to_half(board: Board) -> None:
    spec = CASES["x"]
    upload(board, spec, np.full(spec.shape, 1 + 2**-11, np.float32))
    assert download(board, spec).max() == 1


def test_errors_are_typed_and_say_what_is_wrong(board: Board) -> None:
    spec = CASES["t"]
    with pytest.raises(ShapeMismatchError, match=r"t: expected shape \(125,\), got \(124,\)"):
        upload(board, spec, np.zeros(124, np.int64))
    with pytest.raises(DTypeMismatchError, match="t: expected dtype int64, got float32"):
        upload(board, spec, np.zeros(125, np.float32))
    with pytest.raises(ValueRangeError, match=r"t: element \[7\] = 4294967296"):
        upload(board, spec, np.where(np.arange(125) == 7, 2**32, 0))
