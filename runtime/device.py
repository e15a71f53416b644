"""Device strings and what they open (mlsdk.md 2)."""

from __future__ import annotations

import difflib

from runtime.backend import Device
from runtime.boards import read_fill
from runtime.errors import UnknownDeviceError
from runtime.locks import lock_board
from runtime.settings import Settings

FORMS = ("mncore2:auto", "mncore2:<index>", "emu2", "pfvm:cpu", "pfvm:cuda", "pfvm:cuda:<index>", "pfvm:gpu")
_SPELLINGS = ("mncore2:auto", "mncore2:0", "emu2", "pfvm:cpu", "pfvm:cuda", "pfvm:cuda:0", "pfvm:gpu")


def open_device(name: str, settings: Settings | None = None) -> Device:
    """Open a device by its string.

    `mncore2:auto` takes the lowest free board, `mncore2:<index>` that board; both lock it against other processes
    until the device is closed or its process ends, and start with what `gpfn3-smi clear` left in its memories.
    `emu2` is the same chip without board lock and time model.
    `pfvm:*` run the compiled ONNX operator by operator on torch.  Raises UnknownDeviceError, DeviceBusyError or
    DeviceError.
    """
    if not isinstance(name, str):
        raise UnknownDeviceError(f"a device is named by a string such as 'mncore2:auto', not by {type(name).__name__}")
    family, *rest = name.split(":")
    if family == "mncore2" and len(rest) == 1 and (rest[0] == "auto" or _is_index(rest[0])):
        from runtime.board_device import BoardDevice

        settings = settings or Settings.load()
        index = None if rest[0] == "auto" else int(rest[0])
        lock = lock_board(settings.locks, index, settings.boards)
        try:
            return BoardDevice(name, lock, read_fill(settings.locks, lock.index))
        except BaseException:
            lock.release()
            raise
    if name == "emu2":
        from runtime.board_device import BoardDevice

        return BoardDevice(name, None)
    if family == "pfvm" and (
        rest in (["cpu"], ["cuda"], ["gpu"]) or (len(rest) == 2 and rest[0] == "cuda" and _is_index(rest[1]))
    ):
        from runtime.pfvm_device import PfvmDevice

        return PfvmDevice(name, "cuda" if rest == ["gpu"] else ":".join(rest))
    raise UnknownDeviceError(f"unknown device {name!r}{_nearest(name)} (known forms: {', '.join(FORMS)})")


def _is_index(text: str) -> bool:
    return text.isascii() and text.isdigit()


def _nearest(name: str) -> str:
    started = [spelling for spelling in _SPELLINGS if name and spelling.startswith(name.lower())]
    near = started or difflib.get_close_matches(name.lower(), _SPELLINGS, n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else ""
