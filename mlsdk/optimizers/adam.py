"""`MNCoreAdam` and `MNCoreAdamW`, by torch's formula or Chainer's (mlsdk.md 8).

The powers beta^t of the bias correction are states of their own: a count of steps would need a power on the device.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import MappingProxyType
from typing import Any

import torch

from mlsdk.optimizers.base import LR, MNCoreOptimizer, non_negative

MEAN, SQUARE, POWER_1, POWER_2 = "exp_avg", "exp_avg_sq", "beta1_power", "beta2_power"


class MNCoreAdam(MNCoreOptimizer):
    """m = b1 m + (1 - b1) g; v = b2 v + (1 - b2) g^2; the step is lr m' / (sqrt(v') + eps), m' and v' bias-corrected.

    chainer_use_torch: with False the correction goes into the rate, lr sqrt(1 - b2^t) / (1 - b1^t) m / (sqrt(v) + eps),
    so that eps is not corrected.  weight_decay: added to the gradient.
    """

    slots = (MEAN, SQUARE)
    scalars = MappingProxyType({POWER_1: 1.0, POWER_2: 1.0})
    decoupled = False

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | torch.Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        *,
        chainer_use_torch: bool = True,
    ) -> None:
        name = type(self).__name__
        non_negative(name, lr=float(lr), eps=eps, weight_decay=weight_decay)
        for number, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"{name}: betas[{number}] must lie in [0, 1), got {beta}")
        super().__init__(
            params,
            {
                LR: lr,
                "betas": tuple(betas),
                "eps": eps,
                "weight_decay": weight_decay,
                "chainer_use_torch": chainer_use_torch,
            },
        )

    def update(
        self, p: torch.Tensor, grad: torch.Tensor, state: dict[str, torch.Tensor], group: dict[str, Any]
    ) -> None:
        """See the class."""
        beta1, beta2 = group["betas"]
        if self.decoupled and group["weight_decay"]:
            p.sub_(group[LR] * group["weight_decay"] * p)
        elif group["weight_decay"]:
            grad = grad + group["weight_decay"] * p
        mean, square = state[MEAN], state[SQUARE]
        state[POWER_1].mul_(beta1)
        state[POWER_2].mul_(beta2)
        mean.copy_(beta1 * mean + (1.0 - beta1) * grad)
        square.copy_(beta2 * square + (1.0 - beta2) * (grad * grad))
        correction1, correction2 = 1.0 - state[POWER_1], torch.sqrt(1.0 - state[POWER_2])
        if group["chainer_use_torch"]:
            p.sub_(group[LR] / correction1 * (mean / (torch.sqrt(square) / correction2 + group["eps"])))
        else:
            p.sub_(group[LR] * correction2 / correction1 * (mean / (torch.sqrt(square) + group["eps"])))


class MNCoreAdamW(MNCoreAdam):
    """Adam with decoupled weight decay: p -= lr weight_decay p before the step."""

    decoupled = True

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | torch.Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay)
