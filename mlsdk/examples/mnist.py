"""Train, synchronize, save and evaluate MNCoreClassifier on a device (the flow of the tutorial's mnist.py, seed 3.1).

python -m mlsdk.examples.mnist --device mncore2:auto --outdir out/mnist
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

import torch

from mlsdk import Context, MNDevice, storage
from mlsdk.examples.cli import options_of, parser, positive, run
from mlsdk.examples.mnist_common import MNCoreClassifier, make_eval_step, mnist_loaders
from mlsdk.examples.mnist_train import BATCH, EVAL_BATCH, make_train_step, prepare, save, train


def main(args: argparse.Namespace) -> dict[str, Any]:
    """Returns losses, accuracy and the cycles of the two programs."""
    torch.manual_seed(0)
    return train_and_evaluate(args, MNCoreClassifier(), options_of(args))


def train_and_evaluate(args: argparse.Namespace, model: torch.nn.Module, options: Mapping[str, Any]) -> dict[str, Any]:
    """Train, save and evaluate; both steps share the parameters on the device."""
    train_loader, eval_loader = mnist_loaders(BATCH, EVAL_BATCH)
    context = Context(MNDevice(args.device))
    Context.switch_context(context)
    optimizer = prepare(context, model)
    folder = storage.path(args.outdir)
    train_step = context.compile(
        make_train_step(model, optimizer), next(iter(train_loader)), folder / "train_step", options=options
    )
    model.eval()
    eval_step = context.compile(
        make_eval_step(model), next(iter(eval_loader)), folder / "eval_step", options=options, training=False
    )
    cycles = {name: step.report.get("vsm_cycles") for name, step in (("train", train_step), ("eval", eval_step))}
    losses = train(train_step, train_loader, args.iterations)
    context.synchronize()
    checkpoint = save(args.outdir, model, optimizer)
    correct = sum(int(eval_step(sample)["correct"].item()) for sample in eval_loader)
    total = len(eval_loader.dataset)
    print(f"Data: {train_loader.source}\nsaved {checkpoint}\ncycles per step: {cycles}")
    print(f"Correct: {correct} / {total}. Accuracy: {correct / total}")
    return {"losses": losses, "accuracy": correct / total, "cycles": cycles}


if __name__ == "__main__":
    arguments = parser(__doc__, "mnist")
    arguments.add_argument("--iterations", type=positive, default=937, help="937 are one epoch of MNIST")
    run(main, arguments.parse_args())
