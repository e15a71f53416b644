"""The same study on a Dask cluster gives the same table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from runtime.studies import read_study
from runtime.studies.errors import ClusterError
from runtime.studies.pools import DaskPool, LocalPool
from runtime.studies.run import run_study
from tests.studies.helpers import COPY, WORK, write_study

distributed = pytest.importorskip("distributed", reason="needs the extra dask")

STUDY = 'programs = ["copy.vsm", "work.vsm"]\n[product]\n"mv.latency.dram" = [100, 300]\n"topology.groups" = [2, 4]\n'


@pytest.fixture
def study_file(tmp_path: Path) -> Path:
    return write_study(tmp_path / "in", STUDY, copy=COPY, work=WORK)


def cluster(processes: bool) -> Any:
    return distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=processes, protocol="tcp", host="127.0.0.1", dashboard_address=None
    )


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.slow)], ids=["threads", "processes"])
def scheduler(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    import dask

    with dask.config.set({"temporary_directory": str(tmp_path / "dask")}), cluster(request.param) as local:
        yield local.scheduler_address


def test_a_cluster_finds_the_same(study_file: Path, tmp_path: Path, scheduler: str) -> None:
    study = read_study(study_file)
    here = run_study(study, tmp_path / "here", pool=LocalPool(1))
    there = run_study(study, tmp_path / "there", pool=DaskPool(scheduler))
    assert there.rows == here.rows
    assert there.simulated == here.simulated == 10
    assert [row["status"] for row in there.rows].count("failed") == 2
    again = run_study(study, tmp_path / "there", pool=DaskPool(scheduler))
    assert (again.reused, again.simulated) == (8, 2)


def test_no_scheduler_at_the_address(study_file: Path, tmp_path: Path) -> None:
    with pytest.raises(ClusterError, match=r"no Dask scheduler answers at tcp://127\.0\.0\.1:1"):
        run_study(read_study(study_file), tmp_path / "out", pool=DaskPool("tcp://127.0.0.1:1", timeout=0.5))
