"""Options: precedence, errors, presets, the written option.json, and the generated page (seed 4.2, compiler.md 9)."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from compiler.options import COMMAND_LINE, ENVIRONMENT, PRESETS, RECORDS, OptionError, Options, find_option_file
from compiler.options.document import document

ROOT = Path(__file__).parents[2]


def write(folder: Path, content: Any, name: str = "options.json") -> str:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return str(path)


def test_defaults() -> None:
    options = Options.resolve({}, {})
    assert options["scheduler"] == "reuse_consecutive"
    assert options["float_dtype"] == "mixed"
    assert options["sram_budget"] == 1.0
    assert options["out_onnx"] is None
    assert options["CODEGEN_SA_STEPS"] == 1_000_000
    assert options["CODEGEN_USE_MERGE"] == 1
    assert options.origin("scheduler") == "default"
    assert not options.settings


def test_direct_option_beats_file_and_later_argument_beats_earlier(tmp_path: Path) -> None:
    args = ["--scheduler=spill_opt", "--float_dtype=half", "--scheduler=always_from_dram", "--sram_budget=0.5"]
    path = write(tmp_path, {"args": args})
    options = Options.resolve({"option_json": path, "float_dtype": "float"}, {})
    assert options["scheduler"] == "always_from_dram" and options.origin("scheduler") == path
    assert options["float_dtype"] == "float" and options.origin("float_dtype") == "options"
    assert options["sram_budget"] == 0.5


def test_nested_option_json_is_ignored(tmp_path: Path) -> None:
    inner = write(tmp_path, {"args": ["--scheduler=spill_opt"]}, "inner.json")
    outer = write(tmp_path, {"args": [f"--option_json={inner}", "--float_dtype=half"]})
    options = Options.resolve({"option_json": outer}, {})
    assert options["scheduler"] == "reuse_consecutive" and options["float_dtype"] == "half"


def test_process_beats_options_envs_beats_file(tmp_path: Path) -> None:
    envs = {
        "CODEGEN_SA_STEPS": 1,
        "CODEGEN_MAX_TIME_SLICE": "2",
        "CODEGEN_NUM_SA_THREADS": 3,
        "CODEGEN_USE_MERGE": True,
    }
    path = write(tmp_path, {"envs": envs})
    given = {"CODEGEN_SA_STEPS": 10, "CODEGEN_MAX_TIME_SLICE": "20"}
    options = Options.resolve({"option_json": path, "envs": given}, {"CODEGEN_SA_STEPS": "100", "HOME": "/"})
    assert [options[name] for name in envs] == [100, 20, 3, True]
    assert [options.origin(name) for name in envs] == ["environment", 'options["envs"]', path, path]


def test_kinds_of_values() -> None:
    options = Options.resolve(
        {"out_onnx": Path("/a/b.onnx"), "sram_budget": "0.25", "sa_expected_run_iters": "7", "backprop": True},
        {"CODEGEN_OP_DEF": "Gather=GatherReduce,ChainerIndexAdd=IndexAddBcast", "CODEGEN_OPS_ON_HOST": "Exp, Log"},
    )
    assert options["out_onnx"] == "/a/b.onnx"
    assert options["sram_budget"] == 0.25 and options["sa_expected_run_iters"] == 7 and options["backprop"] is True
    assert options["CODEGEN_OP_DEF"] == {"Gather": "GatherReduce", "ChainerIndexAdd": "IndexAddBcast"}
    assert options["CODEGEN_OPS_ON_HOST"] == ("Exp", "Log")


def test_none_means_not_given() -> None:
    assert not Options.resolve(
        {"option_json": None, "envs": None, "scheduler": None}, {"CODEGEN_USE_MERGE": ""}
    ).settings


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"schedular": "spill_opt"}, "no option 'schedular'.*did you mean 'scheduler'"),
        (
            {"scheduler": "spil_opt"},
            "scheduler must be one of always_from.*got 'spil_opt'.*did you mean 'spill_opt'",
        ),
        ({"sram_budget": 1.5}, "sram_budget must be a number from 0 to 1, got 1.5"),
        ({"sram_budget": float("nan")}, "a number from 0 to 1"),
        ({"sa_expected_run_iters": -1}, "a whole number of at least 0"),
        ({"sa_expected_run_iters": 1.5}, "a whole number"),
        ({"sa_expected_run_iters": True}, "a whole number"),
        ({"out_onnx": 3}, "out_onnx must be a path"),
        ({"backprop": "maybe"}, "true or false"),
        ({"CODEGEN_USE_MERGE": "1"}, r'options\["envs"\]\["CODEGEN_USE_MERGE"\]'),
        ({"envs": {"CODEGEN_USE_MERG": "1"}}, "no variable 'CODEGEN_USE_MERG'.*did you mean 'CODEGEN_USE_MERGE'"),
        ({"envs": {"CODEGEN_SA_STEPS": "many"}}, "CODEGEN_SA_STEPS must be a whole number of at least 0, got 'many'"),
        ({"envs": {"CODEGEN_USE_MERGE": False}}, "leave it out to switch it off"),
        ({"envs": ["CODEGEN_USE_MERGE"]}, "envs: expected a mapping"),
        ({"envs": {"CODEGEN_OP_DEF": "Gather"}}, "Operator=Implementation"),
    ],
)
def test_wrong_options(options: dict[str, Any], words: str) -> None:
    with pytest.raises(OptionError, match=words):
        Options.resolve(options, {})


def test_wrong_environment() -> None:
    with pytest.raises(OptionError, match="environment: CODEGEN_MAX_TIME_SLICE must be a whole number") as caught:
        Options.resolve({}, {"CODEGEN_MAX_TIME_SLICE": "0"})
    assert caught.value.option == "CODEGEN_MAX_TIME_SLICE"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"args": [\n  "--a=b",\n]}', r"options.json:\d+:\d+: not valid JSON"),
        ("", r"options.json:1:1: not valid JSON"),
        ([1], "expected an object.*got a list"),
        ({"arg": []}, "unknown key 'arg'.*did you mean 'args'"),
        ({"envs": []}, "'envs' must be an object"),
        ({"args": {}}, "'args' must be a list"),
        ({"name": 3}, "'name' must be a string, got a number"),
        ({"args": ["--scheduler"]}, r"args\[0\] must be a string '--<option>=<value>', got \"--scheduler\""),
        ({"args": ["scheduler=spill_opt"]}, r"args\[0\]"),
        ({"args": [3]}, r"args\[0\].*got 3"),
        ({"args": ["--schedule=spill_opt"]}, "options.json: there is no option 'schedule'.*'scheduler'"),
        ({"args": ["--sram_budget=2"]}, "options.json: sram_budget must be"),
        ({"envs": {"PFVM_DISABLE_CONSTANT_REUS": 1}}, "options.json: there is no variable"),
    ],
)
def test_wrong_files(tmp_path: Path, content: Any, words: str) -> None:
    path = write(tmp_path, content)
    with pytest.raises(OptionError, match=words) as caught:
        Options.resolve({"option_json": path}, {})
    assert path in str(caught.value)


def test_unreadable_files(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"there is no file .*absent\.json"):
        Options.resolve({"option_json": str(tmp_path / "absent.json")}, {})
    with pytest.raises(OptionError, match="cannot be read"):
        Options.resolve({"option_json": str(tmp_path)}, {})
    path = tmp_path / "latin.json"
    path.write_bytes(b'{"name": "\xe4"}')
    with pytest.raises(OptionError, match="not UTF-8 text: byte 10"):
        Options.resolve({"option_json": path}, {})


@pytest.mark.parametrize("preset", PRESETS)
def test_presets(preset: str) -> None:
    for path in (preset, f"{preset}.json", f"/absent/codegen/preset_options/{preset}.json"):
        options = Options.resolve({"option_json": path}, {})
        assert options.name == preset
        assert options.origin("scheduler") == str(find_option_file(path))
    expected = {"O0": "reuse_consecutive", "debug": "always_from_dram"}.get(preset, "auto_recompute_sa")
    assert options["scheduler"] == expected


def test_presets_grow_and_only_debug_links_layers_apart() -> None:
    steps = [Options.resolve({"option_json": name}, {})["CODEGEN_SA_STEPS"] for name in ("O1", "O2", "O3", "O4")]
    assert steps == sorted(steps)
    names = ("debug", "O0", "O1", "O2", "O3", "O4")
    assert [Options.resolve({"option_json": name}, {})["CODEGEN_USE_MERGE"] for name in names] == [0, 1, 1, 1, 1, 1]


def test_misspelt_preset() -> None:
    with pytest.raises(OptionError, match="did you mean 'debug'"):
        find_option_file("debg")


def test_written_file_reproduces_the_options(tmp_path: Path) -> None:
    given = {
        "option_json": "O3",
        "float_dtype": "double",
        "out_onnx": str(tmp_path / "pfvm.onnx"),
        "backprop": True,
        "envs": {"GLOG_v": 1, "CODEGEN_OP_DEF": "Gather=GatherBcast", "CODEGEN_OPS_ON_HOST": "Exp,Log"},
    }
    options = Options.resolve(given, {"CODEGEN_MAX_TIME_SLICE": "400"})
    target = tmp_path / "option.json"
    options.write(target)
    assert [path.name for path in tmp_path.iterdir()] == ["option.json"]
    again = Options.resolve({"option_json": target}, {})
    names = [name for name in RECORDS if name != "option_json"]
    assert [again[name] for name in names] == [options[name] for name in names]
    assert again.foreign == {"GLOG_v": "1"} and again.name == "O3"
    assert again.to_option_json() == options.to_option_json()


def test_failed_write_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any, **kwargs: Any) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(json, "dump", broken)
    with pytest.raises(OSError, match="disk full"):
        Options.resolve({}, {}).write(tmp_path / "option.json")
    assert not list(tmp_path.iterdir())


def test_settings_without_effect_are_listed() -> None:
    options = Options.resolve({"option_json": "debug"}, {"CODEGEN_AUTO_RECOMPUTE_HACK_FOR_QWEN": "1"})
    listed = options.without_effect()
    assert listed == sorted(listed)
    assert "CODEGEN_AUTO_RECOMPUTE_HACK_FOR_QWEN" in listed
    assert all(RECORDS[name].used_in is None for name in listed)


def test_every_option_has_an_effect_or_a_reason_for_having_none() -> None:
    for record in RECORDS.values():
        assert record.used_in or record.note, record.name
        if record.used_in:
            assert (ROOT / record.used_in).exists(), record.name


def test_notices_leave_out_what_a_preset_sets() -> None:
    assert Options.resolve({"option_json": "debug"}, {}).notices() == []
    options = Options.resolve({"option_json": "debug"}, {"CODEGEN_OPS_ON_HOST": "Exp"})
    assert [notice.split()[0] for notice in options.notices()] == ["CODEGEN_OPS_ON_HOST"]
    assert "on the chip" in options.notices()[0]


def test_unknown_name_on_reading() -> None:
    with pytest.raises(OptionError, match="did you mean 'scheduler'"):
        Options.resolve({}, {})["schedule"]


def test_all_names_are_recorded() -> None:
    assert len(COMMAND_LINE) == 12 and len(ENVIRONMENT) == 40
    assert len(RECORDS) == 52
    sections = [re.match(r"seed 4\.2\.3\.(\d+)", record.source) for record in ENVIRONMENT]
    assert [int(match[1]) for match in sections if match] == list(range(1, 38))
    for record in RECORDS.values():
        assert record.meaning.endswith(".") and record.source
        if record.default is not None:
            assert record.kind.parse(record.kind.text(record.default)) == record.default


def test_page_is_current() -> None:
    assert (ROOT / "docs" / "options.md").read_text(encoding="utf-8") == document(), (
        "run: python -m compiler.options.document > docs/options.md"
    )
