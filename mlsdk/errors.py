"""Errors of the PyTorch API, all derived from `MLSDKError`.  Those of the runtime are listed here too."""

from __future__ import annotations

from runtime.errors import (
    AppFileError,
    DeviceBusyError,
    DeviceError,
    DeviceMemoryError,
    DevicePoisonedError,
    DTypeMismatchError,
    ExecutionError,
    MLSDKError,
    RelocationError,
    ShapeMismatchError,
    TensorError,
    UnknownDeviceError,
    ValueRangeError,
)


class CompileError(MLSDKError):
    """The function cannot be compiled; `__cause__` holds the compiler's own error."""


class CompileOptionError(CompileError, ValueError):
    """An option, option file or environment variable is unknown, unreadable or out of range."""


class RegistrationError(MLSDKError):
    """A tensor has no name, is not registered, or its name is taken by another tensor."""


class PytreeError(MLSDKError, TypeError):
    """A class that is no named tuple or dataclass, or a container of another structure than at compile time."""


class InputError(TensorError, KeyError):
    """The inputs of a call are not those of the compiled function."""

    def __str__(self) -> str:
        return str(self.args[0])  # KeyError would print the quoted representation


class MissingInputError(InputError):
    """An input that the function reads is absent."""


class UnknownInputError(InputError):
    """An input that was not in the sample."""


class ContextClosedError(MLSDKError):
    """The context was invalidated."""


class TraceError(MLSDKError, ValueError):
    """A trace cannot be written in the format that its file name asks for."""


class ModelStructureError(MLSDKError, TypeError):
    """A model without the attributes that its kind has, or that cannot be cut as asked."""


class CacheStructureError(MLSDKError, TypeError):
    """An object that is no key/value cache."""


class StorageError(MLSDKError, ValueError):
    """A storage target that this build cannot reach."""


__all__ = [
    "AppFileError",
    "CacheStructureError",
    "CompileError",
    "CompileOptionError",
    "ContextClosedError",
    "DTypeMismatchError",
    "DeviceBusyError",
    "DeviceError",
    "DeviceMemoryError",
    "DevicePoisonedError",
    "ExecutionError",
    "InputError",
    "MLSDKError",
    "MissingInputError",
    "ModelStructureError",
    "RegistrationError",
    "RelocationError",
    "ShapeMismatchError",
    "StorageError",
    "TensorError",
    "TraceError",
    "UnknownDeviceError",
    "UnknownInputError",
    "ValueRangeError",
]
