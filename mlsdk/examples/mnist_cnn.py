"""Train and evaluate a small convolution net (LeNet-5 with maxima in place of means) on a device.

python -m mlsdk.examples.mnist_cnn --device mncore2:auto --outdir out/mnist_cnn
"""

from __future__ import annotations

import argparse
from typing import Any

import torch
from torch.nn import functional

from mlsdk.examples.cli import options_of, parser, positive, run
from mlsdk.examples.mnist import train_and_evaluate

#: Values stay in local memory between forward and backward pass.
OPTIONS = {"scheduler": "spill_opt"}


class DigitNet(torch.nn.Module):
    """Two convolutions of 5 by 5 with maxima of 2 by 2, then three linear layers: 400 -> 120 -> 84 -> 10."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = torch.nn.Conv2d(1, 6, 5)
        self.conv2 = torch.nn.Conv2d(6, 16, 5)
        self.linear1 = torch.nn.Linear(400, 120)
        self.linear2 = torch.nn.Linear(120, 84)
        self.linear3 = torch.nn.Linear(84, 10)

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> dict[str, torch.Tensor]:
        """x float32 (n, 1, 32, 32), t int64 (n,) -> {"loss"} and, in evaluation mode, the logits "y" (n, 10)."""
        for convolution in (self.conv1, self.conv2):
            x = functional.max_pool2d(functional.relu(convolution(x)), 2)
        x = functional.relu(self.linear1(x.flatten(1)))
        y = self.linear3(functional.relu(self.linear2(x)))
        loss = functional.cross_entropy(y, t)
        return {"loss": loss} if self.training else {"y": y, "loss": loss}


def main(args: argparse.Namespace) -> dict[str, Any]:
    """Returns losses, accuracy and the cycles of the two programs."""
    torch.manual_seed(0)
    return train_and_evaluate(args, DigitNet(), options_of(args) or OPTIONS)


if __name__ == "__main__":
    arguments = parser(__doc__, "mnist_cnn")
    arguments.add_argument("--iterations", type=positive, default=937, help="937 are one epoch of MNIST")
    run(main, arguments.parse_args())
