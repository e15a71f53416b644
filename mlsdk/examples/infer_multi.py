"""Two models in one context: the context tells their tensors apart by the prefix of their names.

python -m mlsdk.examples.infer_multi --device mncore2:auto
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

import torch

from mlsdk import Context, MNDevice, set_tensor_name_in_module, storage
from mlsdk.examples.cli import options_of, parser, run

Step = Callable[[Mapping[str, torch.Tensor]], dict[str, torch.Tensor]]


def _inference(model: torch.nn.Module) -> Step:
    return lambda inp: {"y": model(inp["x"])}


def main(args: argparse.Namespace) -> torch.Tensor:
    """The first model's output, still on the device, is the second one's input; returns the last output."""
    context = Context(MNDevice(args.device))
    Context.switch_context(context)
    torch.manual_seed(0)
    models = {"encoder": torch.nn.Linear(32, 16).eval(), "head": torch.nn.Linear(16, 4).eval()}
    samples = {"encoder": torch.randn(8, 32), "head": torch.zeros(8, 16)}
    steps = {}
    for name, model in models.items():
        set_tensor_name_in_module(model, name)
        for parameter in model.parameters():
            context.register_param(parameter)
        steps[name] = context.compile(
            _inference(model),
            {"x": samples[name]},
            storage.path(args.outdir) / name,
            options=options_of(args),
            training=False,
        )
    hidden = steps["encoder"]({"x": samples["encoder"]})["y"]
    y = steps["head"]({"x": hidden})["y"].cpu()
    with torch.no_grad():
        expected = models["head"](models["encoder"](samples["encoder"]))
    print(f"largest difference to PyTorch: {(y - expected).abs().max().item():.2e}")
    return y


if __name__ == "__main__":
    run(main, parser(__doc__, "infer_multi").parse_args())
