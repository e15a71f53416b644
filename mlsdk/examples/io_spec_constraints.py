"""Make one function's input fit another one's output, so that the data stays where it is.

python -m mlsdk.examples.io_spec_constraints --device mncore2:auto
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping

import torch

from mlsdk import Context, MNDevice, storage
from mlsdk.examples.cli import options_of, parser, run


def _double(inp: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {"doubled": inp["x"] + inp["x"]}


def _negate(inp: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {"negative": -inp["value"]}


def main(args: argparse.Namespace) -> torch.Tensor:
    """Chain two functions over the device; returns the last result."""
    context = Context(MNDevice(args.device))
    sample = torch.randn(8, 16)
    folder = storage.path(args.outdir)
    double = context.compile(_double, {"x": sample}, folder / "double", options=options_of(args), training=False)
    negate = context.compile(
        _negate,
        {"value": sample},
        folder / "negate",
        options=options_of(args),
        training=False,
        io_spec_constraints={"value": double.output_specs["doubled"]},
    )
    assert double.output_specs["doubled"].is_memcopyable_to(negate.input_specs["value"])
    result = negate({"value": double({"x": sample})["doubled"]})["negative"].cpu()
    print(f"largest difference to PyTorch: {(result + 2 * sample).abs().max().item():.2e}")
    return result


if __name__ == "__main__":
    run(main, parser(__doc__, "io_spec_constraints").parse_args())
