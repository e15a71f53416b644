"""Where the runtime keeps things and how many boards there are: environment variables with defaults."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runtime.errors import SettingError

# The boards of the vendor's sample listing (compiler.md 12).
SAMPLE_NAMES = tuple(f"mnc2p{place}s0" for place in (27, 28, 42, 43, 171, 172, 187, 188))
DEFAULT_BOARDS = len(SAMPLE_NAMES)
_NAME = re.compile(r"(?=.*[A-Za-z])[\w.-]+", re.ASCII)  # never only digits: those are indices


@dataclass(frozen=True, slots=True)
class Settings:
    """`cache`: files that can be made again.  `data`: the user's own IDX files, if any.  `locks`: board lock files.

    `boards` counts the boards, `names` are their names; without names the boards have those of `board_names`.
    """

    cache: Path
    data: Path | None
    locks: Path
    boards: int
    names: tuple[str, ...] = ()

    @property
    def board_names(self) -> tuple[str, ...]:
        """The name of each board: the given ones, else those of the vendor's sample and then our own."""
        more = (f"mnc2p{index + 1000}s0" for index in range(len(SAMPLE_NAMES), self.boards))
        return self.names or (*SAMPLE_NAMES[: self.boards], *more)

    @classmethod
    def load(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read MNCORE2_CACHE, MNCORE2_DATA, MNCORE2_RUNTIME_DIR and MNCORE2_BOARDS.

        The last is the number of boards, 1 or more, or their names with commas between.  Raises SettingError.
        """
        env = os.environ if environ is None else environ
        boards, names = _boards(env.get("MNCORE2_BOARDS"))
        return cls(
            cache=_folder(env.get("MNCORE2_CACHE")) or Path.home() / ".cache" / "mncore2",
            data=_folder(env.get("MNCORE2_DATA")),
            locks=_folder(env.get("MNCORE2_RUNTIME_DIR")) or _default_lock_folder(env),
            boards=boards,
            names=names,
        )


def _folder(text: str | None) -> Path | None:
    return Path(text).expanduser() if text else None


def _default_lock_folder(env: Mapping[str, str]) -> Path:
    """A folder that the user's processes share and that the system empties at a restart."""
    base = _folder(env.get("XDG_RUNTIME_DIR"))
    if base is not None and base.is_dir():
        return base / "mncore2"
    return Path(tempfile.gettempdir()) / f"mncore2-{os.getuid()}"


def _boards(text: str | None) -> tuple[int, tuple[str, ...]]:
    """Number of boards and their names, () for the usual ones."""
    if not text:
        return DEFAULT_BOARDS, ()
    if text.isascii() and text.isdigit() and int(text) >= 1:
        return int(text), ()
    names = tuple(name.strip() for name in text.split(","))
    if len(names) < 2 or len(set(names)) < len(names) or not all(_NAME.fullmatch(name) for name in names):
        raise SettingError(
            f"MNCORE2_BOARDS={text!r}: expected a whole number of boards, 1 or more, or different names such as a,b "
            "(letters, digits and . - _, not only digits)"
        )
    return len(names), names
