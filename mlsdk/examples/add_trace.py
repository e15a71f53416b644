"""Record what the host does in a trace that Perfetto opens.

python -m mlsdk.examples.add_trace --device mncore2:auto
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from mlsdk import Context, MNDevice, storage, trace_event, trace_scope
from mlsdk.examples.add import add
from mlsdk.examples.cli import options_of, parser, run


def main(args: argparse.Namespace) -> list[Path]:
    """Trace a compilation and three calls, in both formats; returns the files."""
    context = Context(MNDevice(args.device))
    Context.switch_context(context)
    sample = {"x": torch.randn(3, 4), "y": torch.randn(3, 4)}
    files = [args.outdir / "trace.pb", args.outdir / "trace.json"]
    args.outdir.mkdir(parents=True, exist_ok=True)
    for file in files:
        with trace_scope(str(file)):
            with trace_event("compile"):
                compiled = context.compile(add, sample, storage.path(args.outdir) / "add", options=options_of(args))
            for _ in range(3):
                with trace_event("call and read"):
                    compiled(sample)["out"].cpu()
        print(f"{file}: {file.stat().st_size} bytes; Perfetto opens it")
    return files


if __name__ == "__main__":
    run(main, parser(__doc__, "add_trace").parse_args())
