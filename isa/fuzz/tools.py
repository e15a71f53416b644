"""Two implementations of one interface: the simulator, and an official assembler and emulator run as black boxes."""

from __future__ import annotations

import os
import subprocess
import tempfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from hw.engine import execute
from hw.engine.errors import EngineError
from hw.state import Board
from isa.assemble import assemble
from isa.dump import debug_handler
from isa.errors import IsaError

ASSEMBLER = "MNCORE2_OFFICIAL_ASSEMBLER"
EMULATOR = "MNCORE2_OFFICIAL_EMULATOR"
TIMEOUT = 120


class ToolsMissing(Exception):
    """The official tools are not configured, or not where the variables say."""


class Tools(Protocol):
    """Something that runs a program."""

    def run(self, text: str) -> list[str]:
        """The dump lines; a program that is refused or stopped ends with one line `STOPPED: <reason>`."""


class OwnTools:
    """The simulator; the board is used again for every program.  `threads` as in `hw.engine.execute`."""

    def __init__(self, threads: int | None = None) -> None:
        self._board = Board()
        self._threads = threads

    def run(self, text: str) -> list[str]:
        """See `Tools`."""
        out: list[str] = []
        self._board.reset()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                program = assemble(text)
            execute(program, self._board, on_debug=debug_handler(out), threads=self._threads)
        except (IsaError, EngineError) as error:
            out.append(f"STOPPED: {error}")
        return out


@dataclass(frozen=True)
class OfficialTools:
    """The public assembler and emulator, outside this project."""

    assembler: Path
    emulator: Path

    @classmethod
    def find(cls, environ: Mapping[str, str] = os.environ) -> OfficialTools:
        """The tools that the two variables name.  Raises ToolsMissing."""
        paths = []
        for name in (ASSEMBLER, EMULATOR):
            value = environ.get(name)
            if not value:
                raise ToolsMissing(f"set {ASSEMBLER} and {EMULATOR} to the official programs; {name} is not set")
            if not os.access(value, os.X_OK):
                raise ToolsMissing(f"{name}={value} is no program that can be run")
            paths.append(Path(value))
        return cls(*paths)

    def run(self, text: str) -> list[str]:
        """See `Tools`."""
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / "program.vsm"
            source.write_text(text)
            made = subprocess.run(
                [self.assembler, "--instruction-mode", "flat", source], capture_output=True, text=True, timeout=TIMEOUT
            )
            if made.returncode:
                return [f"STOPPED: {_first_line(made.stderr)}"]
            stream = Path(folder) / "program.asm"
            stream.write_text(made.stdout)
            ran = subprocess.run(
                [self.emulator, "-i", stream, "--offchip-memory-init", "zero"],
                capture_output=True,
                text=True,
                timeout=TIMEOUT,
            )
        lines = [line for line in ran.stderr.splitlines() if line.startswith("DEBUG-")]
        if ran.returncode:
            rest = [line for line in ran.stderr.splitlines() if not line.startswith("DEBUG-")]
            lines.append(f"STOPPED: {_first_line(chr(10).join(rest))}")
        return lines


def _first_line(text: str) -> str:
    return text.strip().splitlines()[0] if text.strip() else "without a message"
