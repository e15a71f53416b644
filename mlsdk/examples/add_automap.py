"""A function with any signature: containers of tensors go in and come back (mlsdk.md 12).

python -m mlsdk.examples.add_automap --device mncore2:auto
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import NamedTuple

import torch

from mlsdk import Context, MNDevice, register_pytree_dataclass, register_pytree_namedtuple, storage
from mlsdk.examples.cli import options_of, parser, run


@register_pytree_namedtuple
class Pair(NamedTuple):
    """Two tensors of one shape."""

    left: torch.Tensor
    right: torch.Tensor


@register_pytree_dataclass
@dataclass
class Sums:
    """What `add` gives."""

    plain: torch.Tensor
    scaled: torch.Tensor


def add(pair: Pair, *, scale: float) -> Sums:
    """The sum of a pair, plain and scaled; `scale` is no tensor and becomes part of the program."""
    total = pair.left + pair.right
    return Sums(plain=total, scaled=total * scale)


def main(args: argparse.Namespace) -> Sums:
    """Compile and call once; returns what the device computed, its leaves on the host."""
    context = Context(MNDevice(args.device))
    Context.switch_context(context)
    pair = Pair(torch.randn(3, 4), torch.randn(3, 4))
    compiled = context.compile_automap(
        add, (pair,), {"scale": 2.0}, storage.path(args.outdir) / "add", options=options_of(args)
    )
    result = compiled(pair, scale=2.0)
    sums = Sums(result.plain.cpu(), result.scaled.cpu())
    print(sums)
    return sums


if __name__ == "__main__":
    run(main, parser(__doc__, "add_automap").parse_args())
