"""Studies carried out: equal to the time model, in any pool, resumed where they stopped, with failures as rows."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from hw.model import simulate
from hw.spec import ChipSpec
from isa.assemble import assemble
from runtime.studies import read_study
from runtime.studies.errors import ProgramFileError
from runtime.studies.pools import LocalPool
from runtime.studies.run import StudyResult, run_study
from runtime.studies.table import Row
from tests.studies.helpers import COPY, WORK, write_study

STUDY = """
programs = ["copy.vsm", "work.vsm"]
[product]
"dram.bandwidth" = [64, 256]
"mv.latency.dram" = [100, 300]
"""
INLINE = LocalPool(1)


@pytest.fixture
def study_file(tmp_path: Path) -> Path:
    return write_study(tmp_path / "in", STUDY, copy=COPY, work=WORK)


def run(path: Path, out: Path, pool: LocalPool = INLINE) -> StudyResult:
    return run_study(read_study(path), out, pool=pool)


def test_rows_are_what_the_time_model_says(study_file: Path, tmp_path: Path) -> None:
    result = run(study_file, tmp_path / "out")
    assert len(result.rows) == 10
    assert (result.reused, result.simulated, result.failed) == (0, 10, [])
    for row in result.rows:
        source = COPY if row["program"] == "copy.vsm" else WORK
        spec = ChipSpec.load({name: row[name] for name in ("dram.bandwidth", "mv.latency.dram")})
        timing = simulate(assemble(source), spec)
        assert row["cycles"] == timing.cycles
        assert row["spec_digest"] == spec.digest
        assert sum(value for name, value in row.items() if name.startswith("cause_")) == row["cycles"]
        assert row["busy_L2BM"] == max(n for unit, n in timing.by_unit.items() if unit.startswith("L2BM "))
    base, slow = result.rows[0], result.rows[2]
    assert (base["chip"], base["speedup"]) == ("MN-Core 2", 1.0)
    assert slow["chip"] == "dram.bandwidth = 64, mv.latency.dram = 300"
    assert slow["speedup"] == base["cycles"] / slow["cycles"] < 1


def test_layers_add_up(study_file: Path, tmp_path: Path) -> None:
    result = run(study_file, tmp_path / "out")
    for row in result.rows:
        parts = [p["cycles"] for p in result.layers if (p["program"], p["chip"]) == (row["program"], row["chip"])]
        assert sum(parts) == row["cycles"]
    assert {p["layer"] for p in result.layers if p["program"] == "copy.vsm"} == {"load", "work"}


def test_the_tables_on_disk_are_the_rows(study_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = run(study_file, out)
    with (out / "results.csv").open(newline="") as file:
        read = list(csv.DictReader(file))
    assert [row["cycles"] for row in read] == [str(row["cycles"]) for row in result.rows]
    assert list(read[0]) == list(result.rows[0])
    assert json.loads((out / "results.json").read_text()) == result.rows
    assert set(json.loads((out / "study.json").read_text())["chips"]) == {row["chip"] for row in result.rows}


def test_processes_find_the_same(study_file: Path, tmp_path: Path) -> None:
    alone = run(study_file, tmp_path / "one")
    together = run(study_file, tmp_path / "two", LocalPool(2))
    assert alone.rows == together.rows
    assert (tmp_path / "one" / "results.csv").read_bytes() == (tmp_path / "two" / "results.csv").read_bytes()


def test_a_second_run_simulates_nothing(study_file: Path, tmp_path: Path) -> None:
    first, second = run(study_file, tmp_path / "out"), run(study_file, tmp_path / "out")
    assert (second.reused, second.simulated) == (10, 0)
    assert second.rows == first.rows


def test_only_what_is_new_or_damaged_is_simulated(study_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(study_file, out)
    damaged = sorted((out / "points").iterdir())[0]
    damaged.write_text(damaged.read_text()[:50])
    study_file.write_text(STUDY.replace("[64, 256]", "[64, 256, 512]"))
    assert (run(study_file, out).reused, run(study_file, out).simulated) == (9, 0)
    (study_file.parent / "work.vsm").write_text(WORK + "nop\n")
    changed = run(study_file, out)
    assert (changed.reused, changed.simulated) == (7, 7)


def test_a_renamed_program_or_chip_is_known_by_its_content(study_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(study_file, out)
    (study_file.parent / "copy.vsm").rename(study_file.parent / "other.vsm")
    study_file.write_text(STUDY.replace("copy.vsm", "other.vsm"))
    result = run(study_file, out)
    assert (result.reused, result.simulated) == (10, 0)
    assert result.rows[0]["program"] == "other.vsm"


def test_an_interrupted_study_goes_on(study_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"

    def stop(done: int, total: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_study(read_study(study_file), out, pool=INLINE, on_progress=stop)
    assert not (out / "results.csv").exists()
    result = run(study_file, out)
    assert (result.reused, result.simulated) == (4, 6)
    assert result.rows == run(study_file, tmp_path / "whole").rows


def test_results_of_another_time_model_are_not_reused(
    study_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(study_file, tmp_path / "out")
    monkeypatch.setattr("runtime.studies.point.model_digest", lambda: "another")
    assert run(study_file, tmp_path / "out").simulated == 10


def test_a_point_that_fails_is_a_row_and_the_rest_goes_on(tmp_path: Path) -> None:
    path = write_study(tmp_path, 'programs = ["copy.vsm"]\n[product]\n"topology.groups" = [2, 8]\n', copy=COPY)
    result = run(path, tmp_path / "out")
    rows: dict[str, Row] = {row["chip"]: row for row in result.rows}
    assert [row["status"] for row in result.rows] == ["ok", "failed", "ok"]
    failed = rows["topology.groups = 2"]
    assert "line 3" in failed["error"] and "group 3" in failed["error"]
    assert failed["cycles"] is None and list(failed) == list(result.rows[0])
    assert run(path, tmp_path / "out").simulated == 1  # tried again: the file of a failure is not kept


def test_programs_by_pattern_folder_and_mistake(tmp_path: Path) -> None:
    path = write_study(tmp_path, 'programs = ["*.vsm"]', a=COPY, b=WORK)
    assert [row["program"] for row in run(path, tmp_path / "out").rows] == ["a.vsm", "b.vsm"]
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "model.vsm").write_text(WORK)
    path.write_text('programs = ["folder"]')
    assert run(path, tmp_path / "out").reused == 1
    for programs, message in (
        ('["c.vsm"]', r"there is no file .*c\.vsm; did you mean"),
        ('["*.asm"]', r"no file matches \*\.asm"),
        ('["points"]', "there is no file"),
        ('["out"]', "holds neither model.app nor model.vsm"),
        ('["a.vsm", "a.vsm"]', "two programs of the study are called a.vsm"),
    ):
        path.write_text(f"programs = {programs}")
        with pytest.raises(ProgramFileError, match=message):
            run(path, tmp_path / "out")


def test_the_built_in_program_is_the_evaluation_step_of_the_examples() -> None:
    from compiler.codegen import compile_model
    from compiler.options import Options
    from runtime.studies.eval_step import eval_step_program
    from tests.compiler.models import mlp

    program = compile_model(mlp(125, [1, 32, 32], 256, 10), Options.resolve({}, {})).program
    mine = eval_step_program()
    assert [line for line in mine.source.splitlines() if not line.startswith("#")] == [
        line for line in program.source.splitlines() if not line.startswith("#")
    ]
    assert simulate(mine).cycles == simulate(program).cycles


def test_parquet_holds_the_same_table(study_file: Path, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra parquet")
    result = run(study_file, tmp_path / "out")
    assert parquet.read_table(tmp_path / "out" / "results.parquet").to_pylist() == result.rows
