"""Training steps: forward, backward and update in one graph (docs/frontend.md), compared with torch on the host."""

from __future__ import annotations

from typing import Any

import onnx
import pytest
import torch
from torch import nn

from compiler.frontend import export
from compiler.frontend.errors import MutationError
from compiler.pfvm import optimize, run
from tests.frontend.mnist_model import MNCoreClassifier, make_train_step, mnist_sample

Inputs = dict[str, Any]


def test_sgd_step_matches_torch() -> None:
    torch.manual_seed(1)
    model = MNCoreClassifier().train()
    step = make_train_step(model, torch.optim.SGD(model.parameters(), 0.1))
    sample = mnist_sample(8)
    before = [parameter.detach().clone() for parameter in model.parameters()]
    exported = export(step, sample)
    assert all(torch.equal(a, b) and b.grad is None for a, b in zip(before, model.parameters(), strict=True))
    assert exported.updates == {f"attr_{i}": f"attr_{i}@updated" for i in range(4)}
    compiled = optimize(exported.model)
    onnx.checker.check_model(compiled, full_check=True)
    results = [run(graph, sample) for graph in (exported.model, compiled)]
    loss = step(sample)["loss"]
    for result in results:
        assert torch.allclose(result["loss"], loss)
        for name, parameter in exported.params.items():
            assert torch.allclose(result[exported.updates[name]], parameter, atol=1e-6)


def test_batch_statistics_momentum_and_counter() -> None:
    class Net(nn.Module):
        count: torch.Tensor

        def __init__(self) -> None:
            super().__init__()
            self.linear = nn.Linear(8, 6)
            self.norm = nn.BatchNorm1d(6)
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.count += 1
            result: torch.Tensor = self.norm(self.linear(x))
            return result

    torch.manual_seed(2)
    net = Net().train()
    optimizer = torch.optim.SGD(net.parameters(), 0.1, 0.9, weight_decay=0.01)

    def step(inp: Inputs) -> Inputs:
        optimizer.zero_grad()
        y = net(inp["x"])
        loss = (y * y * inp["w"]).mean()
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    sample = {"x": torch.randn(5, 8), "w": torch.randn(5, 6)}
    with pytest.raises(MutationError, match="momentum_buffer"):
        export(step, sample)
    assert not optimizer.state
    step(sample)  # the state exists from here on
    saved = {id(v): v.clone() for group in optimizer.state.values() for v in group.values()}
    exported = export(step, sample)
    assert all(torch.equal(v, saved[id(v)]) for group in optimizer.state.values() for v in group.values())
    result = run(optimize(exported.model), sample)
    loss = step(sample)["loss"]
    assert torch.allclose(result["loss"], loss)
    # 4 parameters, their momenta, running mean and variance, the batch counter and our own counter.
    assert len(exported.updates) == 12
    for name, output in exported.updates.items():
        assert torch.allclose(result[output], exported.params[name], atol=1e-6), name


def test_gradient_accumulates_into_existing_state() -> None:
    net = nn.Linear(3, 2)
    for parameter in net.parameters():
        parameter.grad = torch.ones_like(parameter)

    def step(inp: Inputs) -> Inputs:
        loss = net(inp["x"]).square().sum()
        loss.backward()
        return {"loss": loss}

    sample = {"x": torch.randn(4, 3)}
    exported = export(step, sample)
    gradients = [parameter.grad for parameter in net.parameters()]
    assert all(torch.equal(g, torch.ones_like(g)) for g in gradients if g is not None)
    result = run(exported.model, sample)
    step(sample)
    updated = {id(exported.params[name]): result[output] for name, output in exported.updates.items()}
    assert len(updated) == 2
    for parameter in net.parameters():
        assert parameter.grad is not None
        assert torch.allclose(updated[id(parameter.grad)], parameter.grad, atol=1e-5)


def test_gradients_as_outputs_without_update() -> None:
    model = MNCoreClassifier().train()
    weight = model.linear2.weight

    def step(inp: Inputs) -> Inputs:
        loss = model(inp["x"], inp["t"])["loss"]
        (gradient,) = torch.autograd.grad(loss, [weight])
        return {"gradient": gradient}

    sample = mnist_sample(8)
    exported = export(step, sample)
    assert not exported.updates
    assert torch.allclose(run(exported.model, sample)["gradient"], step(sample)["gradient"], atol=1e-6)


def test_data_attribute_is_recorded() -> None:
    state = torch.ones(3)

    def step(inp: Inputs) -> Inputs:
        state.data = state.data * 2 + inp["x"]
        state.data.add_(1)
        return {"y": state * 1}

    exported = export(step, {"x": torch.full((3,), 0.5)})
    result = run(exported.model, {"x": torch.full((3,), 0.5)})
    assert torch.equal(result["y"], torch.full((3,), 3.5))
    assert torch.equal(result["attr_0@updated"], torch.full((3,), 3.5))
    assert torch.equal(state, torch.ones(3))


def test_without_training_there_is_no_gradient() -> None:
    net = nn.Linear(3, 2)

    def step(inp: Inputs) -> Inputs:
        y = net(inp["x"])
        return {"y": y, "flag": torch.tensor(float(y.requires_grad))}

    sample = {"x": torch.ones(1, 3)}
    assert run(export(step, sample, training=True).model, sample)["flag"] == 1
    assert run(export(step, sample, training=False).model, sample)["flag"] == 0
