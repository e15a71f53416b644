"""Training on the chip, step by step bit-equal to a loop over the NumPy references of the layers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from compiler.artifacts import optimize_logged
from compiler.codegen import compile_model
from compiler.compiled import Compiled
from compiler.frontend import export
from compiler.graph import decode
from compiler.layers.reference import run_reference
from compiler.options import Options
from mlsdk import (
    Context,
    MNCoreAdam,
    MNCoreOptimizer,
    MNCoreSGD,
    MNDevice,
    get_tensor_name,
    set_buffer_name_in_optimizer,
    set_tensor_name_in_module,
)
from mlsdk.examples.mnist_cnn import DigitNet

Batch = dict[str, torch.Tensor]


def _mlp(*widths: int) -> torch.nn.Sequential:
    torch.manual_seed(len(widths))
    first, *rest = [torch.nn.Linear(n, m) for n, m in itertools.pairwise(widths)]
    return torch.nn.Sequential(first, *(part for layer in rest for part in (torch.nn.ReLU(), layer)))


def _batches(count: int, batch: int, features: int | tuple[int, ...], classes: int) -> list[Batch]:
    rng = torch.Generator().manual_seed(1)
    shape = features if isinstance(features, tuple) else (features,)
    return [
        {
            "x": torch.rand(batch, *shape, generator=rng) - 0.5,
            "t": torch.randint(classes, (batch,), generator=rng),
        }
        for _ in range(count)
    ]


def _train_step(model: torch.nn.Module, optimizer: MNCoreOptimizer) -> Callable[[Mapping[str, torch.Tensor]], Batch]:
    def step(inp: Mapping[str, torch.Tensor]) -> Batch:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(inp["x"]), inp["t"])
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    return step


class Reference:
    """The compiled program's graph computed in NumPy; its parameters are carried from step to step."""

    def __init__(self, compiled: Compiled, updates: Mapping[str, str]) -> None:
        self._compiled = compiled
        self._updates = updates

    def step(self, batch: Batch) -> dict[str, NDArray[np.float32]]:
        """Loss and new contents of the parameters as the framework sees them, by output and parameter."""
        graph, stored = self._compiled.graph, self._compiled.stored
        raw = run_reference(graph, {name: batch[name].numpy() for name in graph.inputs})
        seen = {name: decode(raw[held], graph.values[held].dtype, np.float32) for name, held in stored.items()}
        result = {"loss": seen["loss"]}
        for param, output in self._updates.items():
            result[param] = seen[output]
            for name in (param, *(image for image, of in graph.images.items() if of == param)):
                if name in graph.values:
                    graph.values[name].constant = seen[output]
        return result


def _compare(folder: Path, model: torch.nn.Module, optimizer: MNCoreOptimizer, batches: list[Batch]) -> list[float]:
    context = Context(MNDevice("emu2"))
    set_tensor_name_in_module(model, "model")
    set_buffer_name_in_optimizer(optimizer, "opt")
    for parameter in model.parameters():
        context.register_param(parameter)
    context.register_optimizer_buffers(optimizer)
    function = _train_step(model, optimizer)
    step = context.compile(function, batches[0], folder / "step", quiet=True)

    options = Options.resolve({}, {})
    exported = export(function, batches[0], tensor_names=get_tensor_name, training=True)
    compiled = compile_model(optimize_logged(exported.model, options, folder), options, updates=exported.updates)
    assert compiled.program.source == (folder / "step" / "model.vsm").read_text()  # the very program that runs
    reference = Reference(compiled, exported.updates)
    states = {name: tensor for name, tensor in exported.params.items() if name in exported.updates}
    assert len(states) >= 2 * len(list(model.parameters()))

    losses = []
    for number, batch in enumerate(batches):
        wanted = reference.step(batch)
        loss = step(batch)["loss"].cpu().numpy()
        assert loss.view(np.uint32) == wanted["loss"].view(np.uint32), f"loss of step {number}"
        for name, tensor in states.items():
            got = context.get_registered_value_proxy(tensor).cpu().numpy()
            np.testing.assert_array_equal(
                got.view(np.uint32), wanted[name].view(np.uint32), f"{name} after step {number}"
            )
        losses.append(float(loss))
    return losses


def test_small_steps_of_sgd_with_momentum(tmp_path: Path) -> None:
    model = _mlp(20, 16, 4)
    losses = _compare(tmp_path, model, MNCoreSGD(model.parameters(), 0.1, 0.9, 0.0), _batches(10, 8, 20, 4))
    assert all(np.isfinite(losses)) and len(set(losses)) == 10


def test_small_steps_of_convolutions(tmp_path: Path) -> None:
    """Stride, padding, windows that overlap, and gradients of all that."""
    torch.manual_seed(3)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(2, 5, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.MaxPool2d(3, 2, 1),
        torch.nn.Conv2d(5, 3, 3, stride=2, padding=1),
        torch.nn.ReLU(),
        torch.nn.AvgPool2d(2),
        torch.nn.Flatten(),
        torch.nn.Linear(3, 4),
    )
    losses = _compare(tmp_path, model, MNCoreSGD(model.parameters(), 0.1, 0.9, 0.0), _batches(3, 5, (2, 7, 7), 4))
    assert all(np.isfinite(losses)) and len(set(losses)) == 3


@pytest.mark.slow
def test_digits_with_convolutions(tmp_path: Path) -> None:
    torch.manual_seed(0)
    model = DigitNet()
    layers = torch.nn.Sequential(
        *(part for convolution in (model.conv1, model.conv2) for part in (convolution, torch.nn.ReLU(), _halved())),
        torch.nn.Flatten(),
        *(model.linear1, torch.nn.ReLU(), model.linear2, torch.nn.ReLU(), model.linear3),
    )
    losses = _compare(tmp_path, layers, MNCoreSGD(model.parameters(), 0.1, 0.9, 0.0), _batches(3, 64, (1, 32, 32), 10))
    assert all(np.isfinite(losses))


def _halved() -> torch.nn.Module:
    return torch.nn.MaxPool2d(2)


@pytest.mark.slow
def test_small_steps_of_adam(tmp_path: Path) -> None:
    model = _mlp(20, 16, 4)
    losses = _compare(tmp_path, model, MNCoreAdam(model.parameters(), 0.01), _batches(5, 8, 20, 4))
    assert all(np.isfinite(losses))


@pytest.mark.slow
def test_mnist_size(tmp_path: Path) -> None:
    model = _mlp(1024, 256, 10)
    losses = _compare(tmp_path, model, MNCoreSGD(model.parameters(), 0.1, 0.9, 0.0), _batches(50, 64, 1024, 10))
    assert all(np.isfinite(losses))
