"""`pfvm:*` devices: the compiled ONNX run operator by operator on torch, on the host or on a GPU (seed 3.1.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

import torch

from runtime.backend import Device, DeviceFunction, DeviceTensor
from runtime.errors import AppFileError, DeviceError
from runtime.specs import torch_dtype

if TYPE_CHECKING:
    from runtime.app import App


class PfvmTensor(DeviceTensor):
    """A torch tensor on the torch device.  A reference is read when the tensor is first needed."""

    def __init__(self, value: torch.Tensor, torch_device: torch.device, *, reference: bool = False) -> None:
        super().__init__(tuple(value.shape), value.dtype)
        self._device = torch_device
        self._value = value if reference else value.detach().clone().to(torch_device)
        self._is_reference = reference

    def load(self, value: torch.Tensor, *, clone: bool = True) -> None:
        """See DeviceTensor.load; the copy is made at once in either case."""
        self._value = value.detach().clone().to(self._device)
        self._is_reference = False
        self.changed = True

    def fetch(self) -> torch.Tensor:
        """A copy; on a GPU device it stays a GPU tensor, as in the vendor's implementation (mlsdk.md 5)."""
        return self.value.clone()

    @property
    def value(self) -> torch.Tensor:
        """The tensor itself, for the operators."""
        if self._is_reference:
            self._value = self._value.detach().clone().to(self._device)
            self._is_reference = False
        return self._value

    def adopt(self, value: torch.Tensor) -> None:
        """Make the result of an operator the new contents."""
        self._value, self._is_reference = value, False
        self.changed = True


class PfvmFunction(DeviceFunction):
    """A compiled ONNX model with its parameters."""

    def __init__(self, app: App, params: Mapping[str, PfvmTensor], torch_device: torch.device) -> None:
        import onnx

        from compiler.pfvm import PfvmProgram

        self._device = torch_device
        self._program = PfvmProgram(onnx.load_from_string(app.code), str(torch_device))
        self._params = {name: params[name] for name in app.params}
        self._changed = {name: params[name] for name in app.updates}
        self._inputs = dict(app.inputs)
        self._outputs = list(app.outputs)
        self._updates = dict(app.updates)

    def __call__(self, inputs: Mapping[str, torch.Tensor | DeviceTensor]) -> dict[str, DeviceTensor]:
        """See DeviceFunction.__call__."""
        feeds = {name: self._feed(inputs[name]) for name in self._inputs}
        feeds |= {name: tensor.value for name, tensor in self._params.items()}
        results = self._program(feeds)
        for param, output in self._updates.items():
            self._changed[param].adopt(results[output].clone())
        hidden = set(self._updates.values())
        return {name: PfvmTensor(results[name], self._device) for name in self._outputs if name not in hidden}

    def allocate_input(self, name: str) -> PfvmTensor:
        """See DeviceFunction.allocate_input."""
        spec = self._inputs[name]
        return PfvmTensor(torch.zeros(spec.shape, dtype=torch_dtype(spec.onnx_dtype)), self._device)

    def _feed(self, value: torch.Tensor | DeviceTensor) -> torch.Tensor:
        if isinstance(value, PfvmTensor):
            return value.value
        tensor = value.fetch() if isinstance(value, DeviceTensor) else value
        return tensor.detach().to(self._device)


class PfvmDevice(Device):
    """`torch_name` is torch's name of the device, e.g. "cpu" or "cuda:1"."""

    uses_chip = False

    def __init__(self, name: str, torch_name: str) -> None:
        super().__init__(name)
        self._device = torch.device(torch_name)
        if self._device.type == "cuda" and not torch.cuda.is_available():
            raise DeviceError(f"{name}: torch finds no GPU on this machine; use 'pfvm:cpu'")

    def tensor(self, value: torch.Tensor, *, reference: bool = False) -> PfvmTensor:
        """See Device.tensor."""
        return PfvmTensor(value, self._device, reference=reference)

    def load_function(self, app: App, params: Mapping[str, DeviceTensor]) -> PfvmFunction:
        """See Device.load_function.  Raises AppFileError for a program of a board."""
        if app.kind != "onnx":
            raise AppFileError(f"this program was compiled for a board and cannot run on {self.name}; compile it again")
        return PfvmFunction(app, cast(Mapping[str, PfvmTensor], params), self._device)

    def wait(self) -> None:
        """See Device.wait; here every call returns when it is done."""

    def close(self) -> None:
        """Nothing to give back."""
