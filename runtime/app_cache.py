"""The application cache: identical compilations share a finished folder (mlsdk.md 9)."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from compiler.digest import CODE, joined_digest, source_digest

if TYPE_CHECKING:
    import onnx

    from compiler.options import Options

#: Folder of the finer cache beside it: results of node simulation.
CODEGEN = "codegen"


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


def app_key(model: onnx.ModelProto, options: Options, parts: Iterable[bytes] = ()) -> str:
    """What decides a program: graph, constants, options with the contents of the files they name, the sources, and what
    else the caller says.
    """
    settings = json.dumps(options.to_option_json(), sort_keys=True).encode()
    files = [_content(options[name]) for name in ("layout_spec", "gemm_layout_spec")]
    sources = source_digest((*CODE, "runtime"))
    return joined_digest([*parts, sources, settings, *files, model.SerializeToString(deterministic=True)])


def _content(path: str | None) -> bytes:
    """The contents of a file; one that cannot be read is refused when it is needed."""
    try:
        return b"" if path is None else Path(path).read_bytes()
    except OSError:
        return b""
