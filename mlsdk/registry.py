"""The registered tensors of a context: host tensor, name and the tensor on the device that belongs to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import torch

from mlsdk.errors import RegistrationError
from mlsdk.legacy import device_twin
from mlsdk.naming import get_tensor_name, set_buffer_name_in_optimizer, set_tensor_name_in_module
from mlsdk.optimizers import MNCoreOptimizer
from mlsdk.proxy import check_tensor
from runtime.backend import Device, DeviceTensor
from runtime.errors import did_you_mean


@dataclass
class Entry:
    """One registered value.  `host` None: a loaded program brought the value; a later registration claims it."""

    name: str
    value: DeviceTensor
    host: torch.Tensor | None


class Registry:
    """Registered values by name.  The same tensor may be registered again; a name belongs to one tensor."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._entries: dict[str, Entry] = {}
        self._legacy: dict[str, MNCoreOptimizer] = {}

    def register(self, name: str, obj: object) -> None:
        """Name everything a module or an optimizer has below the prefix `name` and register it (mlsdk.md 3.4).

        A plain torch optimizer is for the older training route, see mlsdk.legacy.
        """
        if isinstance(obj, torch.optim.Optimizer):
            optimizer = obj if isinstance(obj, MNCoreOptimizer) else self._legacy.setdefault(name, device_twin(obj))
            set_buffer_name_in_optimizer(optimizer, name)
            self.add_states(optimizer)
            return
        if not isinstance(obj, torch.nn.Module):
            raise RegistrationError(
                f"{name!r}: expected a torch.nn.Module or an optimizer, got {type(obj).__name__}"
            )
        set_tensor_name_in_module(obj, name)
        for tensor in (*obj.parameters(), *obj.buffers()):
            self.add(tensor)

    @property
    def legacy_optimizers(self) -> Mapping[str, MNCoreOptimizer]:
        """Device twins of the plain torch optimizers that were registered, by their names."""
        return self._legacy

    def add_states(self, opt: MNCoreOptimizer) -> None:
        """Register all state tensors of an optimizer, which must have names."""
        for _, _, tensor in opt.state_tensors():
            self.add(tensor)

    def add(self, tensor: torch.Tensor) -> Entry:
        """Register one named tensor.  The device reads its contents when a program first needs them."""
        if not isinstance(tensor, torch.Tensor):
            raise RegistrationError(f"expected a tensor, got {type(tensor).__name__}")
        name = get_tensor_name(tensor)
        if name is None:
            raise RegistrationError(
                "the tensor has no name; call set_tensor_name, set_tensor_name_in_module or (for the state of an "
                "optimizer) set_buffer_name_in_optimizer before registering it"
            )
        entry = self._entries.get(name)
        if entry is None:
            entry = self._entries[name] = Entry(name, self._device.tensor(tensor, reference=True), tensor)
        elif entry.host is None:
            check_tensor(
                tensor, entry.value.shape, entry.value.dtype, f"tensor {name!r} (as the loaded program has it)"
            )
            entry.value.load(tensor)
            entry.value.changed = False
            entry.host = tensor
        elif entry.host is not tensor:
            raise RegistrationError(
                f"another tensor is already registered as {name!r}; "
                "give each module its own prefix in set_tensor_name_in_module"
            )
        return entry

    def find(self, tensor: torch.Tensor) -> Entry:
        """The entry of a registered tensor.  Raises RegistrationError."""
        name = get_tensor_name(tensor)
        entry = self._entries.get(name) if name is not None else None
        if entry is None or entry.host is not tensor:
            label = f"the tensor {name!r}" if name else "this tensor (it has no name)"
            hint = did_you_mean(name, self._entries) if name else ""
            raise RegistrationError(f"{label} is not registered; call register_param or register_buffer first{hint}")
        return entry

    def contains(self, tensor: torch.Tensor) -> bool:
        """True if this very tensor is registered."""
        name = get_tensor_name(tensor)
        entry = self._entries.get(name) if name is not None else None
        return entry is not None and entry.host is tensor

    def named(self, name: str, contents: torch.Tensor) -> Entry:
        """The entry of that name; made from `contents`, still without host tensor, if there is none."""
        entry = self._entries.get(name)
        if entry is None:
            entry = self._entries[name] = Entry(name, self._device.tensor(contents), None)
        check_tensor(contents, entry.value.shape, entry.value.dtype, f"parameter {name!r} of the program")
        return entry

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
