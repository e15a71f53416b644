"""The folder of a compilation's artifacts: filled aside, then moved in, so that an interrupted compilation leaves
no trace.

`artifacts.json` lists the files of the last finished compilation with their SHA-256 and its fingerprint.  A folder
that exists already keeps files of others; those of an earlier compilation are replaced.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mlsdk.errors import CompileError

LISTING = "artifacts.json"
APP = "model.app"
_log = logging.getLogger("mlsdk")


@contextmanager
def staged(target: Path) -> Iterator[Path]:
    """Yield an empty folder beside `target`; publish its files into `target` when the block ends without an error."""
    try:
        stage = target.parent / f".{target.name}-{secrets.token_hex(6)}"
        stage.mkdir(parents=True)
    except OSError as error:
        raise CompileError(f"cannot write artifacts to {target}: {error}") from error
    try:
        yield stage
        _publish(stage, target)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def write_listing(stage: Path, fingerprint: str) -> None:
    """List the files of a finished compilation; the last thing to do before publishing."""
    files = {str(path.relative_to(stage)): _digest(path) for path in sorted(stage.rglob("*")) if path.is_file()}
    (stage / LISTING).write_text(json.dumps({"fingerprint": fingerprint, "files": files}, indent=1))


def warn_about_other(target: Path, fingerprint: str) -> None:
    """Log a notice if `target` holds artifacts of a different compilation, which will be replaced (mlsdk.md 17.4)."""
    listing = _read_listing(target)
    if listing is not None and listing.get("fingerprint") != fingerprint:
        _log.warning("%s holds artifacts of a different compilation; they are replaced when this one is done", target)


def _publish(stage: Path, target: Path) -> None:
    """Rename the whole folder where nothing is in the way, else replace file by file with the listing last."""
    if not target.exists():
        try:
            os.rename(stage, target)
            return
        except OSError:
            if not target.exists():
                raise
    if not target.is_dir():
        raise CompileError(f"{target} exists and is not a folder")
    try:
        outdated = _read_listing(target) or {}
        (target / LISTING).unlink(missing_ok=True)
        (target / APP).unlink(missing_ok=True)
        fresh = [path for path in sorted(stage.rglob("*")) if path.is_file()]
        for path in sorted(fresh, key=lambda path: (path.name == LISTING, path.name == APP)):
            place = target / path.relative_to(stage)
            place.parent.mkdir(parents=True, exist_ok=True)
            os.replace(path, place)
        kept = {str(path.relative_to(stage)) for path in fresh}
        for name in outdated.get("files", {}):
            if name not in kept and not Path(name).is_absolute() and ".." not in Path(name).parts:
                (target / name).unlink(missing_ok=True)
    except OSError as error:
        raise CompileError(f"the artifacts cannot be written to {target}: {error}") from error


def _read_listing(target: Path) -> dict[str, dict[str, str]] | None:
    try:
        listing = json.loads((target / LISTING).read_text())
    except (OSError, ValueError):
        return None
    return listing if isinstance(listing, dict) else None


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
