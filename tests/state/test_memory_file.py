"""Memory files: order and byte order of the memories, holes, and files of the wrong size."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hw.spec import ChipSpec
from hw.state import Board
from hw.state.memory_file import MemoryFileError, load_memory, save_memory

PDM, DRAM, L2BM = 1024, 1 << 20, 512


def _board() -> Board:
    return Board(ChipSpec.load({"capacity.pdm": PDM, "capacity.dram": DRAM, "capacity.l2bm": L2BM}))


def test_order_of_the_memories(tmp_path: Path) -> None:
    board = _board()
    for group in range(4):
        board.dram[group][DRAM - 1] = 0x1100 + group
        board.pdm[group, 1] = 0x2200 + group
    for l2b in range(8):
        board.l2bm[l2b, 2] = 0x3300 + l2b
    board.l1bm[:] = 5
    save_memory(board, tmp_path / "m.bin")
    words = np.fromfile(tmp_path / "m.bin", ">u8")
    assert len(words) == 4 * DRAM + 4 * PDM + 8 * L2BM
    expected = {(group + 1) * DRAM - 1: 0x1100 + group for group in range(4)}
    expected |= {4 * DRAM + PDM * k + 1: 0x2201 + k for k in range(3)}
    expected |= {4 * DRAM + 3 * PDM + L2BM * q + 2: 0x3300 + q for q in range(8)}
    expected |= {4 * DRAM + 3 * PDM + 8 * L2BM + 1: 0x2200}
    assert {int(k): int(words[k]) for k in np.nonzero(words)[0]} == expected
    assert [path.name for path in tmp_path.iterdir()] == ["m.bin"]


@pytest.mark.parametrize("sparse", [True, False])
def test_round_trip(tmp_path: Path, sparse: bool) -> None:
    rng = np.random.default_rng(7)
    board = _board()
    for memory in (*board.dram, *board.pdm, *board.l2bm):
        at = rng.integers(0, len(memory), 50)
        memory[at] = rng.integers(0, 2**64, 50, dtype=np.uint64)
    path = tmp_path / "m.bin"
    save_memory(board, path)
    if not sparse:
        path.write_bytes(path.read_bytes() + b"tail is ignored")
    loaded = _board()
    loaded.l2bm.fill(9)
    load_memory(loaded, path)
    assert all((a == b).all() for a, b in zip(board.dram, loaded.dram, strict=True))
    assert (board.pdm == loaded.pdm).all() and (board.l2bm == loaded.l2bm).all()


def test_files_that_cannot_be_used(tmp_path: Path) -> None:
    path = tmp_path / "short.bin"
    path.write_bytes(bytes(4096))
    with pytest.raises(MemoryFileError, match=r"short\.bin has 4096 bytes, the board's memories have"):
        load_memory(_board(), path)
    with pytest.raises(FileNotFoundError):
        load_memory(_board(), tmp_path / "none.bin")
    with pytest.raises(FileNotFoundError):
        save_memory(_board(), tmp_path / "no folder" / "m.bin")
