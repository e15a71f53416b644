"""`MNCoreSGD`: stochastic gradient descent with momentum, by torch's formula (mlsdk.md 8)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from mlsdk.optimizers.base import LR, MNCoreOptimizer, non_negative

BUFFER = "momentum_buffer"
STARTED = "started"


class MNCoreSGD(MNCoreOptimizer):
    """g = grad + weight_decay p; v = momentum v + (1 - dampening) g, at the first step v = g; p -= lr v.

    With `nesterov` the step is g + momentum v; without momentum it is g and there is no buffer.
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | torch.Tensor = 1e-3,
        momentum: float = 0.0,
        dampening: float = 0.0,
        weight_decay: float = 0.0,
        nesterov: bool = False,
    ) -> None:
        non_negative("MNCoreSGD", lr=float(lr), momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("MNCoreSGD: nesterov needs momentum above 0 and dampening 0")
        # A zero buffer makes the first step v = g by itself, unless dampening weakens g.
        self.slots = (BUFFER,) if momentum else ()
        self.scalars = {STARTED: 0.0} if momentum and dampening else {}
        super().__init__(
            params,
            {
                LR: lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
            },
        )

    def update(
        self, p: torch.Tensor, grad: torch.Tensor, state: dict[str, torch.Tensor], group: dict[str, Any]
    ) -> None:
        """See the class."""
        if group["weight_decay"]:
            grad = grad + group["weight_decay"] * p
        step = grad
        if BUFFER in state:
            velocity = state[BUFFER]
            if STARTED in state:
                velocity.copy_(group["momentum"] * velocity + (1.0 - group["dampening"] * state[STARTED]) * grad)
                state[STARTED].fill_(1.0)
            else:
                velocity.copy_(group["momentum"] * velocity + grad)
            step = grad + group["momentum"] * velocity if group["nesterov"] else velocity
        p.sub_(group[LR] * step)


