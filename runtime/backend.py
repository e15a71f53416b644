"""What every device offers to the PyTorch API: tensors that live on it and functions loaded onto it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from runtime.app import App


class DeviceTensor(ABC):
    """A tensor on a device.  Its shape and dtype (that of the framework, not the device's own format) never change.

    `changed`: the contents were replaced, by the host or by a program, since somebody last set it to False.
    """

    def __init__(self, shape: tuple[int, ...], dtype: torch.dtype) -> None:
        self.shape = shape
        self.dtype = dtype
        self.changed = False

    @abstractmethod
    def load(self, value: torch.Tensor, *, clone: bool = True) -> None:
        """Replace the contents by `value` of this shape and dtype; `clone` False lets the device keep a reference."""

    @abstractmethod
    def fetch(self) -> torch.Tensor:
        """Bring the contents to a new tensor of the same shape and dtype."""


class DeviceFunction(ABC):
    """A program loaded onto a device."""

    cycles: int | None = None  # core cycles of one call, where the device has a time model

    @abstractmethod
    def __call__(self, inputs: Mapping[str, torch.Tensor | DeviceTensor]) -> dict[str, DeviceTensor]:
        """Run once.  `inputs` holds every input of the program, with the right shapes and dtypes."""

    @abstractmethod
    def allocate_input(self, name: str) -> DeviceTensor:
        """A new device tensor of zeros in the form that the input `name` wants, to be filled before a call."""


class Device(ABC):
    """An open device.  `uses_chip` tells whether programs must be compiled to VSM (else to ONNX)."""

    uses_chip: bool

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def tensor(self, value: torch.Tensor, *, reference: bool = False) -> DeviceTensor:
        """A new device tensor.  With `reference` the value is read when the device first needs it, not now."""

    @abstractmethod
    def load_function(self, app: App, params: Mapping[str, DeviceTensor]) -> DeviceFunction:
        """Load a program; `params` holds a tensor for every one of its parameters."""

    @abstractmethod
    def wait(self) -> None:
        """Return when all work that was asked for is done; raise what went wrong with it."""

    def seconds(self) -> dict[str, float]:
        """Wall time that simulating took so far, by what it was spent on."""
        return {}

    @abstractmethod
    def close(self) -> None:
        """Give the device back.  Its tensors and functions must not be used any more."""
