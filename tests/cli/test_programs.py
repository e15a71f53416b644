"""run, asm, dis, judge, config: programs of a few lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from hw.model import simulate
from hw.spec import ChipSpec, default_spec
from isa.assemble import assemble
from isa.commands.judge import MARKER
from tests.cli.command import FIRST, command, ok, refused

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def first(tmp_path: Path) -> Path:
    path = tmp_path / "first.vsm"
    path.write_text(FIRST)
    return path


def test_run_prints_values_and_cycles(capsys: Capture, first: Path) -> None:
    result = ok(capsys, "run", first)
    dump = [line for line in result.out.splitlines() if line.startswith("DEBUG-LM1")]
    assert len(dump) == 4 and all("(4.5, 4.5)" in line for line in dump)
    assert "20 cycles" in result.out
    data = ok(capsys, "run", first, "--json").json
    assert data["dump"] == dump
    assert data["vsm_cycles"] == simulate(assemble(FIRST)).cycles == sum(data["by_cause"].values()) == 20


def test_run_on_another_chip(capsys: Capture, first: Path) -> None:
    assert ok(capsys, "run", first, "--json", "--set", "step.cycles=8").json["vsm_cycles"] == 40


def test_run_is_strict_unless_told(capsys: Capture, tmp_path: Path) -> None:
    hazard = tmp_path / "hazard.vsm"
    hazard.write_text('imm f"1.5" $lr0\nlpassa $lr0 $ln0\n')
    assert "error: line 2" in refused(capsys, 1, "run", hazard)
    accepted = ok(capsys, "run", hazard, "--permissive")
    assert "permissive" in accepted.err
    assert ok(capsys, "run", hazard, "--permissive", "--json").json["permissive"] is True
    stuck = tmp_path / "stuck.vsm"
    stuck.write_text("nop; wait i01\n")
    assert "line 1" in refused(capsys, 1, "run", stuck)
    assert ok(capsys, "run", stuck, "--permissive", "--json").json["vsm_cycles"] is None


def test_asm_and_dis_are_inverse(capsys: Capture, first: Path, tmp_path: Path) -> None:
    stream = tmp_path / "first.asm"
    printed = ok(capsys, "asm", first).out
    ok(capsys, "asm", first, "--out", stream)
    assert stream.read_text() == printed
    assert [line.split()[0] for line in printed.splitlines()] == ["j"] * 5 + ["d"]
    text = ok(capsys, "dis", stream).out
    assert text == ok(capsys, "dis", first).out  # canonical text of the source is the same program
    assert "fvfma $lr0 $ls0 $lr0 $ln0" in text
    data = ok(capsys, "asm", first, "--json").json
    assert (data["steps"], data["transfers"], data["stream"]) == (5, 0, printed.splitlines())
    assert ok(capsys, "dis", stream, "--json").json["lines"] == text.splitlines()


def test_asm_modes_and_hazards(capsys: Capture, first: Path, tmp_path: Path) -> None:
    assert ok(capsys, "asm", first, "--mode", "auto_stride").out.startswith("i ")
    hazard = tmp_path / "hazard.vsm"
    hazard.write_text('imm f"1.5" $lr0\nlpassa $lr0 $ln0\n')
    refused(capsys, 1, "asm", hazard)
    ok(capsys, "asm", hazard, "--no-hazards")


def test_a_stream_that_is_none(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "broken.asm"
    path.write_text("j 00\nxyz\n")
    assert "error: line 1" in refused(capsys, 1, "dis", path)


def test_judge(capsys: Capture, tmp_path: Path) -> None:
    case, right, wrong = tmp_path / "case", tmp_path / "right.vsm", tmp_path / "wrong.vsm"
    right.write_text('imm ui"7" $lr0\nnop/2\nlpassa $lr0 $ln0\n')
    wrong.write_text('imm ui"8" $lr0\nnop/2\nlpassa $lr0 $ln0\n')
    ok(capsys, "asm", right)
    case.write_text(f"{MARKER}\nd getf $ln0n0c0b0m0p0 1\n")
    result = ok(capsys, "judge", case, right)
    assert "ACCEPTED!! score=4 j=4 m=0" in result.out
    data = ok(capsys, "judge", case, right, "--json").json
    assert (data["accepted"], data["score"], data["steps"], data["transfers"]) == (True, 4, 4, 0)
    (tmp_path / "bad").write_text("nothing\n")
    assert "YOUR VSM WILL BE INSERTED" in refused(capsys, 1, "judge", tmp_path / "bad", wrong)


def test_config_has_all_numbers_with_their_source(capsys: Capture) -> None:
    spec = default_spec()
    data = ok(capsys, "config", "--json").json
    assert set(data["numbers"]) == set(spec.names())
    assert all(number["source"] and number["rank"] and number["unit"] for number in data["numbers"].values())
    table = ok(capsys, "config").out
    assert all(name in table for name in spec.names())
    assert spec.digest in table


def test_config_of_a_changed_chip(capsys: Capture) -> None:
    data = ok(capsys, "config", "l1bm", "--set", "l1bm.rate.*=x0.5", "--set", "mv.latency.dram=7", "--json").json
    assert {name: number["value"] for name, number in data["numbers"].items()} == {
        "l1bm.rate.l1bmp": 0.5,
        "l1bm.rate.l1bmm": 2,
        "l1bm.rate.l1bmm4": 8,
        "l1bm.rate.l1bmd": 32,
    }
    assert all(number["rank"] == "override" for number in data["numbers"].values())
    halved = {name: number["value"] for name, number in data["numbers"].items()}
    assert data["digest"] == ChipSpec.load({**halved, "mv.latency.dram": 7}).digest


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("config", "--set", "dram.bandwith=1"), "did you mean dram.bandwidth"),
        (("config", "--set", "dram.bandwidth"), "expected name=value"),
        (("config", "--set", "topology.groups=0.5"), "whole number"),
        (("config", "drum"), "no number is called 'drum'"),
        (("config", "--chip", "nowhere.toml"), "nowhere.toml"),
        (("run", "frist.vsm"), "there is no file frist.vsm"),
        (("run", "."), "is a folder"),
        (("sweeep",), "Did you mean 'sweep'"),
        (("run", "--permisive", "x"), "--permissive"),
        (("asm", "x", "--mode", "flach"), "flat"),
        (("report", "nowhere"), "there is no folder nowhere"),
    ],
)
def test_usage_errors_say_what_was_expected(
    capsys: Capture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert message in refused(capsys, 2, *arguments)


def test_a_similar_file_is_suggested(capsys: Capture, first: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(first.parent)
    assert "did you mean 'first.vsm'?" in refused(capsys, 2, "run", "frist.vsm")
    binary = first.parent / "binary.vsm"
    binary.write_bytes(b"nop\n\xff\xfe")
    assert "is no text file: byte 4" in refused(capsys, 2, "run", binary)


def test_an_error_of_ours_is_one_line_too(capsys: Capture, first: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object, **options: object) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr("hw.engine.execute", broken)
    message = refused(capsys, 1, "run", first, "--no-sanitize")
    assert message.startswith("internal error: ZeroDivisionError: oops")
    monkeypatch.setenv("MNCORE2_TRACEBACK", "1")
    with pytest.raises(ZeroDivisionError):
        command(capsys, "run", first, "--no-sanitize")


def test_run_refuses_to_read_what_nothing_wrote(capsys: Capture, tmp_path: Path) -> None:
    path = tmp_path / "unwritten.vsm"
    path.write_text("lpassa $lm0v $ls0v\n")
    assert "nothing has written" in refused(capsys, 1, "run", path)
    ok(capsys, "run", path, "--no-sanitize")
    ok(capsys, "run", path, "--permissive")


def test_every_verb_has_help(capsys: Capture) -> None:
    overview = ok(capsys, "--help").out
    for verb in ("run", "asm", "dis", "judge", "compile", "report", "trace", "sweep", "bench", "config"):
        assert f" {verb} " in overview
        assert "--json" in ok(capsys, verb, "--help").out
    assert command(capsys).code == 2
