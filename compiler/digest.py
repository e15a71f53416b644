"""Hashes that say whether an earlier result still stands: of the sources that made it and of data."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

#: The packages that decide what code a graph becomes and how long it takes: compiler, assembler, machine.
CODE = ("compiler", "isa", "hw")


@lru_cache
def source_digest(packages: tuple[str, ...] = CODE) -> bytes:
    """Hash of the sources of some of this project's packages: an edit can never meet an old result."""
    digest = hashlib.sha256()
    for name in packages:
        root = Path(__file__).resolve().parents[1] / name
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
