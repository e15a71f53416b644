"""Device optimizers: torch's formulas, states that exist from the start, rates that change without compiling."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from mlsdk import (
    Context,
    MNCoreAdam,
    MNCoreAdamW,
    MNCoreLRScheduler,
    MNCoreOptimizer,
    MNCoreSGD,
    MNDevice,
    get_tensor_name,
    set_buffer_name_in_optimizer,
    set_tensor_name_in_module,
)
from mlsdk.errors import RegistrationError

Make = Callable[[Any], torch.optim.Optimizer]
PAIRS: list[tuple[Make, Make]] = [
    (lambda p: MNCoreSGD(p, 0.1), lambda p: torch.optim.SGD(p, 0.1)),
    (lambda p: MNCoreSGD(p, 0.1, 0.9, 0.0), lambda p: torch.optim.SGD(p, 0.1, 0.9, 0.0)),
    (lambda p: MNCoreSGD(p, 0.1, 0.9, 0.5, 0.01), lambda p: torch.optim.SGD(p, 0.1, 0.9, 0.5, 0.01)),
    (
        lambda p: MNCoreSGD(p, 0.1, 0.9, weight_decay=0.01, nesterov=True),
        lambda p: torch.optim.SGD(p, 0.1, 0.9, weight_decay=0.01, nesterov=True),
    ),
    (lambda p: MNCoreAdam(p, 1e-2), lambda p: torch.optim.Adam(p, 1e-2)),
    (lambda p: MNCoreAdam(p, 1e-2, weight_decay=0.1), lambda p: torch.optim.Adam(p, 1e-2, weight_decay=0.1)),
    (lambda p: MNCoreAdamW(p, 1e-2), lambda p: torch.optim.AdamW(p, 1e-2)),
]


def _train(module: torch.nn.Module, optimizer: torch.optim.Optimizer, steps: int) -> None:
    source = torch.Generator().manual_seed(1)
    for _ in range(steps):
        optimizer.zero_grad()
        module(torch.randn(7, 5, generator=source)).square().mean().backward()
        optimizer.step()


@pytest.mark.parametrize("number", range(len(PAIRS)))
def test_steps_are_torchs(number: int) -> None:
    ours, theirs = torch.nn.Linear(5, 3), torch.nn.Linear(5, 3)
    theirs.load_state_dict(ours.state_dict())
    make, reference = PAIRS[number]
    _train(ours, make(ours.parameters()), 5)
    _train(theirs, reference(theirs.parameters()), 5)
    for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


def test_chainers_rule_leaves_epsilon_uncorrected() -> None:
    p = torch.nn.Parameter(torch.tensor([1.0]))
    optimizer = MNCoreAdam([p], 0.1, eps=0.5, chainer_use_torch=False)
    p.grad = torch.tensor([2.0])
    optimizer.step()
    m, v = 0.1 * 2.0, 0.001 * 4.0
    expected = 1.0 - 0.1 * (1 - 0.999) ** 0.5 / (1 - 0.9) * m / (v**0.5 + 0.5)
    assert p.item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("make", [lambda p: MNCoreSGD(p, 0.1, 0.9), lambda p: MNCoreAdam(p)])
def test_state_dict_goes_round_into_the_same_tensors(make: Make) -> None:
    module, other = torch.nn.Linear(5, 3), torch.nn.Linear(5, 3)
    optimizer, restored = make(module.parameters()), make(other.parameters())
    assert isinstance(restored, MNCoreOptimizer)
    _train(module, optimizer, 2)
    before = [tensor for *_, tensor in restored.state_tensors()]
    restored.load_state_dict(optimizer.state_dict())
    assert isinstance(optimizer, MNCoreOptimizer)
    for (*_, mine), (*_, source), old in zip(
        restored.state_tensors(), optimizer.state_tensors(), before, strict=True
    ):
        assert mine is old and torch.equal(mine, source)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [({"lr": -1.0}, "lr"), ({"momentum": -0.1}, "momentum"), ({"nesterov": True}, "nesterov")],
)
def test_bad_hyperparameters_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        MNCoreSGD(torch.nn.Linear(2, 2).parameters(), **arguments)


def _compiled(tmp_path: Path) -> tuple[Context, torch.nn.Linear, MNCoreSGD, Any]:
    torch.manual_seed(0)
    context = Context(MNDevice("pfvm:cpu"))
    module = torch.nn.Linear(5, 3)
    set_tensor_name_in_module(module, "model")
    optimizer = MNCoreSGD(module.parameters(), 0.5, 0.9, 0.0)
    set_buffer_name_in_optimizer(optimizer, "opt")
    for parameter in module.parameters():
        context.register_param(parameter)
    context.register_optimizer_buffers(optimizer)

    def step(inp: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        optimizer.zero_grad()
        loss = module(inp["x"]).square().mean()
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    return context, module, optimizer, context.compile(step, {"x": torch.zeros(7, 5)}, tmp_path / "step")


def test_a_compiled_step_trains_and_synchronize_brings_everything_back(tmp_path: Path) -> None:
    context, module, optimizer, step = _compiled(tmp_path)
    twin = torch.nn.Linear(5, 3)
    twin.load_state_dict(module.state_dict())
    other = torch.optim.SGD(twin.parameters(), 0.5, 0.9)
    for seed in range(4):
        x = torch.randn(7, 5, generator=torch.Generator().manual_seed(seed))
        loss = step({"x": x})["loss"].item()
        other.zero_grad()
        expected = twin(x).square().mean()
        expected.backward()
        other.step()
        assert loss == pytest.approx(expected.item(), rel=1e-5)
    assert not torch.allclose(module.weight, twin.weight)
    context.synchronize()
    torch.testing.assert_close(module.weight, twin.weight)
    torch.testing.assert_close(
        optimizer.state[module.weight]["momentum_buffer"], other.state[twin.weight]["momentum_buffer"]
    )


def test_a_scheduler_changes_the_rate_on_the_device(tmp_path: Path) -> None:
    context, module, optimizer, step = _compiled(tmp_path)
    scheduler = MNCoreLRScheduler(torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.0), context)
    step({"x": torch.ones(7, 5)})
    scheduler.step()
    assert scheduler.get_last_lr() == [0.0]
    context.synchronize()
    weight = module.weight.detach().clone()
    step({"x": torch.ones(7, 5)})
    context.synchronize()
    assert torch.equal(module.weight, weight)


def test_names_of_states(tmp_path: Path) -> None:
    _, module, optimizer, _ = _compiled(tmp_path)
    assert get_tensor_name(optimizer.state[module.weight]["momentum_buffer"]) == "opt@model@weight@momentum_buffer"
    assert get_tensor_name(optimizer.param_groups[0]["lr"]) == "opt@lr"


def test_other_optimizers_are_refused_by_name(tmp_path: Path) -> None:
    module = torch.nn.Linear(2, 2)
    plain = torch.optim.SGD(module.parameters(), 0.1)
    with pytest.raises(RegistrationError, match="SGD"):
        set_buffer_name_in_optimizer(plain, "opt")  # type: ignore[arg-type]
    with pytest.raises(RegistrationError, match="SGD"):
        Context(MNDevice("pfvm:cpu")).register_optimizer_buffers(plain)  # type: ignore[arg-type]
    context = Context(MNDevice("pfvm:cpu"))
    context.registry.register("opt", MNCoreSGD(module.parameters(), 0.1, 0.9))
