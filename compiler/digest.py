"""Hashes that say whether an earlier result still stands: of the sources that made it and of data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

#: The packages that decide what a compilation gives: compiler, assembler, machine.
_DECIDING = ("compiler", "isa", "hw")


@lru_cache(maxsize=1)
def source_digest() -> bytes:
    """Hash of the compiler's, the assembler's and the machine's sources: an edit can never meet an old result."""
    import importlib

    digest = hashlib.sha256()
    for name in _DECIDING:
        root = Path(importlib.import_module(name).__path__[0])
        for path in sorted(p for p in root.rglob("*") if p.suffix in (".py", ".toml", ".json")):
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.digest()


def joined_digest(parts: Iterable[bytes]) -> str:
    """SHA-256 over length-prefixed parts: equal digests mean equal parts."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()
