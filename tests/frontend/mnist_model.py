"""The classifier of the tutorial (seed listing 3.1) and its step functions, in own code, for tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

StepFunction = Callable[[Mapping[str, Tensor]], Mapping[str, Tensor]]


class MNCoreClassifier(nn.Module):
    """1024 -> 256 -> 10 with a ReLU between; computes the loss always, returns the logits in evaluation mode."""

    def __init__(self) -> None:
        super().__init__()
        self.linear1 = nn.Linear(1024, 256)
        self.linear2 = nn.Linear(256, 10)

    def forward(self, x: Tensor, t: Tensor) -> dict[str, Tensor]:
        hidden = nn.functional.relu(self.linear1(x.reshape(x.size(0), -1)))
        y = self.linear2(hidden)
        loss = nn.functional.cross_entropy(y, t)
        return {"loss": loss} if self.training else {"y": y, "loss": loss}


def mnist_sample(batch: int) -> dict[str, Tensor]:
    """Images (batch, 1, 32, 32) and labels (batch,) that every call makes alike."""
    generator = torch.Generator().manual_seed(batch)
    images = torch.rand(batch, 1, 32, 32, generator=generator)
    return {"x": images, "t": torch.randint(0, 10, (batch,), generator=generator)}


def make_eval_step(model: MNCoreClassifier) -> StepFunction:
    """The evaluation step of listing 3.2: how many predictions are right."""

    def eval_step(inp: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        output = model(inp["x"], inp["t"])
        _, predicted = torch.max(output["y"], 1)
        correct = (predicted == inp["t"]).sum()
        return {"correct": correct}

    return eval_step


def make_train_step(model: MNCoreClassifier, optimizer: torch.optim.Optimizer) -> StepFunction:
    """The training step of listing 3.5: forward, backward and update."""

    def train_step(inp: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        optimizer.zero_grad()
        loss = model(inp["x"], inp["t"])["loss"]
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    return train_step
