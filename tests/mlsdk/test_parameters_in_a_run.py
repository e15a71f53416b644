"""Parameters that programs want behind each other in DRAM: shared by two programs, and changed between calls."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

from mlsdk import (
    Context,
    MNCoreAdam,
    MNDevice,
    set_buffer_name_in_optimizer,
    set_tensor_name_in_module,
    storage,
)
from runtime.app import App
from runtime.dram import Extent
from runtime.relocate import together
from runtime.transfer import image_of


def test_two_programs_share_a_run_and_see_new_values(tmp_path: Path) -> None:
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(512, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)).eval()
    context = Context(MNDevice("mncore2:auto"))
    set_tensor_name_in_module(model, "model")
    for parameter in model.parameters():
        context.register_param(parameter)
    x = torch.rand(60, 512)
    steps = [
        context.compile(
            lambda inp: {"y": model(inp["x"]).argmax(1)}, {"x": x}, storage.path(str(tmp_path / name)), training=False
        )
        for name in ("first", "second")
    ]
    app = App.load(tmp_path / "first" / "model.app")
    slots = [Extent(spec.addr, image_of(spec).slot_lws) for spec in app.params.values()]
    assert len(together(app.program, slots)) < len(slots)
    for factor in (1.0, -1.5):
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.mul_(factor)
                context.get_registered_value_proxy(parameter).load_from(parameter)
        want = model(x).argmax(1)
        for step in (*steps, steps[0]):
            assert (step({"x": x})["y"].cpu() == want).float().mean() > 0.95


def test_programs_that_want_parameters_of_one_form_in_different_orders(tmp_path: Path) -> None:
    torch.manual_seed(4)
    one, two = torch.nn.Linear(8, 8), torch.nn.Linear(8, 8)
    context = Context(MNDevice("mncore2:auto"))
    context.registry.register("model", torch.nn.ModuleList([one, two]))
    x = torch.randn(4, 8)
    functions = {}
    for name, (first, second) in {"forth": (one, two), "back": (two, one)}.items():
        functions[name] = context.compile(
            lambda inp, first=first, second=second: {"y": second(torch.relu(first(inp["x"])))},
            {"x": x},
            tmp_path / name,
            training=False,
        )
    want = {"forth": two(torch.relu(one(x))), "back": one(torch.relu(two(x)))}
    for name in ("forth", "back", "forth", "forth", "back"):
        torch.testing.assert_close(functions[name]({"x": x})["y"].cpu(), want[name].detach(), rtol=0, atol=1e-2)
    for parameter in (*one.parameters(), *two.parameters()):
        proxy = context.get_registered_value_proxy(parameter)
        torch.testing.assert_close(proxy.cpu(), parameter.detach(), rtol=0, atol=1e-2)


@pytest.mark.slow
def test_results_that_fill_their_slots_are_moved_one_by_one(tmp_path: Path) -> None:
    """Two new weights of 1,024 long words lie behind each other, yet each has a place of its own on the board."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 64))
    optimizer = MNCoreAdam(model.parameters(), 1e-3)
    context = Context(MNDevice("mncore2:auto"))
    set_tensor_name_in_module(model, "net")
    set_buffer_name_in_optimizer(optimizer, "optimizer")
    for parameter in model.parameters():
        context.register_param(parameter)
    context.register_optimizer_buffers(optimizer)

    def step(inp: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        optimizer.zero_grad()
        loss = (model(inp["x"]) - inp["x"]).square().mean()
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    x = torch.randn(50, 64)
    train = context.compile(step, {"x": x}, storage.path(str(tmp_path)), options={"scheduler": "spill_opt"})
    losses = [train({"x": x})["loss"].item() for _ in range(4)]
    assert losses == sorted(losses, reverse=True)


class _Last(torch.nn.Module):
    """Keeps what it saw last, and never reads it."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("last", torch.zeros(4, 5))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.no_grad():
            self.get_buffer("last").copy_(x * 2)
        return x + 1


@pytest.mark.parametrize("device", ["pfvm:cpu", "mncore2:auto"])
@pytest.mark.parametrize("registered", [True, False])
def test_a_buffer_that_is_only_written(tmp_path: Path, device: str, registered: bool) -> None:
    model, context = _Last(), Context(MNDevice(device))
    if registered:
        context.registry.register("model", model)
    else:
        set_tensor_name_in_module(model, "model")
    last, x = model.get_buffer("last"), torch.arange(20.0).reshape(4, 5)
    step = context.compile(lambda inp: {"y": model(inp["x"])}, {"x": x}, tmp_path / "step")
    for number in range(2):
        assert torch.equal(step({"x": x + number})["y"].cpu(), x + number + 1)
        context.synchronize()
        assert torch.equal(last, (x + number) * 2 if registered else torch.zeros(4, 5))
    if registered:
        reader = context.compile(lambda inp: {"y": inp["x"] + last}, {"x": x}, tmp_path / "reader")
        assert torch.equal(reader({"x": x})["y"].cpu(), x + (x + 1) * 2)
        other = Context(MNDevice(device))
        again = other.load_codegen_dir(tmp_path / "step")
        again({"x": x})
        other.registry.register("model", fresh := _Last())
        again({"x": x + 3})
        other.synchronize()
        assert torch.equal(fresh.get_buffer("last"), (x + 3) * 2)
