"""Training of MNCoreClassifier on a device, in the form of the tutorial's mnist_train.py (seed listing 3.5).

python -m mlsdk.examples.mnist_train --device mncore2:auto --outdir out/mnist_train
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import torch

from mlsdk import (
    Context,
    MNCoreOptimizer,
    MNCoreSGD,
    MNDevice,
    set_buffer_name_in_optimizer,
    set_tensor_name_in_module,
    storage,
)
from mlsdk.compiled import CompiledFunction
from mlsdk.examples.cli import options_of, parser, positive, run
from mlsdk.examples.mnist_common import DigitLoader, MNCoreClassifier, mnist_loaders

BATCH, EVAL_BATCH = 64, 125
Step = Callable[[Mapping[str, torch.Tensor]], dict[str, torch.Tensor]]


def make_train_step(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> Step:
    """{"x", "t"} -> {"loss"}; forward, backward and update of one batch."""

    def train_step(inp: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        x, t = inp["x"], inp["t"]
        optimizer.zero_grad()
        loss: torch.Tensor = model(x, t)["loss"]
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    return train_step


def prepare(context: Context, model: torch.nn.Module) -> MNCoreSGD:
    """Name and register the model and its optimizer."""
    set_tensor_name_in_module(model, "model")
    optimizer = MNCoreSGD(model.parameters(), 0.1, 0.9, 0.0)
    set_buffer_name_in_optimizer(optimizer, "optimizer0")
    for parameter in model.parameters():
        context.register_param(parameter)
    context.register_optimizer_buffers(optimizer)
    return optimizer


def train(step: CompiledFunction, loader: DigitLoader, iterations: int) -> list[float]:
    """Run that many iterations, over as many epochs as they need; returns the losses."""
    losses: list[float] = []
    begin = time.perf_counter()
    for number, sample in enumerate(_forever(loader)):
        if number == iterations:
            break
        losses.append(step(sample)["loss"].item())
        if number % 100 == 0 or number == iterations - 1:
            recent = losses[-100:]
            seconds = time.perf_counter() - begin
            print(f"iter {number:5}, loss {sum(recent) / len(recent):.4f}, {(number + 1) / seconds:.1f} steps/s")
    return losses


def save(folder: Path, model: torch.nn.Module, optimizer: MNCoreOptimizer) -> Path:
    """Write the checkpoint that mnist_infer reads."""
    path = storage.path(folder) / "checkpoint.pt"
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    torch.save({"model_state_dict": model.state_dict(), "optim_state_dict": optimizer.state_dict()}, part)
    part.replace(path)
    return path


def main(args: argparse.Namespace) -> list[float]:
    """Train and save; returns the losses."""
    torch.manual_seed(0)
    train_loader, _ = mnist_loaders(BATCH, EVAL_BATCH)
    model = MNCoreClassifier()
    device = MNDevice(args.device)
    context = Context(device)
    Context.switch_context(context)
    optimizer = prepare(context, model)
    step = context.compile(
        make_train_step(model, optimizer),
        next(iter(train_loader)),
        storage.path(args.outdir) / "train_step",
        options=options_of(args),
    )
    if step.report:
        print(f"train_step: {step.report['vsm_cycles']} cycles")
    losses = train(step, train_loader, args.iterations)
    context.synchronize()
    for what, seconds in device.seconds.items():
        print(f"{what}: {1e3 * seconds / args.iterations:.1f} ms per step")
    print(f"Data: {train_loader.source}\nsaved {save(args.outdir, model, optimizer)}")
    return losses


def _forever(loader: DigitLoader) -> Iterator[dict[str, torch.Tensor]]:
    while True:
        yield from loader


if __name__ == "__main__":
    arguments = parser(__doc__, "mnist_train")
    arguments.add_argument("--iterations", type=positive, default=937, help="937 are one epoch of MNIST")
    run(main, arguments.parse_args())
