"""From an exception to one message and an exit code; programs that fail never show a traceback."""

from __future__ import annotations

import sys
from pathlib import Path

from runtime.errors import MLSDKError, did_you_mean

OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130


class CommandError(MLSDKError):
    """A verb could not do its job."""


class UsageError(CommandError):
    """The command line, or a file it names, is wrong."""


# Looked up only among loaded modules: a room that was never imported cannot have raised anything.
_USAGE = (
    ("runtime.cli.errors", "UsageError"),
    ("hw.spec", "SpecError"),
    ("compiler.options", "OptionError"),
    ("runtime.studies.errors", "StudyFileError"),
    ("runtime.studies.errors", "ProgramFileError"),
)
_FAILURE = (
    ("runtime.errors", "MLSDKError"),
    ("isa.errors", "IsaError"),
    ("isa.pack.errors", "PackError"),
    ("hw.engine", "EngineError"),
    ("hw.sanitizer.runtime", "SanitizerError"),
    ("hw.model", "ModelError"),
    ("hw.state.errors", "StateError"),
    ("compiler.errors", "CompilerError"),
    ("compiler.graph.errors", "GraphError"),
    ("compiler.layout.errors", "LayoutError"),
    ("compiler.pfvm.errors", "PfvmError"),
)


def exit_code_of(error: Exception) -> int | None:
    """1 or 2 for the errors that the rooms declare and for files that cannot be used; None for anything else."""
    if isinstance(error, _loaded(_USAGE)):
        return USAGE
    if isinstance(error, (*_loaded(_FAILURE), OSError)):
        return FAILED
    return None


def _loaded(names: tuple[tuple[str, str], ...]) -> tuple[type, ...]:
    return tuple(getattr(sys.modules[module], name) for module, name in names if module in sys.modules)


def message_of(error: Exception) -> str:
    """What to print."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error) or type(error).__name__


def existing(path: Path, what: str) -> Path:
    """`path` if it exists; UsageError with the most similar name beside it otherwise."""
    if path.exists():
        return path
    names = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
    raise UsageError(f"there is no {what} {path}{did_you_mean(path.name, names)}")


def read_text(path: Path) -> str:
    """The text of a file, of standard input for `-`; UsageError for a folder, a missing or a binary file."""
    if str(path) == "-":
        return sys.stdin.read()
    if existing(path, "file").is_dir():
        raise UsageError(f"{path} is a folder, expected a text file")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is no text file: byte {error.start} is not UTF-8") from error
