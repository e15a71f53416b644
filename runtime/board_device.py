"""A simulated board as a device: `mncore2:*` with its lock and time model, `emu2` for values only (mlsdk.md 2)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from runtime.backend import Device, DeviceTensor
from runtime.board_function import BoardFunction
from runtime.board_tensor import BoardTensor, DramSpace
from runtime.errors import AppFileError, DeviceError
from runtime.executor import Executor
from runtime.locks import BoardLock

if TYPE_CHECKING:
    import torch

    from hw.state.fill import Fill
    from runtime.app import App


class BoardDevice(Device):
    """`lock` None: the emulator, of which there can be any number.  `fill`: contents of the memories at the start."""

    uses_chip = True

    def __init__(self, name: str, lock: BoardLock | None, fill: Fill | None = None) -> None:
        super().__init__(name)
        self._lock = lock
        self._fill = fill
        self._space: DramSpace | None = None
        self._closed = False

    @property
    def index(self) -> int | None:
        """Number of the locked board."""
        return None if self._lock is None else self._lock.index

    @property
    def executor(self) -> Executor:
        """The machine itself; it comes into being on first use."""
        return self._machine().executor

    def tensor(self, value: torch.Tensor, *, reference: bool = False) -> BoardTensor:
        """See Device.tensor; DRAM is taken when a program says which layout it wants."""
        return BoardTensor(self._machine(), tuple(value.shape), value.dtype, value, reference=reference)

    def load_function(self, app: App, params: Mapping[str, DeviceTensor]) -> BoardFunction:
        """See Device.load_function.  Raises AppFileError for a program of a pfvm device."""
        if app.kind != "vsm":
            raise AppFileError(
                f"this program was compiled for a pfvm device and cannot run on {self.name}; compile it again"
            )
        return BoardFunction(self._machine(), app, cast(Mapping[str, BoardTensor], params))

    def wait(self) -> None:
        """See Device.wait."""
        if self._space is not None:
            self._space.executor.queue.drain()

    def seconds(self) -> dict[str, float]:
        """See Device.seconds."""
        return {} if self._space is None else dict(self._space.executor.seconds)

    def close(self) -> None:
        """Release the board and its memories; a second call does nothing."""
        self._closed = True
        if self._space is not None:
            self._space.executor.close()
            self._space = None
        if self._lock is not None:
            self._lock.release()

    def _machine(self) -> DramSpace:
        if self._closed:
            raise DeviceError(f"the device {self.name} was closed")
        if self._space is None:
            self._space = DramSpace(Executor(timed=self._lock is not None, fill=self._fill))
        return self._space
