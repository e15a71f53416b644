"""What the digit examples share: the classifier of the tutorial (seed listing 3.1) and its batches of real digits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import torch

from runtime.data import Digits, DigitSet, load_digits

NO_LABEL = -100


class MNCoreClassifier(torch.nn.Module):
    """Two linear layers: 1024 -> 256, relu, 256 -> 10."""

    def __init__(self) -> None:
        super().__init__()
        self.linear1 = torch.nn.Linear(1024, 256)
        self.linear2 = torch.nn.Linear(256, 10)

    def forward(self, x: torch.Tensor, t: torch.Tensor) -> dict[str, torch.Tensor]:
        """x float32 (n, 1, 32, 32), t int64 (n,) -> {"loss"} and, in evaluation mode, the logits "y" (n, 10)."""
        hidden = torch.nn.functional.relu(self.linear1(x.reshape(x.size(0), -1)))
        y = self.linear2(hidden)
        loss = torch.nn.functional.cross_entropy(y, t)
        return {"loss": loss} if self.training else {"y": y, "loss": loss}


def make_eval_step(model: torch.nn.Module) -> Callable[[Mapping[str, torch.Tensor]], dict[str, torch.Tensor]]:
    """The evaluation step of the tutorial (seed listing 3.2): {"x", "t"} -> {"correct": number of hits, int64 ()}."""

    def eval_step(inp: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        y = model(inp["x"], inp["t"])["y"]
        _, predicted = torch.max(y, 1)
        return {"correct": (predicted == inp["t"]).sum()}

    return eval_step


class DigitLoader:
    """Batches {"x": float32 (batch, 1, 32, 32), "t": int64 (batch,)} of fixed size, since shapes are static on the
    device.

    With `shuffle` every pass has a new order, reproducible from `seed`, and the incomplete rest is left out;
    without, the last batch is filled up with blank images of label -100, which no prediction equals and torch's
    losses ignore.
    """

    def __init__(self, dataset: Digits, batch: int, *, shuffle: bool, source: str, seed: int = 0) -> None:
        self.dataset = dataset
        self.source = source
        self._batch = batch
        self._shuffle = shuffle
        self._order = np.random.default_rng(seed)

    def __len__(self) -> int:
        whole, rest = divmod(len(self.dataset), self._batch)
        return whole if self._shuffle or not rest else whole + 1

    def __iter__(self) -> Iterator[dict[str, torch.Tensor]]:
        total = len(self.dataset)
        order = self._order.permutation(total) if self._shuffle else np.arange(total)
        for number in range(len(self)):
            images, labels = self.dataset.batch(order[number * self._batch : (number + 1) * self._batch])
            missing = self._batch - len(labels)
            if missing:
                images = np.concatenate([images, np.zeros((missing, *images.shape[1:]), images.dtype)])
                labels = np.concatenate([labels, np.full(missing, NO_LABEL, labels.dtype)])
            yield {"x": torch.from_numpy(images), "t": torch.from_numpy(labels)}


def mnist_loaders(batch: int, eval_batch: int, digits: DigitSet | None = None) -> tuple[DigitLoader, DigitLoader]:
    """Loaders of the training and the evaluation part; their `source` says in words which data it is."""
    digits = digits or load_digits()
    train = DigitLoader(digits.train, batch, shuffle=True, source=digits.source)
    return train, DigitLoader(digits.test, eval_batch, shuffle=False, source=digits.source)
