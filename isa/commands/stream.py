"""Running a stream of assembled lines on a board (isa.md 15.1): `j i m d r`, comments and blank lines."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from hw.program import Debug, Line, Program
from hw.state.board import Board
from isa.assemble import assemble
from isa.bitfield import EncodingError
from isa.encoding import decode_line
from isa.errors import AsmError, IsaError

if TYPE_CHECKING:
    from hw.sanitizer.runtime import DebugAreas

_PE_AND_MV = ("j", "i", "m")
_WRITE = "r"
_DIGITS = 16


class StreamError(IsaError):
    """A stream line that cannot be run; `line` is its number in the stream."""

    def __init__(self, message: str, line: int, text: str) -> None:
        super().__init__(f"line {line}: {message}\n    {text[:200]}")
        self.message = message
        self.line = line
        self.text = text


def parse_write(text: str, line: int) -> tuple[int, int, tuple[int, ...]]:
    """`r <group> <hex LW address> <hex count> <digits>` as (group, address, long words)."""
    words = text.split()
    try:
        group, address, count, digits = int(words[1]), int(words[2], 16), int(words[3], 16), words[4]
        values = tuple(int(digits[i : i + _DIGITS], 16) for i in range(0, len(digits), _DIGITS))
    except (ValueError, IndexError):
        raise StreamError(
            "malformed memory write: expected r <group> <hex address> <hex count> <16 hex digits per LW>", line, text
        ) from None
    if len(digits) % _DIGITS or len(values) != count:
        raise StreamError(
            f"the payload has {len(digits)} digits, {count} long words need {_DIGITS * count}", line, text
        )
    return group, address, values


def load_stream(lines: Iterable[str]) -> Program:
    """Decode a stream to a program whose line numbers are those of the stream.

    Memory writes become debug lines of text `r ...`, for `stream_handler`.  Raises StreamError.
    """
    rows: list[str] = []
    texts = list(lines)
    writes: list[Debug] = []
    for number, text in enumerate(texts, 1):
        letter = text.split(None, 1)[0] if text.strip() else "#"
        row = ""
        if letter == _WRITE:
            writes.append(Debug(text.strip(), number))
        elif letter == "d":
            row = text.strip()
        elif letter in _PE_AND_MV:
            try:
                row = decode_line(text.partition("#")[0])
            except EncodingError as error:
                raise StreamError(str(error), number, text.strip()) from None
        elif not letter.startswith("#"):
            raise StreamError(
                f"Illegal input command received: `{letter}`, expected j, i, m, d or r", number, text.strip()
            )
        rows.append(row)
    try:
        program = assemble("\n".join(rows), check_hazards=False)
    except AsmError as error:
        raise StreamError(error.message, error.line, texts[error.line - 1].strip()) from None
    return Program(tuple(_merged(program.lines, writes)))


def _merged(lines: Iterable[Line], writes: list[Debug]) -> Iterator[Line]:
    """Both in order of their stream lines."""
    waiting = deque(writes)
    for line in lines:
        while waiting and waiting[0].line < line.line:
            yield waiting.popleft()
        yield line
    yield from waiting


def stream_handler(debug: Callable[[Debug, Board], None]) -> Callable[[Debug, Board], None]:
    """A debug handler that also carries out memory writes; everything else goes to `debug`."""

    def handle(line: Debug, board: Board) -> None:
        if not line.text.startswith(_WRITE):
            debug(line, board)
            return
        group, address, values = parse_write(line.text, line.line)
        if not 0 <= group < len(board.dram):
            raise StreamError(f"no group {group}: expected 0..{len(board.dram) - 1}", line.line, line.text)
        if address + len(values) > len(board.dram[group]):
            raise StreamError(f"address {address} is beyond the DRAM", line.line, line.text)
        board.dram[group][address : address + len(values)] = np.array(values, np.uint64)

    return handle


def stream_areas(line: Debug) -> DebugAreas | None:
    """What a debug line or a memory write of a stream touches, for the sanitizers."""
    from hw.lockstep import Store
    from hw.sanitizer.runtime import Area
    from hw.sanitizer.runtime import DebugAreas as Touched
    from isa.debugger.areas import debug_areas

    if not line.text.startswith(_WRITE):
        return debug_areas(line)
    group, address, values = parse_write(line.text, line.line)
    return Touched(True, (Area(Store.DRAM, address, len(values), (group,)),))
