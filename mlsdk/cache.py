"""`CacheOptions` and the application cache: identical compilations share a finished folder (mlsdk.md 9)."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class CacheOptions:
    """Where results of earlier compilations are kept and which kinds of them may be used.

    `enable_app_cache` keeps finished programs.  The other three name finer-grained caches of the vendor's compiler
    (graphs, node simulations, assembled objects); here a program is kept whole, so they have nothing to add.
    """

    directory: str | os.PathLike[str]
    enable_app_cache: bool = True
    enable_onnx_cache: bool = True
    enable_codegen_cache: bool = True
    enable_gpfn2obj_cache: bool = True


def cache_key(parts: Iterable[bytes]) -> str:
    """SHA-256 over length-prefixed parts: equal keys mean equal compilations."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()


class AppCache:
    """Finished codegen folders below `<directory>/app/<key>`.  An entry appears complete or not at all."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._root = Path(directory) / "app"

    def restore(self, key: str, folder: Path) -> bool:
        """Copy the entry into the empty `folder`; return False if there is none."""
        entry = self._root / key
        if not entry.is_dir():
            return False
        shutil.copytree(entry, folder, dirs_exist_ok=True)
        return True

    def store(self, key: str, folder: Path) -> None:
        """Keep a copy of `folder`; an entry that another process wrote meanwhile is as good."""
        entry = self._root / key
        if entry.is_dir():
            return
        self._root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._root, prefix=".new-") as work:
            fresh = Path(work) / "entry"
            shutil.copytree(folder, fresh)
            try:
                os.rename(fresh, entry)
            except OSError:
                if not entry.is_dir():
                    raise
