"""The golden facts end to end: assemble, run on a board, compare memories and dump lines."""

from __future__ import annotations

import json
import lzma
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from hw.engine.execute import execute
from hw.state.board import Board
from hw.state.memory import Memory
from isa import assemble
from isa.dump import debug_handler
from isa.dump.location import Location, parse_location

_DATA = Path(__file__).parents[1] / "data" / "goldens.json.xz"
_WORDS = (Memory.LM0, Memory.LM1, Memory.GRF0, Memory.GRF1)


@lru_cache(maxsize=1)
def _goldens() -> list[dict[str, Any]]:
    with lzma.open(_DATA, "rt", encoding="utf-8") as text:
        return json.load(text)


def _place(location: Location) -> tuple[int, ...]:
    place = tuple(index for index in location.indices if index is not None)
    assert len(place) == len(location.memory.levels), location.text
    return place


def _address(location: Location, number: int) -> int:
    """The LW address of the number-th long word from a place on."""
    return (location.address // 2 if location.memory in _WORDS else location.address) + number


def _store(board: Board, text: str, words: list[str]) -> None:
    location = parse_location(text)
    for number, word in enumerate(words):
        value = int(word, 16)
        if location.memory is Memory.T:
            board.view(Memory.T)[(*_place(location), number, 0)] = value
        elif location.memory is Memory.MASK:
            board.view(Memory.MASK)[(*_place(location), location.address, number)] = value
        else:
            board.write_lw(location.memory, _address(location, number), value, *_place(location))


def _load(board: Board, text: str, count: int) -> list[int]:
    location = parse_location(text)
    if location.memory is Memory.T:
        return [int(board.view(Memory.T)[(*_place(location), number, 0)]) for number in range(count)]
    if location.memory is Memory.MASK:
        return [int(x) for x in board.view(Memory.MASK)[(*_place(location), location.address)][:count]]
    return [board.read_lw(location.memory, _address(location, number), *_place(location)) for number in range(count)]


@pytest.fixture(scope="module")
def board() -> Board:
    return Board()


@pytest.mark.filterwarnings("ignore::isa.errors.AsmWarning")
@pytest.mark.parametrize("number", range(335))
def test_golden(board: Board, number: int) -> None:
    golden = _goldens()[number]
    board.reset()
    for text, words in golden["inputs"].items():
        _store(board, text, words)
    lines: list[str] = []
    program = assemble(golden["instruction"] + "\n", check_hazards=False, name=golden["name"])
    execute(program, board, on_debug=debug_handler(lines), strict=False)
    for text, words in golden["outputs"].items():
        if text == "dump":
            assert lines == words, golden["name"]
        else:
            assert _load(board, text, len(words)) == [int(word, 16) for word in words], (golden["name"], text)


def test_all_goldens_are_run() -> None:
    assert len(_goldens()) == 335
