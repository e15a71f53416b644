"""Inference of one model whose parameters live on the device.

python -m mlsdk.examples.infer --device mncore2:auto
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

import torch

from mlsdk import Context, MNDevice, set_tensor_name_in_module, storage
from mlsdk.examples.cli import options_of, parser, run


def main(args: argparse.Namespace) -> torch.Tensor:
    """Returns the model's output as the device gives it."""
    context = Context(MNDevice(args.device))
    Context.switch_context(context)
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(32, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).eval()
    set_tensor_name_in_module(model, "model")
    for parameter in model.parameters():
        context.register_param(parameter)

    def infer(inp: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        return {"y": model(inp["x"])}

    sample = {"x": torch.randn(8, 32)}
    compiled = context.compile(
        infer, sample, storage.path(args.outdir) / "infer", options=options_of(args), training=False
    )
    y = compiled(sample)["y"].cpu()
    with torch.no_grad():
        print(f"largest difference to PyTorch: {(y - model(sample['x'])).abs().max().item():.2e}")
    return y


if __name__ == "__main__":
    run(main, parser(__doc__, "infer").parse_args())
