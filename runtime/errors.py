"""Every error of the runtime and of the PyTorch API has one base class, `MLSDKError`."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class MLSDKError(Exception):
    """Base of all errors a program that uses `mlsdk` may want to catch."""


class DeviceError(MLSDKError):
    """A device cannot be opened or used."""


class UnknownDeviceError(DeviceError, ValueError):
    """The device string has no meaning (mlsdk.md 2 lists the forms)."""


class DeviceBusyError(DeviceError):
    """The board is held by another process, or by another device object of this one."""


class DevicePoisonedError(DeviceError):
    """An earlier run failed on this device; its state is frozen for inspection until it is reset."""


class DeviceMemoryError(DeviceError, MemoryError):
    """The board's DRAM has no free stretch that is large enough."""


class ExecutionError(MLSDKError):
    """The machine refused a program while it ran; the message holds the VSM line."""


class RelocationError(MLSDKError):
    """A program cannot be moved to other DRAM addresses."""


class TensorError(MLSDKError):
    """A tensor does not fit the place it is meant for."""


class ShapeMismatchError(TensorError, ValueError):
    """The shape differs from the one that was compiled."""


class DTypeMismatchError(TensorError, TypeError):
    """The dtype differs from the one that was compiled, or is none of those a device knows."""


class ValueRangeError(TensorError, ValueError):
    """A value cannot be represented on the device, e.g. an INT64 beyond 32 bits (mlsdk.md 17.8)."""


class AppFileError(MLSDKError):
    """A `model.app` file is missing, truncated, altered or of an unknown format."""


class SettingError(MLSDKError, ValueError):
    """An environment variable of the runtime holds something unusable."""


class DataError(MLSDKError):
    """A data set cannot be read."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'x'?" for the nearest known spelling, else an empty string."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""
