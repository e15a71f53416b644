"""Exclusive board locks: one flock-ed file per board, so a crashed holder frees its board by dying (mlsdk.md 2)."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from runtime.errors import DeviceBusyError, DeviceError


class BoardLock:
    """The exclusive right to use one board.  Released by `release`, by `with`, by garbage collection or by exit."""

    def __init__(self, folder: Path, index: int) -> None:
        """Take the lock of board `index`; raise DeviceBusyError with the holder's process id if it is taken."""
        self.index = index
        self.path = folder / f"board{index}.lock"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise DeviceError(f"cannot create the board lock {self.path}: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            holder = os.pread(descriptor, 64, 0).decode("ascii", "replace").strip()
            os.close(descriptor)
            who = f"process {holder}" if holder else "another process"
            raise DeviceBusyError(
                f"board {index} is in use by {who}; choose another index or 'mncore2:auto', or wait for it to end"
            ) from error
        self._descriptor: int | None = descriptor
        self._owner = os.getpid()
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)

    def release(self) -> None:
        """Give the board back; a second call does nothing."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            if os.getpid() == self._owner:  # a forked child shares the open file, not the board
                os.ftruncate(descriptor, 0)
            os.close(descriptor)  # the last close drops the flock

    def __enter__(self) -> BoardLock:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.release()

    def __del__(self) -> None:
        if getattr(self, "_descriptor", None) is not None:
            self.release()


def holder_of(folder: Path, index: int) -> int | None:
    """Process id of the holder of board `index`, 0 when it is not known (another user's), None when it is free.

    Looks at the system's list of file locks, so that asking never makes a board look taken to somebody else.
    """
    path = folder / f"board{index}.lock"
    try:
        status = path.stat()
    except OSError:
        return None
    place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    for line in Path("/proc/locks").read_text(encoding="ascii").splitlines():
        fields = line.split()
        if len(fields) > 5 and fields[1] == "FLOCK" and fields[5] == place:
            try:
                return int(path.read_text(encoding="ascii").strip() or 0)
            except (OSError, ValueError):
                return 0
    return None


def lock_board(folder: Path, index: int | None, count: int) -> BoardLock:
    """Lock board `index`, or for None the lowest free one of `count` (mlsdk.md 17.3).

    Raises DeviceError for an index out of range, DeviceBusyError when nothing is free.
    """
    if index is not None:
        if not 0 <= index < count:
            raise DeviceError(f"there is no board {index}: this machine has {count}, numbered 0 to {count - 1}")
        return BoardLock(folder, index)
    for candidate in range(count):
        try:
            return BoardLock(folder, candidate)
        except DeviceBusyError:
            continue
    raise DeviceBusyError(f"all {count} boards are in use; wait for one, or set MNCORE2_BOARDS to simulate more")
