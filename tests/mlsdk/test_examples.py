"""Every example runs and gives PyTorch's values: on the device that runs ONNX operator by operator, and on the chip."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from typing import Any

import pytest
import torch


@pytest.fixture(params=["pfvm:cpu", "mncore2:auto"])
def device(request: pytest.FixtureRequest) -> str:
    """Devices for examples that take less than three seconds on the chip."""
    return str(request.param)


def run(name: str, folder: Path, device: str = "pfvm:cpu", **extra: Any) -> Any:
    """The result of an example's `main`."""
    arguments = argparse.Namespace(device=device, outdir=folder, option_json=None, **extra)
    return importlib.import_module(f"mlsdk.examples.{name}").main(arguments)


@pytest.mark.parametrize("name", ["add", "infer", "infer_multi"])
def test_one_result(name: str, device: str, tmp_path: Path) -> None:
    assert isinstance(run(name, tmp_path, device), torch.Tensor)


def test_add_automap(device: str, tmp_path: Path) -> None:
    sums = run("add_automap", tmp_path, device)
    assert torch.equal(sums.scaled, sums.plain * 2)


def test_add_trace(device: str, tmp_path: Path) -> None:
    assert all(file.stat().st_size > 100 for file in run("add_trace", tmp_path, device))


def test_train(device: str, tmp_path: Path) -> None:
    losses = run("train", tmp_path, device, steps=30)
    assert losses[-1] < losses[0] / 4


def test_explicit_data_transfer(device: str, tmp_path: Path) -> None:
    results = run("explicit_data_transfer", tmp_path, device)
    assert [result[0, 0].item() for result in results] == [0.5, 1.5, 2.5]


def test_load_codegen_dir(device: str, tmp_path: Path) -> None:
    first, second = run("load_codegen_dir", tmp_path, device)
    assert torch.equal(first, second)


def test_io_spec_constraints(device: str, tmp_path: Path) -> None:
    assert run("io_spec_constraints", tmp_path, device).shape == (8, 16)


@pytest.mark.slow
def test_digits_are_learnt_on_the_chip(tmp_path: Path) -> None:
    """The losses of the first steps are those of PyTorch within what Half products leave."""
    losses = run("mnist_train", tmp_path, "mncore2:auto", iterations=6)
    expected = run("mnist_train", tmp_path / "torch", iterations=6)
    assert losses == pytest.approx(expected, rel=0.02)
    assert (tmp_path / "checkpoint.pt").stat().st_size > 1_000_000


@pytest.mark.slow
def test_digits_are_learnt_with_convolutions_on_the_chip(tmp_path: Path) -> None:
    """Both programs run; the losses of the first steps are those of PyTorch within what Half products leave."""
    result = run("mnist_cnn", tmp_path, "mncore2:auto", iterations=60)
    expected = run("mnist_cnn", tmp_path / "torch", iterations=6)["losses"]
    assert result["losses"][:6] == pytest.approx(expected, rel=0.02)
    assert result["losses"][-1] < 0.8 * result["losses"][0]
    assert result["accuracy"] > 0.3
    assert result["cycles"]["train"] < 70_000
