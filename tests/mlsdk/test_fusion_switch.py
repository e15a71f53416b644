"""Training with and without `CODEGEN_SKIP_OPTIMIZER_FUSION`: losses, parameters and states are equal in all bits."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch

from compiler.chain import CHAINS, RATES
from mlsdk import (
    Context,
    MNCoreAdam,
    MNCoreAdamW,
    MNCoreOptimizer,
    MNCoreSGD,
    MNDevice,
    set_buffer_name_in_optimizer,
    set_tensor_name_in_module,
)
from mlsdk.legacy import SCALE, rate_name, step_name

Make = Callable[[Any], MNCoreOptimizer]

CASES: dict[str, Make] = {
    "nesterov": lambda p: MNCoreSGD(p, 0.1, 0.9, 0.0, 0.01, True),
    "adam": lambda p: MNCoreAdam(p, 0.01, weight_decay=0.1),
    "adamw": lambda p: MNCoreAdamW(p, 0.01),
}
SKIP = {"envs": {"CODEGEN_SKIP_OPTIMIZER_FUSION": "1"}}
STEPS = 3


def _model() -> torch.nn.Module:
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(7, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3))


def _batches() -> list[dict[str, torch.Tensor]]:
    rng = torch.Generator().manual_seed(1)
    return [
        {"x": torch.randn(6, 7, generator=rng), "t": torch.randint(3, (6,), generator=rng)} for _ in range(STEPS)
    ]


def _loss(model: torch.nn.Module, inp: Mapping[str, torch.Tensor]) -> torch.Tensor:
    return torch.nn.functional.cross_entropy(model(inp["x"]), inp["t"])


def _train(device: str, make: Make, options: dict[str, Any], folder: Path) -> list[bytes]:
    """The bytes of every loss, and of all parameters and states at the end."""
    model = _model()
    optimizer = make(model.parameters())
    context = Context(MNDevice(device))
    set_tensor_name_in_module(model, "model")
    set_buffer_name_in_optimizer(optimizer, "opt")
    for parameter in model.parameters():
        context.register_param(parameter)
    context.register_optimizer_buffers(optimizer)

    def step(inp: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        optimizer.zero_grad()
        loss = _loss(model, inp)
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    function = context.compile(step, _batches()[0], folder, options=options, quiet=True)
    seen = [function(batch)["loss"].cpu().numpy().tobytes() for batch in _batches()]
    tensors = [*model.parameters(), *(tensor for _, _, tensor in optimizer.state_tensors())]
    return [*seen, *(context.get_registered_value_proxy(tensor).cpu().numpy().tobytes() for tensor in tensors)]


def _fused(folder: Path) -> list[str]:
    """The fused operators of a program, without those that make scalars."""
    kinds = [node.op_type for node in onnx.load(folder / "pfvm.onnx").graph.node]
    return [kind for kind in kinds if kind in CHAINS and kind != RATES]


@pytest.mark.parametrize(
    "device, case",
    [
        ("pfvm:cpu", "nesterov"),
        ("pfvm:cpu", "adamw"),
        ("emu2", "adamw"),
        pytest.param("pfvm:cpu", "adam", marks=pytest.mark.slow),
        pytest.param("emu2", "nesterov", marks=pytest.mark.slow),
        pytest.param("emu2", "adam", marks=pytest.mark.slow),
    ],
)
def test_training_has_the_same_bits_with_and_without_fusion(device: str, case: str, tmp_path: Path) -> None:
    fused = _train(device, CASES[case], {}, tmp_path / "fused")
    apart = _train(device, CASES[case], SKIP, tmp_path / "apart")
    assert fused == apart
    assert len(_fused(tmp_path / "fused")) == 4  # one for each parameter
    assert _fused(tmp_path / "apart") == []
    if device == "emu2":
        layers = json.loads((tmp_path / "fused" / "report.json").read_text())["layers"]
        assert sum(layer["op_type"] == "ChainerAdamW" for layer in layers) == (4 if case == "adamw" else 0)


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.AdamW])
def test_the_older_route_is_fused_too(kind: type[torch.optim.Optimizer], tmp_path: Path) -> None:
    losses = []
    for folder, options in ((tmp_path / "fused", {}), (tmp_path / "apart", SKIP)):
        model = _model()
        optimizer = kind(model.parameters(), 0.05)  # type: ignore[call-arg]
        context = Context(MNDevice("pfvm:cpu"))
        context.registry.register("model", model)
        context.registry.register("optimizer0", optimizer)
        extra = {
            rate_name("optimizer0", 0): torch.tensor(0.05),
            step_name("optimizer0", 0): torch.tensor(1),
            SCALE: torch.tensor(2.0),
        }

        def function(inp: Mapping[str, torch.Tensor], model: torch.nn.Module = model) -> dict[str, torch.Tensor]:
            return {"loss": _loss(model, inp)}

        step = context.compile(
            function, _batches()[0], folder, options={"backprop": True, **options}, optimizers=[kind], quiet=True
        )
        losses.append([step({**batch, **extra})["loss"].cpu().numpy().tobytes() for batch in _batches()])
    assert losses[0] == losses[1]
    name = "ChainerSGD" if kind is torch.optim.SGD else "ChainerAdamW"
    assert _fused(tmp_path / "fused").count(name) == 4
