"""Where the runtime keeps things and how many boards there are: environment variables with defaults."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runtime.errors import SettingError

DEFAULT_BOARDS = 8  # as many as the vendor's sample listing shows (compiler.md 12)


@dataclass(frozen=True, slots=True)
class Settings:
    """`cache`: files that can be made again.  `data`: the user's own IDX files, if any.  `locks`: board lock files."""

    cache: Path
    data: Path | None
    locks: Path
    boards: int

    @classmethod
    def load(cls, environ: Mapping[str, str] | None = None) -> Settings:
        """Read MNCORE2_CACHE, MNCORE2_DATA, MNCORE2_RUNTIME_DIR and MNCORE2_BOARDS (a whole number, 1 or more)."""
        env = os.environ if environ is None else environ
        return cls(
            cache=_folder(env.get("MNCORE2_CACHE")) or Path.home() / ".cache" / "mncore2",
            data=_folder(env.get("MNCORE2_DATA")),
            locks=_folder(env.get("MNCORE2_RUNTIME_DIR")) or _default_lock_folder(env),
            boards=_board_count(env.get("MNCORE2_BOARDS")),
        )


def _folder(text: str | None) -> Path | None:
    return Path(text).expanduser() if text else None


def _default_lock_folder(env: Mapping[str, str]) -> Path:
    """A folder that the user's processes share and that the system empties at a restart."""
    base = _folder(env.get("XDG_RUNTIME_DIR"))
    if base is not None and base.is_dir():
        return base / "mncore2"
    return Path(tempfile.gettempdir()) / f"mncore2-{os.getuid()}"


def _board_count(text: str | None) -> int:
    if not text:
        return DEFAULT_BOARDS
    try:
        count = int(text)
    except ValueError:
        count = 0
    if count < 1:
        raise SettingError(f"MNCORE2_BOARDS={text!r}: expected a whole number of boards, 1 or more")
    return count
