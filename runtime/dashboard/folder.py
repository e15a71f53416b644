"""The only door to the files of a codegen_dir: nothing outside it, nothing that is no plain file, nothing too large."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, BinaryIO, TypeVar

from runtime.errors import MLSDKError, did_you_mean

MIB = 2**20
MOST_TEXT = 64 * MIB  # JSON and l3ir.txt take about ten times their size in memory
MOST_FILES = 5000
_MOST_KEPT = 8
_PACKED_BLOCK = 4096  # a block of packed bytes cannot become more than about 128 MiB
ZST = ".zst"

_T = TypeVar("_T")


class FileProblem(MLSDKError):
    """A file cannot be shown.  `status`: the HTTP status that says so."""

    def __init__(self, text: str, status: int = 404) -> None:
        super().__init__(text)
        self.status = status


@dataclass(frozen=True, slots=True)
class Entry:
    """A file: its name below the folder with `/`, its size in bytes and when it was changed (seconds)."""

    name: str
    size: int
    changed: float


class CodegenFolder:
    """A codegen_dir.  It may be incomplete, and it may change while it is read."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._kept: dict[tuple[str, str], tuple[tuple[int, int], Any]] = {}

    def entries(self) -> list[Entry]:
        """The first MOST_FILES that can be shown, by name.

        Links that lead outside, hidden names and names that are no UTF-8 are left out.
        """
        found: list[Entry] = []
        for base, folders, names in os.walk(self.root, followlinks=False):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for name in sorted(names):
                relative = Path(base, name).relative_to(self.root).as_posix()
                try:
                    relative.encode()  # an address cannot hold a name that is no UTF-8
                    status = self._resolved(relative).stat()
                except (UnicodeEncodeError, FileProblem, OSError):
                    continue
                if stat.S_ISREG(status.st_mode):
                    found.append(Entry(relative, status.st_size, status.st_mtime))
                if len(found) >= MOST_FILES:
                    return found
        return found

    def names(self, *suffixes: str) -> list[str]:
        """The names of files with one of the suffixes."""
        return [entry.name for entry in self.entries() if entry.name.endswith(suffixes)]

    def has(self, name: str) -> bool:
        """Is there such a file, plain or packed?"""
        return self._is_file(name) or self._is_file(name + ZST)

    def actual(self, name: str) -> str:
        """The name itself, or with .zst where only the packed file is there."""
        return name + ZST if not self._is_file(name) and self._is_file(name + ZST) else name

    def _is_file(self, name: str) -> bool:
        try:
            return self._resolved(name).is_file()
        except FileProblem:
            return False

    def open(self, name: str) -> tuple[BinaryIO, os.stat_result]:
        """A file opened for reading, and its status.  Raises FileProblem."""
        path = self._resolved(name)
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise FileProblem(f"{name} cannot be read: {error.strerror}") from error
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            os.close(descriptor)
            raise FileProblem(f"{name} is no plain file")
        return os.fdopen(descriptor, "rb"), status

    def read(self, name: str, most: int = MOST_TEXT) -> bytes:
        """The contents of a file, unpacked if it or the one that is there ends in .zst.

        Raises FileProblem beyond `most` bytes.
        """
        name = self.actual(name)
        stream, status = self.open(name)
        with stream:
            if status.st_size > most:
                raise FileProblem(_too_large(name, status.st_size, most), 413)
            data = stream.read(most + 1)
        if len(data) > most:  # it grew meanwhile
            raise FileProblem(_too_large(name, len(data), most), 413)
        if not name.endswith(ZST):
            return data
        return _unpacked(name, data, most)

    def text(self, name: str, most: int = MOST_TEXT) -> str:
        """The contents as text; bytes that are no UTF-8 show as replacement signs."""
        return self.read(name, most).decode("utf-8", "replace")

    def json(self, name: str) -> Any:
        """The contents as data.  Raises FileProblem for what is no complete JSON."""
        try:
            return json.loads(self.read(name))
        except (ValueError, RecursionError) as error:
            raise FileProblem(
                f"{name} is no complete JSON ({error}); while a compilation is writing it, load this page again", 422
            ) from error

    def parsed(self, name: str, make: Callable[[str], _T], kind: str) -> _T:
        """`make(name)`, kept until the file changes; one result per file and kind."""
        stream, status = self.open(self.actual(name))
        stream.close()
        version = (status.st_mtime_ns, status.st_size)
        kept = self._kept.get((name, kind))
        if kept is not None and kept[0] == version:
            result: _T = kept[1]
            return result
        result = make(name)
        while len(self._kept) >= _MOST_KEPT:
            self._kept.pop(next(iter(self._kept)), None)
        self._kept[name, kind] = (version, result)
        return result

    def _resolved(self, name: str) -> Path:
        """The path of a name below the folder, links followed.  Raises FileProblem for anything that leads outside."""
        parts = PurePosixPath(name).parts
        if not parts or name.startswith("/") or "\0" in name or any(part.startswith(".") for part in parts):
            raise FileProblem(f"{name!r} is no name of a file in this folder", 400)
        try:
            path = self.root.joinpath(*parts).resolve(strict=True)
        except (OSError, RuntimeError) as error:
            known = [] if not self.root.is_dir() else [entry.name for entry in os.scandir(self.root)]
            gone = "" if self.root.is_dir() else f" (the folder {self.root} is gone)"
            raise FileProblem(f"there is no file {name}{gone}{did_you_mean(name, known)}") from error
        if not path.is_relative_to(self.root):
            raise FileProblem(f"{name} leads out of the folder", 403)
        return path


def static_file(base: Path, name: str) -> Path | None:
    """A file below the folder of an application, None for any other."""
    try:
        path = (base / name).resolve()
        return path if path.is_relative_to(base.resolve()) and path.is_file() else None
    except (OSError, ValueError, RuntimeError):  # names that are too long, hold a NUL, or lead in circles
        return None


def _too_large(name: str, size: int, most: int) -> str:
    limit = f"more than the {most // MIB} MiB that this page reads; download it instead"
    return f"{name} has {size / MIB:,.1f} MiB, {limit}"


def _unpacked(name: str, data: bytes, most: int) -> bytes:
    """The contents of zstd frames, at most `most` bytes.  Raises FileProblem for what is cut or damaged."""
    import zstandard

    parts: list[bytes] = []
    size, at = 0, 0
    try:
        while at < len(data):
            frame = zstandard.ZstdDecompressor().decompressobj()
            while at < len(data) and not frame.eof:
                block = data[at : at + _PACKED_BLOCK]
                at += len(block)
                parts.append(frame.decompress(block))
                size += len(parts[-1])
                if size > most:
                    raise FileProblem(_too_large(f"{name}, unpacked,", size, most), 413)
            if not frame.eof:
                raise FileProblem(f"{name} is no complete zstd file: it ends within a frame", 422)
            at -= len(frame.unused_data)
    except zstandard.ZstdError as error:
        raise FileProblem(f"{name} is no complete zstd file: {error}", 422) from error
    return b"".join(parts)
