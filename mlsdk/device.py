"""`MNDevice`: an open device, named by a string (mlsdk.md 2)."""

from __future__ import annotations

from runtime.backend import Device
from runtime.device import open_device


class MNDevice:
    """`mncore2:auto`, `mncore2:<index>` (simulated board with time model), `emu2` (values only), `pfvm:cpu`,
    `pfvm:cuda[:n]`.

    A board belongs to one process at a time until the device is closed or garbage collected, or the process ends.
    Raises UnknownDeviceError, DeviceBusyError or DeviceError.
    """

    def __init__(self, device_name: str) -> None:
        self._device = open_device(device_name)

    @property
    def name(self) -> str:
        """The string it was opened by."""
        return self._device.name

    @property
    def backend(self) -> Device:
        """The runtime's device (for contexts)."""
        return self._device

    @property
    def seconds(self) -> dict[str, float]:
        """The simulator's own wall time on this device so far, by what it was spent on; empty on pfvm devices."""
        return self._device.seconds()

    def close(self) -> None:
        """Give the board back now; the device and its contexts cannot be used any more."""
        self._device.close()

    def __enter__(self) -> MNDevice:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"MNDevice({self.name!r})"
