"""The page docs/compatibility.md names tests that exist; and the refusals that have no other place."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from mlsdk import Context, MNCoreAdam, MNCoreAdamW, MNCoreSGD, MNDevice
from mlsdk.errors import CompileError

ROOT = Path(__file__).parents[2]


def test_every_row_names_tests_that_exist() -> None:
    page = (ROOT / "docs" / "compatibility.md").read_text()
    rows = [line for line in page.splitlines() if line.startswith("| ") and not line.startswith("| item")]
    assert len(rows) > 50
    for row in rows:
        found = re.findall(r"`([\w/]+\.py)::(\w+)`", row)
        assert found or "no public MLSDK program" in row, row
        for file, test in found:
            path = ROOT / "tests" / file
            assert path.exists() and f"def {test}(" in path.read_text(), f"{file}::{test}"


@pytest.mark.parametrize("device", ["pfvm:cpu", "emu2"])
def test_random_operators_are_refused_by_name(device: str, tmp_path: Path) -> None:
    dropout = torch.nn.Dropout(0.5)
    context = Context(MNDevice(device))
    with pytest.raises(CompileError, match=r"aten\.bernoulli\S+ \(at test_compatibility\.py:\d+\).*\n  hint: draw"):
        context.compile(lambda inp: {"y": dropout(inp["x"])}, {"x": torch.ones(4, 4)}, tmp_path / "f", quiet=True)
    dropout.eval()
    step = context.compile(lambda inp: {"y": dropout(inp["x"])}, {"x": torch.ones(4, 4)}, tmp_path / "f", quiet=True)
    assert torch.equal(step({"x": torch.ones(4, 4)})["y"].cpu(), torch.ones(4, 4))


def test_refusals_name_the_operator_and_the_users_line(tmp_path: Path) -> None:
    context = Context(MNDevice("emu2"))
    line = r"test_compatibility\.py:\d+"
    refused = {
        rf"Atan.*\n  at {line}\n  hint: write it": lambda inp: {"y": inp["x"] + torch.atan(inp["x"])},
        rf"aten\.median\.dim \(at {line}\)": lambda inp: {"y": inp["x"].median(1)[0]},
        rf"prims\.prod\.default, part of aten\.cumprod\.default \(at {line}\)": lambda inp: {"y": inp["x"].cumprod(1)},
        rf"FLOAT64(?s:.*)at {line}": lambda inp: {"y": inp["x"].double().sum().float()},
        rf"FLOAT16(?s:.*)float_dtype(?s:.*)at {line}": lambda inp: {"y": inp["x"].half().sum().float()},
    }
    for words, function in refused.items():
        with pytest.raises(CompileError, match=words):
            context.compile(function, {"x": torch.ones(4, 4)}, tmp_path / "f", quiet=True)


def test_older_keywords_of_optimizers_are_a_type_error() -> None:
    parameters = list(torch.nn.Linear(2, 2).parameters())
    with pytest.raises(TypeError):
        MNCoreSGD(parameters, learning_rate=0.1)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        MNCoreAdam(parameters, alpha=0.1, norm_coefficient=0.0)  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        MNCoreAdamW(parameters, beta1=0.9)  # type: ignore[call-arg]
    MNCoreAdam((p for p in parameters), lr=0.1, chainer_use_torch=True)
