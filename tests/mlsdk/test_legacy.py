"""The older training route: a loss goes in, backward and update are added, the rate comes with every call."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from mlsdk import Context, MNDevice, set_tensor_name_in_module
from mlsdk.errors import CompileError, CompileOptionError, RegistrationError

RATE, STEP, SCALE = (
    "optimizer0@0@mncore_learning_rate",
    "optimizer0@0@mncore_global_step",
    "mncore_grad_scale_factor",
)


def _setting(optimizer: type[torch.optim.Optimizer], **arguments: Any) -> tuple[Context, torch.nn.Linear, Any]:
    torch.manual_seed(0)
    module = torch.nn.Linear(5, 3)
    context = Context(MNDevice("pfvm:cpu"))
    set_tensor_name_in_module(module, "model")
    context.registry.register("model", module)
    plain = optimizer(module.parameters(), **arguments)
    context.registry.register("optimizer0", plain)
    return context, module, plain


@pytest.mark.parametrize(
    ("kind", "arguments"), [(torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}), (torch.optim.Adam, {"lr": 0.1})]
)
def test_the_route_trains_like_torch(
    kind: type[torch.optim.Optimizer], arguments: dict[str, Any], tmp_path: Path
) -> None:
    context, module, plain = _setting(kind, **arguments)
    twin = torch.nn.Linear(5, 3)
    twin.load_state_dict(module.state_dict())
    other = kind(twin.parameters(), **arguments)
    step = context.compile(
        lambda inp: {"loss": module(inp["x"]).square().mean()},
        {"x": torch.zeros(7, 5)},
        tmp_path / "step",
        options={"backprop": True},
        optimizers=[kind],
    )
    for number in range(3):
        x = torch.randn(7, 5, generator=torch.Generator().manual_seed(number))
        extra = {RATE: torch.tensor(0.1), STEP: torch.tensor(number), SCALE: torch.tensor(4.0)}
        loss = step({"x": x, **extra})["loss"].item()
        other.zero_grad()
        expected = twin(x).square().mean()
        expected.backward()
        other.step()
        assert loss == pytest.approx(expected.item(), rel=1e-4)
    context.synchronize()
    torch.testing.assert_close(module.weight, twin.weight, rtol=1e-4, atol=1e-5)
    name = "momentum_buffer" if kind is torch.optim.SGD else "exp_avg"
    torch.testing.assert_close(plain.state[module.weight][name], other.state[twin.weight][name], rtol=1e-4, atol=1e-5)


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    context = Context(MNDevice("pfvm:cpu"))
    module = torch.nn.Linear(5, 3)
    sample = {"x": torch.zeros(7, 5)}
    with pytest.raises(CompileOptionError, match=r"registry\.register"):
        context.compile(lambda inp: {"loss": inp["x"]}, sample, tmp_path / "a", options={"backprop": True})
    with pytest.raises(RegistrationError, match="RMSprop"):
        context.registry.register("optimizer0", torch.optim.RMSprop(module.parameters()))
    with pytest.raises(RegistrationError, match="maximize"):
        context.registry.register("optimizer0", torch.optim.SGD(module.parameters(), 0.1, maximize=True))
    context, module, _ = _setting(torch.optim.SGD, lr=0.1)
    with pytest.raises(CompileError, match="'loss'"):
        context.compile(lambda inp: {"y": module(inp["x"])}, sample, tmp_path / "b", options={"backprop": True})
