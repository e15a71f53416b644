"""The disk cache of machine code: one object file per function, in a folder named by the hash of the sources.

The hash covers the sources that can end up in the machine code and the compiler's version, the file name also the
processor, so an edit never meets stale code and no file is ever invalid.  `MNCORE2_CACHE` names the cache root
(default ``~/.cache/mncore2``).
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
import warnings
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path

HW = Path(__file__).resolve().parent.parent
_SETTINGS = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "NUMBA_ENABLE_AVX", "NUMBA_OPT")  # they change the code


def cache_root() -> Path:
    """Folder that holds all compiled code: `MNCORE2_CACHE`, or ``~/.cache/mncore2``."""
    return Path(os.environ.get("MNCORE2_CACHE") or Path.home() / ".cache" / "mncore2")


@lru_cache
def _process_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder of this process, for where the cache cannot be written; it goes with the process."""
    warnings.warn(f"{cache_root()} cannot be written; compiled kernels are kept for this process only", stacklevel=4)
    return tempfile.TemporaryDirectory(prefix="mncore2-kernels-")


@cache
def _versions() -> bytes:
    """What identifies the compiler, found without importing it."""
    parts = [str(sys.version_info[:3]).encode()]
    for package in ("numba", "llvmlite"):
        spec = find_spec(package)
        assert spec is not None and spec.origin is not None, f"{package} is not installed"
        parts.append((Path(spec.origin).parent / "_version.py").read_bytes())
    return b"\0".join(parts)


def source_digest(*packages: Path) -> str:
    """Hash of all Python sources in `packages` (folders, not recursive) and of the compiler versions."""
    digest = hashlib.sha256(_versions())
    for folder in packages:
        for path in sorted(folder.glob("*.py")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:20]


@cache
def _digest(package: Path | None) -> str:
    """The digest that names the folder of functions of `package` (None: kernels); as at the first use."""
    return source_digest(HW / "kernels", HW / "formats", *([] if package is None else [package]))


def symbol_of(name: str, package: Path | None, processor: str) -> str:
    """A name for the code of function `name`: readable, and different for other sources or another processor."""
    settings = [os.environ.get(setting, "") for setting in _SETTINGS]
    key = "\0".join([_digest(package), name, processor, *settings])
    return f"{re.sub(r'[^A-Za-z0-9_.]', '_', name)[:80]}-{hashlib.sha256(key.encode()).hexdigest()[:16]}"


def object_path(symbol: str, package: Path | None) -> Path:
    """Where the object file of a function is, or is to be written; the folder exists."""
    digest = _digest(package)
    folder = cache_root() / digest
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(_process_folder().name) / digest
        folder.mkdir(exist_ok=True)
    return folder / f"{symbol}.o"


def write_object(path: Path, code: bytes) -> None:
    """Write so that readers see the whole file or none."""
    from hw.trace.atomic import replacing

    with replacing(path) as file:
        file.write(code)
