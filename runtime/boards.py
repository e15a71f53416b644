"""The boards of this machine: their numbers, names, holders, and what their memories hold when they are opened.

A simulated board exists while a process has it open; in between there is only this: its lock file and, beside it, the
*fill* that `gpfn3-smi clear` left.  Every process that opens the board starts from the fill, until `reset` removes it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.errors import DeviceError, UnknownDeviceError, did_you_mean
from runtime.files import write_atomically
from runtime.locks import BoardLock, holder_of
from runtime.settings import Settings

if TYPE_CHECKING:
    from hw.state.fill import Fill


@dataclass(frozen=True, slots=True)
class BoardEntry:
    """One board.  `holder`: process id of who has it open, 0 when that is not known, None when it is free."""

    index: int
    name: str
    holder: int | None
    fill: Fill | None


def boards(settings: Settings) -> list[BoardEntry]:
    """All boards in the order of their numbers.  Takes no lock."""
    return [
        BoardEntry(index, name, holder_of(settings.locks, index), read_fill(settings.locks, index))
        for index, name in enumerate(settings.board_names)
    ]


def board_index(settings: Settings, device: str) -> int:
    """The number of the board with this number or name.  Raises UnknownDeviceError."""
    names = settings.board_names
    if device in names:
        return names.index(device)
    if device.isascii() and device.isdigit() and int(device) < len(names):
        return int(device)
    raise UnknownDeviceError(
        f"there is no board {device!r}: this machine has {len(names)}, numbered 0 to {len(names) - 1}"
        f"{did_you_mean(device, names)}"
    )


def reset_board(settings: Settings, index: int) -> None:
    """Bring a board back to its power-on state.  Raises DeviceBusyError while a process holds it."""
    with BoardLock(settings.locks, index):
        _path(settings.locks, index).unlink(missing_ok=True)


def clear_board(settings: Settings, index: int, fill: Fill) -> None:
    """Say what the memories hold from now on.  Raises DeviceBusyError while a process holds the board."""
    with BoardLock(settings.locks, index):
        content = {"pattern": fill.pattern, "seed": fill.seed}
        write_atomically(_path(settings.locks, index), json.dumps(content) + "\n")


def read_fill(locks: Path, index: int) -> Fill | None:
    """What `clear_board` left for this board, None after power-on.  Raises DeviceError for a damaged file."""
    from hw.state.errors import StateError
    from hw.state.fill import Fill

    path = _path(locks, index)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Fill(content["pattern"], content["seed"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, KeyError, StateError) as error:
        raise DeviceError(f"{path} is damaged ({error}); `gpfn3-smi reset {index}` removes it") from error


def _path(locks: Path, index: int) -> Path:
    return locks / f"board{index}.fill.json"
