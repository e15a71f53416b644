"""Lines of the user's program: where an operation was written, seen through torch's own frames.

Both errors and graph nodes point at the innermost frame that belongs neither to torch nor to this tracer.
"""

from __future__ import annotations

import linecache
import os
import sys
import traceback
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from types import TracebackType


@dataclass(frozen=True)
class SourceLine:
    """One line of a Python file: path, 1-based line number, enclosing function, stripped text."""

    file: str
    line: int
    function: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}, in {self.function}: {self.text}"

    @property
    def short(self) -> str:
        """`file.py:line` without folders, so that graphs do not carry paths of one machine."""
        return f"{os.path.basename(self.file)}:{self.line}"


@cache
def _foreign_folders() -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Folders whose code is not the user's, and folders inside of them whose code is."""
    import torch

    compiler = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    root, stdlib = os.path.dirname(compiler), os.path.dirname(os.__file__)
    rooms = [os.path.join(root, room) for room in ("fx2onnx", "mlsdk", "runtime")]
    foreign = [compiler, *rooms, os.path.dirname(os.path.abspath(torch.__file__)), stdlib]
    # Installed packages are user code: a model of a library is where its operations were written.
    users = [os.path.join(root, "mlsdk", "examples"), os.path.join(stdlib, "site-packages")]
    return tuple(folder + os.sep for folder in foreign), tuple(folder + os.sep for folder in users)


def _is_user(file: str) -> bool:
    if file.startswith("<"):
        return False
    foreign, users = _foreign_folders()
    # The innermost folder decides: torch and our own packages may lie in site-packages, inside the standard library's.
    outside = max((len(folder) for folder in foreign if file.startswith(folder)), default=0)
    inside = max((len(folder) for folder in users if file.startswith(folder)), default=0)
    return inside > outside or not outside


def current_line() -> SourceLine | None:
    """The innermost user line that is being executed by this thread, or None."""
    frame = sys._getframe(1)
    while frame is not None:
        if _is_user(frame.f_code.co_filename):
            file, line = frame.f_code.co_filename, frame.f_lineno
            return SourceLine(file, line, frame.f_code.co_name, linecache.getline(file, line).strip())
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return None


def line_of_error(error_traceback: TracebackType | None) -> SourceLine | None:
    """The innermost user line of a traceback, or None when the error never passed through user code."""
    return _last_user(traceback.extract_tb(error_traceback))


def _last_user(frames: Iterable[traceback.FrameSummary]) -> SourceLine | None:
    found = None
    for frame in frames:
        if _is_user(frame.filename):
            found = SourceLine(frame.filename, frame.lineno or 0, frame.name, (frame.line or "").strip())
    return found
