"""The digit examples, on scikit-learn's real digits so that no download is needed."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.console import Console

from mlsdk.examples import mnist, mnist_infer
from mlsdk.examples.demo import Demo
from mlsdk.examples.demo import main as demo_main
from mlsdk.examples.mnist_common import NO_LABEL, DigitLoader, MNCoreClassifier, make_eval_step, mnist_loaders
from runtime.data import Digits, load_digits


@pytest.fixture
def small_digits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away npm, so that the fallback data set is used."""
    monkeypatch.setenv("MNCORE2_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("MNCORE2_DATA", raising=False)
    monkeypatch.setattr("runtime.digits_npm.shutil.which", lambda name: None)


def train(epochs: int = 4) -> MNCoreClassifier:
    torch.manual_seed(0)
    model = MNCoreClassifier()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, 0.9)
    loader, _ = mnist_loaders(64, 125)
    for _ in range(epochs):
        for sample in loader:
            optimizer.zero_grad()
            model(sample["x"], sample["t"])["loss"].backward()
            optimizer.step()
    return model.eval()


def correct_in_torch(model: MNCoreClassifier) -> int:
    _, loader = mnist_loaders(64, 125)
    with torch.no_grad():
        return sum(int(make_eval_step(model)(sample)["correct"]) for sample in loader)


@pytest.mark.usefixtures("small_digits")
def test_infer_on_pfvm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = train()
    checkpoint = tmp_path / "checkpoint.pt"
    torch.save({"model_state_dict": model.state_dict()}, checkpoint)
    option_json = tmp_path / "option.json"
    option_json.write_text(json.dumps({"args": [f"--out_onnx={tmp_path}/out/eval_step/pfvm.onnx"]}))
    correct = mnist_infer.main(checkpoint, tmp_path / "out", option_json, "pfvm:cpu")
    assert correct == correct_in_torch(model) > 0.9 * 500
    assert f"Correct: {correct} / 500. Accuracy: {correct / 500}" in capsys.readouterr().out
    assert {"model.onnx", "pfvm.onnx"} <= {path.name for path in (tmp_path / "out" / "eval_step").iterdir()}


@pytest.mark.usefixtures("small_digits")
@pytest.mark.parametrize("device", ["pfvm:cpu", pytest.param("mncore2:auto", marks=pytest.mark.slow)])
def test_train_and_evaluate(device: str, tmp_path: Path) -> None:
    """The whole flow, with two programs that share the parameters."""
    result = mnist.main(argparse.Namespace(device=device, outdir=tmp_path, option_json=None, iterations=40))
    assert result["accuracy"] > 0.85 and result["losses"][-1] < result["losses"][0] / 2
    assert mnist_infer.main(tmp_path / "checkpoint.pt", tmp_path / "again", None, "pfvm:cpu") / 500 > 0.85


def test_infer_without_checkpoint(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        mnist_infer.parse(["--checkpoint", str(tmp_path / "absent.pt")])
    assert "make demo" in capsys.readouterr().err


def test_demo_refuses_devices_without_a_chip(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        demo_main(["--device", "pfvm:cpu"])
    assert "mnist_infer" in capsys.readouterr().err


def test_loader_batches() -> None:
    digits = Digits(np.full((10, 32, 32), 255, np.uint8), np.arange(10))
    evaluation = DigitLoader(digits, 4, shuffle=False, source="")
    batches = list(evaluation)
    assert len(batches) == len(evaluation) == 3
    assert [batch["t"].tolist() for batch in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, NO_LABEL, NO_LABEL]]
    assert all(batch["x"].shape == (4, 1, 32, 32) and batch["x"].dtype == torch.float32 for batch in batches)
    assert batches[0]["x"].min() == 1 and not batches[2]["x"][2:].any()

    training = DigitLoader(digits, 4, shuffle=True, source="")
    first, second = ([t for batch in training for t in batch["t"].tolist()] for _ in range(2))
    assert len(first) == 8 and len(set(first)) == 8 and first != second
    again = DigitLoader(digits, 4, shuffle=True, source="")
    assert [t for batch in again for t in batch["t"].tolist()] == first


def test_blank_images_do_not_count() -> None:
    model = MNCoreClassifier().eval()
    labels = torch.tensor([NO_LABEL] * 3)
    assert make_eval_step(model)({"x": torch.zeros(3, 1, 32, 32), "t": labels})["correct"] == 0


@pytest.mark.slow
@pytest.mark.usefixtures("small_digits")
def test_demo_on_the_chip(tmp_path: Path) -> None:
    summary = Demo(tmp_path, "mncore2:auto", 3, Console(quiet=True)).run()
    assert json.loads((tmp_path / "summary.json").read_text()) == summary
    assert summary["samples"] == 500 and summary["host_ops"] == 0 and summary["core_freq"] == 750.0
    assert summary["flops"] == 66_273_875 and summary["vsm_cycles"] <= 15_000
    assert abs(summary["accuracy_chip"] - summary["accuracy_torch"]) <= 0.003
    seconds = summary["vsm_cycles"] / 750e6
    assert summary["tflops"] == pytest.approx(summary["flops"] / seconds / 1e12)
    assert summary["percent_of_peak"] == pytest.approx(100 * summary["tflops"] / 393.216)
    assert summary["data"] == load_digits().source
    assert all(Path(path).is_file() for path in summary["paths"])
    names = {Path(path).name for path in summary["paths"]}
    assert {"summary.json", "checkpoint.pt", "model.vsm", "report.json", "l3ir.txt", "trace.json"} <= names
