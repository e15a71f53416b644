"""gpfn3-smi: what it prints, what it refuses, and what a cleared board holds when somebody opens it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from runtime.boards import clear_board, read_fill
from runtime.device import open_device
from runtime.errors import DeviceError, SettingError
from runtime.locks import BoardLock
from runtime.settings import SAMPLE_NAMES, Settings
from runtime.smi import main

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def locks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MNCORE2_RUNTIME_DIR", str(tmp_path / "boards"))
    monkeypatch.delenv("MNCORE2_BOARDS", raising=False)
    return tmp_path / "boards"


def test_list_has_a_line_per_board(capsys: Capture, locks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert main(["list"]) == 0
    assert capsys.readouterr().out == "".join(f"{k}: {name}\n" for k, name in enumerate(SAMPLE_NAMES))
    monkeypatch.setenv("MNCORE2_BOARDS", "left, right")
    assert main(["list"]) == 0
    assert capsys.readouterr().out == "0: left\n1: right\n"
    monkeypatch.setenv("MNCORE2_BOARDS", "10")
    assert main(["list"]) == 0
    names = [line.split(": ")[1] for line in capsys.readouterr().out.splitlines()]
    assert len(set(names)) == 10
    assert not locks.exists()


@pytest.mark.parametrize("text", ["a,a", "a,7", "a,", "a,b c", "lonely"])
def test_names_that_cannot_be(text: str) -> None:
    with pytest.raises(SettingError, match="MNCORE2_BOARDS"):
        Settings.load({"MNCORE2_BOARDS": text})


@pytest.mark.parametrize(
    ("arguments", "pattern", "seed"),
    [
        (["--pattern", "0x5555555555555555", "0"], 0x5555555555555555, None),
        (["-pattern=18446744073709551615", "0"], 2**64 - 1, None),
        (["-zero", "mnc2p27s0"], 0, None),
        (["0", "--zero"], 0, None),
        (["--seed", "1234", "0"], None, 1234),
        (["-seed=7", "0"], None, 7),
    ],
)
def test_clear_in_all_spellings(
    capsys: Capture, locks: Path, arguments: list[str], pattern: int | None, seed: int | None
) -> None:
    assert main(["clear", *arguments]) == 0
    fill = read_fill(locks, 0)
    assert fill is not None and (fill.pattern, fill.seed) == (pattern, seed)
    assert main(["list", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out.split("\n", 1)[1])
    assert rows[0]["fill"] == {"pattern": pattern, "seed": seed} and rows[1]["fill"] is None
    assert main(["reset", "0"]) == 0
    assert read_fill(locks, 0) is None


def test_random_bytes_differ_from_time_to_time(capsys: Capture, locks: Path) -> None:
    fills = []
    for _ in range(3):
        assert main(["clear", "1"]) == 0
        fills.append(read_fill(locks, 1))
    assert len({fill.seed for fill in fills if fill is not None}) == 3


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ([], 2, "Usage"),
        (["lits"], 2, "did you mean 'list'"),
        (["list", "0"], 2, "takes no device"),
        (["reset"], 2, "none is given"),
        (["reset", "0", "1"], 2, "got 0 1"),
        (["reset", "-zero", "0"], 2, "unknown option '-zero'"),
        (["reset", "8"], 1, "numbered 0 to 7"),
        (["reset", "mnc2p28s1"], 1, "did you mean 'mnc2p28s0'"),
        (["clear", "--patern", "1", "0"], 2, "did you mean 'pattern'"),
        (["clear", "-zero=1", "0"], 2, "takes no value"),
        (["clear", "-zero", "-seed", "1", "0"], 2, "exclude each other"),
        (["clear", "-seed", "1", "-seed", "1", "0"], 2, "given twice"),
        (["clear", "-seed"], 2, "needs a value"),
        (["clear", "-seed", "-1", "0"], 2, "whole number from 0"),
        (["clear", "-pattern", "0x10000000000000000", "0"], 2, "whole number from 0"),
        (["clear", "-pattern", "abc", "0"], 2, "whole number from 0"),
    ],
)
def test_what_is_refused(capsys: Capture, locks: Path, arguments: list[str], code: int, said: str) -> None:
    assert main(arguments) == code
    assert said in capsys.readouterr().err
    assert not list(locks.glob("*.json"))


@pytest.mark.parametrize("dashes", ["-", "--"])
@pytest.mark.parametrize("verb", ["", "list", "reset", "clear"])
def test_help(capsys: Capture, verb: str, dashes: str) -> None:
    assert main([*([verb] if verb else []), f"{dashes}help"]) == 0
    out = capsys.readouterr().out
    assert f"Usage: gpfn3-smi {verb or '<command>'}" in out


@pytest.mark.parametrize("verb", [["reset"], ["clear", "-zero"]])
def test_a_held_board_is_left_alone_and_its_holder_named(capsys: Capture, locks: Path, verb: list[str]) -> None:
    with BoardLock(locks, 2):
        assert main([*verb, "2"]) == 1
        assert f"board 2 is in use by process {os.getpid()}" in capsys.readouterr().err
        assert main(["list", "-json"]) == 0
        holders = [row["holder"] for row in json.loads(capsys.readouterr().out)]
        assert holders == [None, None, os.getpid(), *[None] * 5]
    assert main([*verb, "2"]) == 0


def test_other_processes_see_the_same_boards(locks: Path) -> None:
    command = [sys.executable, "-m", "runtime.smi"]
    subprocess.run([*command, "clear", "-seed", "3", "4"], check=True, capture_output=True)
    fill = read_fill(locks, 4)
    assert fill is not None and fill.seed == 3


def test_a_damaged_file_is_said_and_reset_helps(capsys: Capture, locks: Path) -> None:
    locks.mkdir()
    (locks / "board0.fill.json").write_text('{"pattern": -1, "seed": null}')
    with pytest.raises(DeviceError, match="gpfn3-smi reset 0"):
        open_device("mncore2:0")
    assert main(["list", "--json"]) == 1
    assert "is damaged" in capsys.readouterr().err
    assert main(["reset", "0"]) == 0
    open_device("mncore2:0").close()


def test_a_board_opens_with_what_clear_left(locks: Path) -> None:
    from hw.state.fill import Fill
    from runtime.board_device import BoardDevice

    clear_board(Settings.load(), 0, Fill(pattern=0x5555555555555555))
    device = open_device("mncore2:0")
    assert isinstance(device, BoardDevice)
    board = device.executor.board
    assert (board.l2bm == 0x5555555555555555).all() and board.dram[3][-1] == 0x5555555555555555
    device.close()
    emulator = open_device("emu2")
    assert isinstance(emulator, BoardDevice)
    assert not emulator.executor.board.l2bm.any()


def test_a_compiled_function_does_not_care_what_the_memories_held(locks: Path, tmp_path: Path) -> None:
    import torch

    from mlsdk import Context, MNDevice, storage

    values = torch.randn(13, 7)
    results = []
    for fill in (None, ["-seed", "5"], ["-pattern", "0xffffffffffffffff"]):
        if fill is not None:
            assert main(["clear", *fill, "0"]) == 0
        with MNDevice("mncore2:0") as device:
            context, path = Context(device), storage.path(str(tmp_path / "f"))
            if fill is None:
                function = context.compile(
                    lambda given: {"y": torch.relu(given["x"]).sum(dim=1)}, {"x": values}, path, training=False
                )
            else:
                function = context.load_codegen_dir(path)
            results.append(function({"x": values})["y"].cpu())
    assert all(torch.equal(result, results[0]) for result in results)
    torch.testing.assert_close(results[0], torch.relu(values).sum(dim=1), rtol=1e-2, atol=1e-2)
