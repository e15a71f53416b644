"""STUDY.toml: lists, products, patterns, factors, and a clear message for everything that is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from hw.spec import SpecError, default_spec
from runtime.studies import StudyFileError, expand, read_study
from tests.studies.helpers import write_study


def test_a_list_is_one_chip_per_entry_after_the_baseline(tmp_path: Path) -> None:
    path = write_study(
        tmp_path,
        """
        programs = ["a.vsm"]
        [[chips]]
        name = "fast"
        set = { "dram.bandwidth" = 256 }
        [[chips]]
        set = { mv.latency.dram = 100 }
        """,
    )
    study = read_study(path)
    assert study.name == "study"
    assert study.baseline == "MN-Core 2"
    assert [chip.name for chip in study.chips] == ["MN-Core 2", "fast", "mv.latency.dram = 100"]
    assert [dict(chip.overrides) for chip in study.chips] == [{}, {"dram.bandwidth": 256}, {"mv.latency.dram": 100}]
    assert study.chips[1].spec["dram.bandwidth"] == 256
    assert study.varied == ["dram.bandwidth", "mv.latency.dram"]


def test_a_product_is_every_combination_also_with_every_entry_of_a_list(tmp_path: Path) -> None:
    path = write_study(
        tmp_path,
        """
        programs = "a.vsm"
        baseline = false
        [product]
        dram.bandwidth = [128, 256]
        "mv.latency.dram" = [100, 200, 300]
        [[chips]]
        name = "slow L1BM"
        set = { "l1bm.rate.*" = "x0.5" }
        """,
    )
    study = read_study(path)
    assert study.baseline is None
    assert len(study.chips) == 6
    assert study.chips[0].name == "slow L1BM: dram.bandwidth = 128, mv.latency.dram = 100"
    assert {(c.spec["dram.bandwidth"], c.spec["mv.latency.dram"]) for c in study.chips} == {
        (bandwidth, latency) for bandwidth in (128, 256) for latency in (100, 200, 300)
    }
    assert all(chip.spec["l1bm.rate.l1bmd"] == 32 for chip in study.chips)


def test_patterns_and_factors() -> None:
    base = default_spec()
    assert expand({"l1bm.rate.*": "x0.5"}, base) == {
        "l1bm.rate.l1bmp": 0.5,
        "l1bm.rate.l1bmm": 2,
        "l1bm.rate.l1bmm4": 8,
        "l1bm.rate.l1bmd": 32,
    }
    assert expand({"mv.latency.*": 10, "mv.latency.pdm": 20}, base)["mv.latency.pdm"] == 20
    assert expand({"dram.bandwidth": "x 1.1"}, base)["dram.bandwidth"] == pytest.approx(140.8, abs=1e-12)
    with pytest.raises(SpecError, match=r"no number matches 'lib\.\*'.*l1bm\.rate\.\*"):
        expand({"lib.*": 1}, base)
    with pytest.raises(SpecError, match="whole number"):
        expand({"topology.groups": "x0.3"}, base)


def test_another_base_chip(tmp_path: Path) -> None:
    from importlib import resources

    text = resources.files("hw.spec").joinpath("mncore2.toml").read_text()
    (tmp_path / "mine.toml").write_text(text.replace("bandwidth = { value = 128,", "bandwidth = { value = 64,"))
    path = write_study(tmp_path, 'programs = ["a.vsm"]\nchip = "mine.toml"\n[product]\n"dram.bandwidth" = ["x2"]\n')
    study = read_study(path)
    assert study.baseline == "mine"
    assert [chip.spec["dram.bandwidth"] for chip in study.chips] == [64, 128]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("programs = [", "not valid TOML"),
        ('program = ["a"]', r"unknown key 'program'; did you mean 'programs'\?"),
        ("programs = []", "programs: expected a list"),
        ("programs = [1]", "programs: expected a list"),
        ('programs = ["a"]\nbaseline = 1', "baseline: expected true or false, got 1"),
        ('programs = ["a"]\nbaseline = false', "no chips"),
        ('programs = ["a"]\n[product]\n"dram.bandwith" = [1]', r"did you mean dram\.bandwidth"),
        ('programs = ["a"]\n[product]\n"dram.bandwidth" = []', "at least one value"),
        ('programs = ["a"]\n[product]\n"dram.bandwidth" = [[1]]', "expected a number or a factor"),
        ('programs = ["a"]\n[product]\n"dram.bandwidth" = ["many"]', "'many' is not a number"),
        ('programs = ["a"]\n[[chips]]\nnames = "b"', r"chips\[1\]: unknown key 'names'; did you mean 'name'"),
        ('programs = ["a"]\n[[chips]]\nname = "b"', r"chips\[1\]\.set: expected numbers"),
        ('programs = ["a"]\nchip = "none.toml"', "chip: chip file .*none.toml"),
        (
            'programs = ["a"]\n[[chips]]\nname = "b"\nset = { dram.bandwidth = 1 }\n'
            '[[chips]]\nname = "b"\nset = { dram.bandwidth = 2 }',
            "two chips are called 'b'",
        ),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = write_study(tmp_path, text)
    with pytest.raises(StudyFileError, match=message) as caught:
        read_study(path)
    assert str(path) in str(caught.value)
