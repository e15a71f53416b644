"""`storage.path`: where a program keeps its artifacts (mlsdk.md 11)."""

from __future__ import annotations

import os
import re
from pathlib import Path

from mlsdk.errors import StorageError

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]*)://")


def path(target: str | os.PathLike[str]) -> Path:
    """Return `target` as a path object that joins with `/` and goes wherever a file name goes.

    `file://` URLs are accepted; any other scheme raises StorageError.
    """
    text = os.fspath(target)
    scheme = _SCHEME.match(text)
    if scheme is None:
        return Path(text)
    if scheme.group(1).lower() != "file":
        raise StorageError(f"{text!r}: only local paths and file:// can be reached, not {scheme.group(1)}://")
    return Path(text[scheme.end() :])
