"""Add two tensors on a device: the smallest compiled function.

python -m mlsdk.examples.add --device mncore2:auto
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

import torch

from mlsdk import CacheOptions, Context, MNDevice, storage
from mlsdk.examples.cli import options_of, parser, run


def add(inp: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """{"x", "y"} -> {"out": x + y}."""
    return {"out": inp["x"] + inp["y"]}


def main(args: argparse.Namespace) -> torch.Tensor:
    """Compile (a second run finds the program in the cache) and call once; returns the sum."""
    context = Context(MNDevice(args.device))
    Context.switch_context(context)
    sample = {"x": torch.randn(3, 4), "y": torch.randn(3, 4)}
    compiled = context.compile(
        add,
        sample,
        storage.path(args.outdir) / "add",
        options=options_of(args),
        cache_options=CacheOptions(str(args.outdir / "cache")),
    )
    out = compiled(sample)["out"].cpu()
    print(f"{out}\nlargest difference to PyTorch: {(out - add(sample)['out']).abs().max().item()}")
    return out


if __name__ == "__main__":
    run(main, parser(__doc__, "add").parse_args())
