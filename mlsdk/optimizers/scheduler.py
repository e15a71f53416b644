"""`MNCoreLRScheduler`: a scheduler of torch that also changes the rate on the device (mlsdk.md 8)."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from mlsdk.errors import RegistrationError
from mlsdk.optimizers.base import LR, MNCoreOptimizer

if TYPE_CHECKING:
    from torch.optim.lr_scheduler import LRScheduler

    from mlsdk.context import Context


class MNCoreLRScheduler:
    """Wraps a torch scheduler built on a device optimizer.

    The learning rates must be registered with the context (`register_optimizer_buffers`): a rate that is not is a
    constant of the compiled program.  Raises RegistrationError for an optimizer of another kind.
    """

    def __init__(self, torch_scheduler: LRScheduler, context: Context) -> None:
        if not isinstance(torch_scheduler.optimizer, MNCoreOptimizer):
            raise RegistrationError(
                f"the scheduler's optimizer must be a device optimizer such as MNCoreSGD, got "
                f"{type(torch_scheduler.optimizer).__name__}"
            )
        self._scheduler = torch_scheduler
        self._context = context

    def step(self, *args: Any, **kwargs: Any) -> None:
        """Advance the schedule and send the new rates to the device; nothing is compiled again."""
        with warnings.catch_warnings():
            # torch cannot see that the optimizer's steps run on the device.
            warnings.filterwarnings("ignore", r"Detected call of `lr_scheduler.step\(\)` before", UserWarning)
            self._scheduler.step(*args, **kwargs)
        for group in self._scheduler.optimizer.param_groups:
            self._context.get_registered_value_proxy(group[LR]).load_from(group[LR])

    def get_last_lr(self) -> list[float]:
        """The rates of the parameter groups."""
        return [float(rate) for rate in self._scheduler.get_last_lr()]

    def state_dict(self) -> dict[str, Any]:
        """The wrapped scheduler's state."""
        return self._scheduler.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the wrapped scheduler's state."""
        self._scheduler.load_state_dict(state_dict)
