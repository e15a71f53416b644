"""`MNCoreOptimizer`: what the device optimizers share.

A torch optimizer makes its state at its first step and keeps its learning rate as a number.  Inside a compiled function
both would be lost: state made while tracing reaches nobody, and a number becomes a constant of the program.  Here every
state is a tensor that exists from the start, and so is the learning rate.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import torch

LR = "lr"


class MNCoreOptimizer(torch.optim.Optimizer):
    """Base class.  Learning-rate schedulers of torch accept it; `state_dict` and `load_state_dict` are torch's.

    params: parameters, or torch's groups of them; a generator is fine.  defaults: hyperparameters of the groups; `lr`
    becomes a float32 scalar tensor, one for each group.
    """

    #: names of the tensors shaped like the parameter
    slots: tuple[str, ...] = ()
    #: names and initial values of the scalar states of a parameter
    scalars: Mapping[str, float] = MappingProxyType({})

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        super().__init__(params, defaults)
        for group in self.param_groups:
            group[LR] = _rate(group[LR])

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """As torch's; the state of the new parameters is made at once."""
        super().add_param_group(param_group)
        for p in self.param_groups[-1]["params"]:
            if not p.is_floating_point():
                raise ValueError(f"{type(self).__name__} updates floating-point parameters, got {p.dtype}")
            state = self.state[p]
            for name in self.slots:
                state[name] = torch.zeros_like(p, memory_format=torch.preserve_format, requires_grad=False)
            for name, value in self.scalars.items():
                state[name] = torch.tensor(value, dtype=torch.float32)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """As torch's, into the tensors that are there: they may be registered, or be part of a compiled function."""
        own = {(name, id(p)): tensor for name, p, tensor in self.state_tensors()}
        super().load_state_dict(state_dict)
        for name, p, loaded in list(self.state_tensors()):
            tensor = own[name, id(p)]
            tensor.copy_(torch.as_tensor(loaded))
            if p is None:
                self.param_groups[int(name.partition("_")[2] or 0)][LR] = tensor
            else:
                self.state[p][name] = tensor

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient, in place; one program of tensor operations without branches."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is not None:
                    self.update(p, p.grad, self.state[p], group)
        return loss

    @abstractmethod
    def update(
        self, p: torch.Tensor, grad: torch.Tensor, state: dict[str, torch.Tensor], group: dict[str, Any]
    ) -> None:
        """Update one parameter and its state in place."""

    def state_tensors(self) -> Iterator[tuple[str, torch.Tensor | None, torch.Tensor]]:
        """(state name, parameter it belongs to, tensor) of everything that changes between calls.

        The learning rate of group n comes last, as `lr` (`lr_<n>` from the second group on), with no parameter.
        """
        for group in self.param_groups:
            for p in group["params"]:
                for name in (*self.slots, *self.scalars):
                    yield name, p, self.state[p][name]
        for number, group in enumerate(self.param_groups):
            yield f"{LR}_{number}" if number else LR, None, group[LR]


def _rate(value: Any) -> torch.Tensor:
    """A learning rate as a tensor of its own, so that a scheduler writes into it."""
    return torch.as_tensor(value, dtype=torch.float32).detach().clone().reshape(())


def non_negative(owner: str, **values: float) -> None:
    """Raise ValueError, as torch's optimizers do, unless every value is >= 0."""
    for name, value in values.items():
        if not float(value) >= 0.0:
            raise ValueError(f"{owner}: {name} must be 0 or more, got {value}")
