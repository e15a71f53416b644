"""Files that appear complete or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def write_atomically(path: Path, data: bytes | str) -> None:
    """Write `data` beside `path` and rename it over; creates the folder.  Text is UTF-8."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data.encode() if isinstance(data, str) else data)
        os.replace(part, path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
