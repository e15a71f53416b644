"""Training steps as people write them, compiled and run for two batches: losses and parameters are PyTorch's.

On the device that runs ONNX operator by operator, and on the chip in single precision; most of them are slow tests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mlsdk import (
    Context,
    MNCoreAdamW,
    MNCoreLRScheduler,
    MNCoreOptimizer,
    MNCoreSGD,
    MNDevice,
    set_buffer_name_in_optimizer,
    set_tensor_name_in_module,
)

Batch = dict[str, Tensor]
Loss = Callable[[Any, Batch], Tensor]


@dataclass
class Case:
    """What differs between the scripts."""

    make: Callable[[], nn.Module]
    loss: Loss = lambda m, b: F.cross_entropy(m(b["x"]), b["t"])
    optimizer: Callable[[nn.Module], MNCoreOptimizer] = lambda m: MNCoreSGD(m.parameters(), 0.1, 0.9)
    before_step: Callable[[nn.Module], object] = lambda m: None
    schedule: Callable[[MNCoreOptimizer], Any] | None = None
    tokens: bool = False


class Attention(nn.Module):
    """Causal attention with one product for queries, keys and values."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(7, 8)
        self.into, self.out = nn.Linear(8, 24), nn.Linear(8, 7)
        self.register_buffer("position", torch.linspace(-1, 1, 40).view(5, 8))

    def forward(self, x: Tensor) -> Tensor:
        parts = self.into(self.table(x) + self.position).split(8, -1)
        q, k, v = (part.view(2, 5, 2, 4).transpose(1, 2) for part in parts)
        scores = (q @ k.transpose(-2, -1)) / 2
        scores = scores.masked_fill(torch.tril(torch.ones(5, 5)) == 0, float("-inf"))
        result: Tensor = self.out((F.softmax(scores, -1) @ v).transpose(1, 2).reshape(2, 5, 8))
        return result


class Encoder(nn.Module):
    """A layer of a transformer with its embedding; the output table is that of the input."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(7, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True, activation="gelu")
        self.out = nn.Linear(8, 7, bias=False)
        self.out.weight = self.table.weight

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.out(self.layer(self.table(x)))
        return result


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell, self.out = nn.LSTM(3, 5, batch_first=True), nn.Linear(5, 4)

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = self.out(self.cell(x.view(8, 2, 3))[0][:, -1])
        return result


def _mlp(*middle: Callable[[], nn.Module]) -> Callable[[], nn.Module]:
    return lambda: nn.Sequential(nn.Linear(6, 8), *(make() for make in middle), nn.Linear(8, 4))


def _groups(m: nn.Module) -> MNCoreOptimizer:
    """No decay for vectors, and a rate of their own."""
    decayed = [p for p in m.parameters() if p.dim() > 1]
    others: Iterable[Any] = [p for p in m.parameters() if p.dim() < 2]
    groups = [{"params": decayed, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0, "lr": 0.02}]
    return MNCoreAdamW(groups, lr=0.01)


def _warmup(o: MNCoreOptimizer) -> Any:
    parts = [torch.optim.lr_scheduler.LinearLR(o, 0.1, 1.0, 1), torch.optim.lr_scheduler.CosineAnnealingLR(o, 3)]
    return torch.optim.lr_scheduler.SequentialLR(o, parts, milestones=[1])


def _next_token(m: nn.Module, b: Batch) -> Tensor:
    return F.cross_entropy(m(b["x"]).reshape(-1, 7), b["t"].reshape(-1), ignore_index=0)


CASES = {
    "clipped": Case(_mlp(nn.ReLU), before_step=lambda m: nn.utils.clip_grad_norm_(m.parameters(), 0.1)),
    "clipped by value": Case(_mlp(nn.ReLU), before_step=lambda m: nn.utils.clip_grad_value_(m.parameters(), 0.01)),
    "groups": Case(_mlp(nn.ReLU), optimizer=_groups),
    "warmup": Case(_mlp(nn.ReLU), schedule=_warmup),
    "smoothed": Case(_mlp(nn.SiLU), lambda m, b: F.cross_entropy(m(b["x"]), b["t"], label_smoothing=0.1)),
    "normalised": Case(_mlp(lambda: nn.LayerNorm(8), nn.GELU)),
    "batch norm": Case(_mlp(lambda: nn.BatchNorm1d(8), nn.Tanh)),
    "picked": Case(_mlp(nn.ELU), lambda m, b: -F.log_softmax(m(b["x"]), -1)[torch.arange(8), b["t"]].mean()),
    "attention": Case(Attention, _next_token, tokens=True),
    "encoder": Case(Encoder, _next_token, tokens=True),
    "recurrent": Case(Recurrent),
}
QUICK = ("clipped", "groups", "batch norm", "picked", "attention")
QUICK_ON_THE_CHIP = ("normalised",)


def _cases(quick: tuple[str, ...]) -> list[Any]:
    return [pytest.param(name, marks=[] if name in quick else pytest.mark.slow) for name in CASES]


def _batches(case: Case) -> list[Batch]:
    generator = torch.Generator().manual_seed(1)
    if case.tokens:
        return [{n: torch.randint(0, 7, (2, 5), generator=generator) for n in "xt"} for _ in range(2)]
    draw = [(torch.randn(8, 6, generator=generator), torch.randint(0, 4, (8,), generator=generator)) for _ in range(2)]
    return [{"x": x, "t": t} for x, t in draw]


def _script(case: Case) -> tuple[nn.Module, MNCoreOptimizer, Callable[[Batch], Batch]]:
    torch.manual_seed(0)
    model = case.make().train()
    optimizer = case.optimizer(model)

    def step(inp: Batch) -> Batch:
        optimizer.zero_grad()
        loss = case.loss(model, inp)
        loss.backward()
        case.before_step(model)
        optimizer.step()
        return {"loss": loss}

    return model, optimizer, step


def _run(case: Case, device: str, folder: Path) -> None:
    model, optimizer, step = _script(case)
    context = Context(MNDevice(device))
    set_tensor_name_in_module(model, "model")
    set_buffer_name_in_optimizer(optimizer, "optimizer")
    for tensor in (*model.parameters(), *model.buffers()):
        context.register_buffer(tensor)
    context.register_optimizer_buffers(optimizer)
    scheduler = MNCoreLRScheduler(case.schedule(optimizer), context) if case.schedule else None
    batches = _batches(case)
    compiled = context.compile(step, batches[0], folder, options={"float_dtype": "float"}, quiet=True)

    expected, own, own_step = _script(case)
    own_scheduler = case.schedule(own) if case.schedule else None
    for batch in batches:
        want = own_step(batch)["loss"].item()
        assert compiled(batch)["loss"].item() == pytest.approx(want, rel=1e-3)
        if scheduler is not None and own_scheduler is not None:
            scheduler.step()
            own_scheduler.step()
    context.synchronize()
    for (name, got), wanted in zip(model.state_dict().items(), expected.state_dict().values(), strict=True):
        torch.testing.assert_close(got, wanted, rtol=5e-3, atol=2e-3, msg=lambda text, name=name: f"{name}: {text}")


@pytest.mark.parametrize("name", _cases(QUICK))
def test_operator_by_operator(name: str, tmp_path: Path) -> None:
    _run(CASES[name], "pfvm:cpu", tmp_path / "f")


@pytest.mark.parametrize("name", _cases(QUICK_ON_THE_CHIP))
def test_on_the_chip(name: str, tmp_path: Path) -> None:
    _run(CASES[name], "emu2", tmp_path / "f")
