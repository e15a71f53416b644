"""Train a small model: forward, backward and update are one program on the device.

python -m mlsdk.examples.train --device mncore2:auto
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

import torch

from mlsdk import (
    Context,
    MNCoreSGD,
    MNDevice,
    set_buffer_name_in_optimizer,
    set_tensor_name_in_module,
    storage,
)
from mlsdk.examples.cli import options_of, parser, run


def main(args: argparse.Namespace) -> list[float]:
    """Fit a linear map by least squares; returns the losses."""
    context = Context(MNDevice(args.device))
    Context.switch_context(context)
    torch.manual_seed(0)
    model = torch.nn.Linear(16, 4)
    set_tensor_name_in_module(model, "model")
    optimizer = MNCoreSGD(model.parameters(), 0.1, 0.9, 0.0)
    set_buffer_name_in_optimizer(optimizer, "optimizer")
    for parameter in model.parameters():
        context.register_param(parameter)
    context.register_optimizer_buffers(optimizer)

    def train_step(inp: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        optimizer.zero_grad()
        difference = model(inp["x"]) - inp["y"]
        loss = (difference * difference).mean()
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    wanted = torch.randn(4, 16)
    x = torch.randn(args.steps, 32, 16)
    sample = {"x": x[0], "y": x[0] @ wanted.T}
    compiled = context.compile(train_step, sample, storage.path(args.outdir) / "train", options=options_of(args))
    losses = [compiled({"x": batch, "y": batch @ wanted.T})["loss"].item() for batch in x]
    context.synchronize()  # the trained parameters come back into `model`
    print(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}; error of the weights "
          f"{(model.weight.detach() - wanted).abs().max().item():.4f}")  # fmt: skip
    return losses


if __name__ == "__main__":
    arguments = parser(__doc__, "train")
    arguments.add_argument("--steps", type=int, default=40)
    run(main, arguments.parse_args())
