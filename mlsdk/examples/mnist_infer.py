"""Inference of MNCoreClassifier on a device, in the form of the tutorial's mnist_infer.py (seed listing 3.2).

python -m mlsdk.examples.mnist_infer --device mncore2:auto --outdir out/mnist_infer --checkpoint
out/demo/checkpoint.pt
"""

from __future__ import annotations

import argparse
import pickle
import sys
from pathlib import Path

import torch

from mlsdk import Context, MNDevice, set_tensor_name_in_module, storage
from mlsdk.errors import MLSDKError
from mlsdk.examples.mnist_common import MNCoreClassifier, make_eval_step, mnist_loaders


def main(checkpoint_path: Path, outdir: Path, option_json_path: Path | None, device_str: str) -> int:
    """Evaluate the checkpoint; returns the number of right predictions.  Artifacts go to `<outdir>/eval_step`."""
    batch_size = 64
    eval_batch_size = 125
    _, eval_loader = mnist_loaders(batch_size, eval_batch_size)

    model_with_loss_fn = MNCoreClassifier()
    try:
        checkpoint = torch.load(checkpoint_path, weights_only=True)
    except (pickle.UnpicklingError, RuntimeError, EOFError):
        raise OSError(f"{checkpoint_path} is no checkpoint as the demo saves it") from None
    model_with_loss_fn.load_state_dict(checkpoint["model_state_dict"])
    model_with_loss_fn.eval()

    device = MNDevice(device_str)
    context = Context(device)
    Context.switch_context(context)
    set_tensor_name_in_module(model_with_loss_fn, "model")
    for parameter in model_with_loss_fn.parameters():
        context.register_param(parameter)

    compiled_eval_step = context.compile(
        make_eval_step(model_with_loss_fn),
        next(iter(eval_loader)),
        storage.path(outdir) / "eval_step",
        options={"option_json": str(option_json_path)} if option_json_path else {},
        training=False,
    )

    correct = 0
    for sample in eval_loader:
        correct += int(compiled_eval_step(sample)["correct"].item())
    total = len(eval_loader.dataset)
    print(f"Data: {eval_loader.source}")
    print(f"Correct: {correct} / {total}. Accuracy: {correct / total}")
    return correct


def parse(arguments: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Evaluate the digit classifier on a device.")
    parser.add_argument(
        "--device", default="mncore2:auto", help="mncore2:auto, mncore2:<index>, emu2, pfvm:cpu, pfvm:cuda"
    )
    parser.add_argument("--option_json", type=Path, help="file with compile options, or a preset")
    parser.add_argument("--outdir", type=Path, default=Path("out/mnist_infer"), help="folder for artifacts")
    parser.add_argument("--checkpoint", type=Path, default=Path("out/demo/checkpoint.pt"), help="as saved by the demo")
    options = parser.parse_args(arguments)
    if not options.checkpoint.is_file():
        parser.error(
            f"there is no checkpoint {options.checkpoint}; `make demo` trains one, or name another with --checkpoint"
        )
    return options


if __name__ == "__main__":
    args = parse()
    try:
        main(args.checkpoint, args.outdir, args.option_json, args.device)
    except (MLSDKError, OSError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
