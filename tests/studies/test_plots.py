"""Plots of a study: files that are pictures, equal for equal results."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest

from hw.events.cause import Cause
from runtime.studies import read_study
from runtime.studies.errors import PlotError
from runtime.studies.plots import COLOURS, write_plots
from runtime.studies.pools import LocalPool
from runtime.studies.run import StudyResult, run_study
from tests.studies.helpers import COPY, write_study


@pytest.fixture
def result(tmp_path: Path) -> StudyResult:
    text = 'programs = ["copy.vsm"]\n[product]\n"mv.latency.*" = ["x0.5", "x2"]\n"topology.groups" = [2, 4]\n'
    return run_study(read_study(write_study(tmp_path, text, copy=COPY)), tmp_path / "out", pool=LocalPool(1))


def test_pictures(result: StudyResult, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="needs the extra plots")
    varied = ["mv.latency.dram", "mv.latency.pdm", "topology.groups"]
    paths = write_plots(result.rows, varied, tmp_path)
    # The latencies move together and the points with two groups failed, so there is one number to draw against.
    assert [path.name for path in paths] == [
        "copy.vsm-causes.png",
        "copy.vsm-causes.svg",
        "copy.vsm-mv.latency.dram.png",
        "copy.vsm-mv.latency.dram.svg",
    ]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths[::2])
    text = " ".join(ElementTree.parse(paths[1]).getroot().itertext())
    assert "\n" in text
    first = [path.read_bytes() for path in paths]
    assert [path.read_bytes() for path in write_plots(result.rows, varied, tmp_path)] == first
    assert sorted(path.name for path in (tmp_path / "plots").iterdir()) == sorted(path.name for path in paths)


def test_without_matplotlib_the_extra_is_named(
    result: StudyResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("runtime.studies.plots.available", lambda: False)
    with pytest.raises(PlotError, match=r"mncore2-sim\[plots\].*--no-plots"):
        write_plots(result.rows, [], tmp_path)


def test_every_cause_has_a_colour_of_its_own() -> None:
    assert set(COLOURS) == set(Cause) - {Cause.NONE}
    assert len(set(COLOURS.values())) == len(COLOURS)
