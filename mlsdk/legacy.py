"""The older training route (mlsdk.md 14.2): the user's function gives only a loss, backward and update are added here.

    context.registry.register("optimizer0", torch.optim.SGD(model.parameters(), 0.1, 0.9))
    step = context.compile(function, sample, folder, options={"backprop": True}, optimizers=[torch.optim.SGD])
    step({**batch, "optimizer0@0@mncore_learning_rate": ..., "optimizer0@0@mncore_global_step": ...,
          "mncore_grad_scale_factor": ...})

The rate comes with every call, so that the program's scheduler works on the host.  The update is that of the device
optimizer of the same name, whose states take the place of those that torch would make at its first step.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch

from mlsdk.errors import CompileError, CompileOptionError, RegistrationError
from mlsdk.optimizers import MNCoreAdam, MNCoreAdamW, MNCoreOptimizer, MNCoreSGD
from mlsdk.optimizers.base import LR

KNOWN = (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW)

LOSS = "loss"
SCALE = "mncore_grad_scale_factor"

#: Shape and dtype of the three inputs that the route adds are not public; these are ours.
RATE_SAMPLE = torch.zeros((), dtype=torch.float32)
STEP_SAMPLE = torch.zeros((), dtype=torch.int64)
SCALE_SAMPLE = torch.ones((), dtype=torch.float32)

Function = Callable[[Any], Mapping[str, torch.Tensor]]


def rate_name(optimizer: str, group: int) -> str:
    """The input that carries the learning rate of a parameter group."""
    return f"{optimizer}@{group}@mncore_learning_rate"


def step_name(optimizer: str, group: int) -> str:
    """The input that carries the number of the step; the update does not need it, the powers of beta are states."""
    return f"{optimizer}@{group}@mncore_global_step"


def device_twin(optimizer: torch.optim.Optimizer) -> MNCoreOptimizer:
    """The device optimizer with the groups of a torch optimizer; its states also become the torch optimizer's.

    Raises RegistrationError for another optimizer than SGD, Adam and AdamW, and for `maximize` and `amsgrad`.
    """
    makers: dict[type, Callable[[dict[str, Any]], MNCoreOptimizer]] = dict(
        zip(KNOWN, (_sgd, _adam, _adamw), strict=True)
    )
    kind = type(optimizer)
    if kind not in makers:
        known = ", ".join(each.__name__ for each in KNOWN)
        raise RegistrationError(f"{kind.__name__} has no counterpart on the device; known are {known}")
    first, *others = optimizer.param_groups
    for group in optimizer.param_groups:
        for flag in ("maximize", "amsgrad"):
            if group.get(flag):
                raise RegistrationError(f"{kind.__name__}: {flag}=True has no counterpart on the device")
    twin = makers[kind](first)
    if others:
        for group in others:
            twin.add_param_group({key: group[key] for key in (*twin.defaults, "params") if key in group})
    for p, state in twin.state.items():
        optimizer.state[p].update(state)
    return twin


class LegacyStep:
    """`function` with backward and update behind it: what is traced in its place, and the sample for that."""

    def __init__(
        self, function: Function, inputs: Mapping[str, Any], optimizers: Mapping[str, MNCoreOptimizer]
    ) -> None:
        self._function = function
        self._optimizers = dict(optimizers)
        self.sample: dict[str, Any] = {SCALE: SCALE_SAMPLE, **inputs}
        for name, optimizer in self._optimizers.items():
            for number in range(len(optimizer.param_groups)):
                self.sample.setdefault(rate_name(name, number), RATE_SAMPLE)
                self.sample.setdefault(step_name(name, number), STEP_SAMPLE)

    def __call__(self, inputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        """What is traced.  Raises CompileError when the function gives no loss."""
        result = dict(self._function(inputs))
        if LOSS not in result:
            raise CompileError(f"backprop needs a function that returns {LOSS!r}, got {', '.join(result) or 'nothing'}")
        scale = inputs[SCALE].reshape(())
        for optimizer in self._optimizers.values():
            optimizer.zero_grad()
        (result[LOSS] * scale).backward()
        with torch.no_grad():
            for name, optimizer in self._optimizers.items():
                self._update(name, optimizer, inputs, scale)
        return result

    def _update(
        self, name: str, optimizer: MNCoreOptimizer, inputs: Mapping[str, torch.Tensor], scale: torch.Tensor
    ) -> None:
        for number, group in enumerate(optimizer.param_groups):
            rated = {**group, LR: inputs[rate_name(name, number)].reshape(())}
            for p in group["params"]:
                if p.grad is not None:
                    optimizer.update(p, p.grad / scale, optimizer.state[p], rated)


def check_request(optimizers: Sequence[type] | None, registered: Mapping[str, MNCoreOptimizer]) -> None:
    """Raise CompileOptionError unless there is a registered optimizer for every class in `optimizers`."""
    if not registered:
        raise CompileOptionError(
            'backprop: no optimizer is registered; call context.registry.register("optimizer0", optimizer) first'
        )
    for wanted in optimizers or ():
        if wanted not in KNOWN:
            raise CompileOptionError(f"optimizers: {wanted!r} has no counterpart on the device; use SGD, Adam or AdamW")


def _sgd(group: dict[str, Any]) -> MNCoreOptimizer:
    keys = ("params", LR, "momentum", "dampening", "weight_decay", "nesterov")
    return MNCoreSGD(*(group[key] for key in keys))


def _adam(group: dict[str, Any]) -> MNCoreOptimizer:
    return MNCoreAdam(*(group[key] for key in ("params", LR, "betas", "eps", "weight_decay")))


def _adamw(group: dict[str, Any]) -> MNCoreOptimizer:
    return MNCoreAdamW(*(group[key] for key in ("params", LR, "betas", "eps", "weight_decay")))
