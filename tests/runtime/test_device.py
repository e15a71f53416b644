"""Device strings, board locks and settings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from runtime.device import open_device
from runtime.errors import DeviceBusyError, DeviceError, SettingError, UnknownDeviceError
from runtime.locks import BoardLock, lock_board
from runtime.settings import DEFAULT_BOARDS, Settings


@pytest.fixture
def two_boards(tmp_path: Path) -> Settings:
    return Settings(cache=tmp_path, data=None, locks=tmp_path / "locks", boards=2)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("mncore2", "mncore2:auto"),
        ("mncore2:", "mncore2:auto"),
        ("mncore2:-1", "mncore2:0"),
        ("MNCORE2:AUTO", "mncore2:auto"),
        ("mncore:auto", "mncore2:auto"),
        ("mncore2:auto:0", "mncore2:auto"),
        ("pfvm", "pfvm:cpu"),
        ("pfvm:cup", "pfvm:cpu"),
        ("pfvm:cpu:0", "pfvm:cpu"),
        ("pfvm:cuda:x", "pfvm:cuda:0"),
        ("emu", "emu2"),
        ("emu2:0", "emu2"),
    ],
)
def test_unknown_strings_name_the_nearest(name: str, hint: str, two_boards: Settings) -> None:
    with pytest.raises(UnknownDeviceError, match=f"did you mean '{hint}'") as caught:
        open_device(name, two_boards)
    assert "known forms: mncore2:auto" in str(caught.value)
    assert isinstance(caught.value, (ValueError, DeviceError))


def test_hopeless_strings(two_boards: Settings) -> None:
    with pytest.raises(UnknownDeviceError, match="known forms"):
        open_device("", two_boards)
    with pytest.raises(UnknownDeviceError, match="not by int"):
        open_device(0, two_boards)  # type: ignore[arg-type]


def test_auto_takes_the_lowest_free_board(two_boards: Settings) -> None:
    first = open_device("mncore2:auto", two_boards)
    second = open_device("mncore2:auto", two_boards)
    with pytest.raises(DeviceBusyError, match="all 2 boards are in use"):
        open_device("mncore2:auto", two_boards)
    with pytest.raises(DeviceBusyError, match="board 1 is in use by process"):
        open_device("mncore2:1", two_boards)
    first.close()
    again = open_device("mncore2:0", two_boards)
    again.close()
    second.close()


def test_index_out_of_range(two_boards: Settings) -> None:
    with pytest.raises(DeviceError, match="numbered 0 to 1"):
        open_device("mncore2:2", two_boards)


def test_emulators_need_no_board(two_boards: Settings) -> None:
    for _ in range(3):
        assert open_device("emu2", two_boards).uses_chip
    assert not two_boards.locks.exists()


def test_missing_gpu_is_said(two_boards: Settings) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    for name in ("pfvm:cuda", "pfvm:cuda:1", "pfvm:gpu"):
        with pytest.raises(DeviceError, match="use 'pfvm:cpu'"):
            open_device(name, two_boards)


def test_closed_device_refuses_work(two_boards: Settings) -> None:
    device = open_device("mncore2:0", two_boards)
    device.close()
    device.close()
    import torch

    with pytest.raises(DeviceError, match="was closed"):
        device.tensor(torch.zeros(1))


def test_lock_excludes_other_processes_and_dies_with_its_holder(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from runtime.locks import BoardLock\n"
        f"lock = BoardLock(Path({str(tmp_path)!r}), 0); print('held', flush=True); sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None and holder.stdout.readline() == "held\n"
        with pytest.raises(DeviceBusyError, match=f"process {holder.pid};"):
            BoardLock(tmp_path, 0)
        with lock_board(tmp_path, None, 2) as lock:
            assert lock.index == 1
        holder.kill()  # a crash: nothing is cleaned up by the holder itself
    BoardLock(tmp_path, 0).release()


def test_lock_is_released_by_garbage_collection(tmp_path: Path) -> None:
    lock = BoardLock(tmp_path, 0)
    del lock
    BoardLock(tmp_path, 0).release()


def test_lock_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DeviceError, match="cannot create the board lock"):
        BoardLock(tmp_path / "file", 0)


def test_settings() -> None:
    plain = Settings.load({})
    assert plain.boards == DEFAULT_BOARDS and plain.data is None
    assert plain.cache == Path.home() / ".cache" / "mncore2"
    changed = Settings.load(
        {"MNCORE2_CACHE": "~/c", "MNCORE2_DATA": "/d", "MNCORE2_RUNTIME_DIR": "/r", "MNCORE2_BOARDS": "3"}
    )
    assert changed == Settings(Path.home() / "c", Path("/d"), Path("/r"), 3)
    for text in ("0", "-1", "two"):
        with pytest.raises(SettingError, match="MNCORE2_BOARDS"):
            Settings.load({"MNCORE2_BOARDS": text})


def test_default_lock_folder_follows_the_login(tmp_path: Path) -> None:
    assert Settings.load({"XDG_RUNTIME_DIR": str(tmp_path)}).locks == tmp_path / "mncore2"
    assert "mncore2-" in str(Settings.load({"XDG_RUNTIME_DIR": "/nonexistent"}).locks)
