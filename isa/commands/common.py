"""What the commands share: exit statuses, option parsing, marked errors, and files that appear only when complete."""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, TextIO

from isa.errors import AsmError

OK = 0
USAGE_ERROR = 1
ABORTED = 134
"""Shell status of an aborted process, which scripts around the official tools look for (isa.md 15)."""


class Parser(argparse.ArgumentParser):
    """Unknown or malformed options print a message and the usage, and end with status 1."""

    def error(self, message: str) -> NoReturn:
        """Refuse the command line."""
        print(f"{self.prog}: {message}", file=sys.stderr)
        self.print_usage(sys.stderr)
        raise SystemExit(USAGE_ERROR)


def marked(error: AsmError) -> str:
    """Message, line number, text and a marker line under the offending part."""
    text = error.source.rstrip("\n")
    quoted = re.search(r"`([^`]+)`", error.message)
    start = text.find(quoted[1]) if quoted else -1
    width = len(quoted[1]) if quoted and start >= 0 else max(1, len(text.strip()))
    column = start if start >= 0 else len(text) - len(text.lstrip())
    rows = [f"{error.message} [{error.rule}]", f"Line {error.line}", text, " " * column + "^" * width]
    return "\n".join([*rows, error.hint] if error.hint else rows)


def read_text(path: str | None) -> str:
    """The whole of a file, or of standard input without a path.  Raises OSError."""
    return sys.stdin.read() if path is None else Path(path).read_text()


@contextmanager
def output(path: str | None, default: TextIO) -> Iterator[TextIO]:
    """A stream to write to: `default`, or a temporary file that takes the name `path` when all went well."""
    if path is None:
        yield default
        default.flush()
        return
    folder = os.path.dirname(os.path.abspath(path))
    handle, name = tempfile.mkstemp(dir=folder, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "w") as stream:
            yield stream
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
