"""Use a finished compilation without the function it came from (seed 4.3).

python -m mlsdk.examples.load_codegen_dir --device mncore2:auto
"""

from __future__ import annotations

import argparse

import torch

from mlsdk import Context, MNDevice, storage
from mlsdk.examples.add import add
from mlsdk.examples.cli import options_of, parser, run


def main(args: argparse.Namespace) -> tuple[torch.Tensor, torch.Tensor]:
    """Compile once, load the folder in a context that never saw the function; returns both results."""
    device = MNDevice(args.device)
    sample = {"x": torch.randn(3, 4), "y": torch.randn(3, 4)}
    folder = storage.path(args.outdir) / "add"
    compiled = Context(device).compile(add, sample, folder, options=options_of(args))
    loaded = Context(device).load_codegen_dir(folder)
    first, second = compiled(sample)["out"].cpu(), loaded(sample)["out"].cpu()
    print("bit-identical:", torch.equal(first, second))
    return first, second


if __name__ == "__main__":
    run(main, parser(__doc__, "load_codegen_dir").parse_args())
