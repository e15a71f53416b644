"""Normalisations on the chip give PyTorch's values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from mlsdk import Context, MNDevice

MODULES: list[tuple[Callable[[], torch.nn.Module], tuple[int, ...]]] = [
    (lambda: torch.nn.LayerNorm(16), (8, 16)),
    (lambda: torch.nn.LayerNorm((5, 7)), (3, 5, 7)),
    (lambda: torch.nn.BatchNorm2d(3), (2, 3, 5, 4)),
    (lambda: torch.nn.BatchNorm1d(6), (5, 6)),
    (lambda: torch.nn.GroupNorm(2, 6), (3, 6, 5)),
    (lambda: torch.nn.InstanceNorm1d(4, affine=True), (2, 4, 9)),
]


@pytest.mark.parametrize("number", range(len(MODULES)))
def test_values_are_torchs(number: int, tmp_path: Path) -> None:
    make, shape = MODULES[number]
    torch.manual_seed(number)
    module = make().eval()
    for tensor in (*module.parameters(), *module.buffers()):
        if tensor.is_floating_point():
            tensor.data = torch.rand(tensor.shape) + 0.5
    x = torch.randn(shape) * 3 + 1
    context = Context(MNDevice("emu2"))
    options = {"layout_planner": "legacy"}
    step = context.compile(lambda i: {"y": module(i["x"])}, {"x": x}, tmp_path / "c", options=options, training=False)
    torch.testing.assert_close(step({"x": x})["y"].cpu(), module(x).detach(), rtol=1e-5, atol=1e-5)
