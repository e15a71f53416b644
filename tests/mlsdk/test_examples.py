"""Every example runs and gives PyTorch's values; here on the device that runs ONNX operator by operator."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from typing import Any

import pytest
import torch


def run(name: str, folder: Path, device: str = "pfvm:cpu", **extra: Any) -> Any:
    """The result of an example's `main`."""
    arguments = argparse.Namespace(device=device, outdir=folder, option_json=None, **extra)
    return importlib.import_module(f"mlsdk.examples.{name}").main(arguments)


@pytest.mark.parametrize("name", ["add", "infer", "infer_multi"])
def test_one_result(name: str, tmp_path: Path) -> None:
    assert isinstance(run(name, tmp_path), torch.Tensor)


def test_add_automap(tmp_path: Path) -> None:
    sums = run("add_automap", tmp_path)
    assert torch.equal(sums.scaled, sums.plain * 2)


def test_add_trace(tmp_path: Path) -> None:
    assert all(file.stat().st_size > 100 for file in run("add_trace", tmp_path))


def test_train(tmp_path: Path) -> None:
    losses = run("train", tmp_path, steps=30)
    assert losses[-1] < losses[0] / 4


def test_explicit_data_transfer(tmp_path: Path) -> None:
    results = run("explicit_data_transfer", tmp_path)
    assert [result[0, 0].item() for result in results] == [0.5, 1.5, 2.5]


def test_load_codegen_dir(tmp_path: Path) -> None:
    first, second = run("load_codegen_dir", tmp_path)
    assert torch.equal(first, second)


def test_io_spec_constraints(tmp_path: Path) -> None:
    assert run("io_spec_constraints", tmp_path).shape == (8, 16)
