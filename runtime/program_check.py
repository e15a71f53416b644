"""Runs a VSM program and compares memory with expected values to the bit; a difference names line, PE and bits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from compiler.graph import DtypeError, MNType, encode
from runtime.errors import MLSDKError, did_you_mean

if TYPE_CHECKING:
    from hw.program import Program
    from hw.state import Board
    from isa.debugger import Debugger
    from isa.debugger.places import PlaceSet

DTYPES = {
    "h": MNType.HALF,
    "f": MNType.FLOAT,
    "d": MNType.DOUBLE,
    "s": MNType.SHORT,
    "us": MNType.USHORT,
    "i": MNType.INT,
    "ui": MNType.UINT,
    "l": MNType.LONG,
    "ul": MNType.ULONG,
}


class CheckError(MLSDKError, ValueError):
    """A check that makes no sense: an unknown dtype, or a wrong number of expected values."""


class Divergence(AssertionError):
    """A program left other values than expected."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One element: what the row is called, its number in the row, its raw bits, and how many there are."""

    row: str
    element: int
    value: int
    bits: int


def check_program(
    program: Program | str, expected: Mapping[str, ArrayLike], *, dtype: str, count: int = 1, board: Board | None = None
) -> list[str]:
    """Run a program, compare places with values; returns its dump lines.

    expected: per place (`$ln0n0c0b0m0p0`, as in `d get`) the elements of `count` rows of every instance, in the order
    in which `d get` shows them, or one value for all.  dtype: a key of DTYPES; expected values are rounded to it as the
    chip's own conversion does, and the bits are compared (so -0 differs from 0).  board: the state before.

    Raises Divergence for the first difference, CheckError, AsmError; EngineError where the machine stops.
    """
    from isa.debugger import Debugger
    from isa.debugger.places import parse_place

    if dtype not in DTYPES:
        raise CheckError(f"dtype {dtype!r}: expected one of {', '.join(DTYPES)}{did_you_mean(dtype, DTYPES)}")
    debugger = Debugger(program, board)
    places = {text: parse_place(text) for text in expected}
    wanted = {text: _raw(values, dtype) for text, values in expected.items()}
    before = {text: _cells(debugger, place, count, dtype) for text, place in places.items()}
    for text, cells in before.items():
        if wanted[text].size not in (1, len(cells)):
            raise CheckError(f"{text}: {wanted[text].size} values are expected, but {count} row(s) hold {len(cells)}")
        debugger.break_on_write(text, count)
    writers = _run(debugger, places, before, count, dtype)
    for text, place in places.items():
        found = _cells(debugger, place, count, dtype)
        raw = np.broadcast_to(wanted[text], len(found))
        wrong = [at for at, cell in enumerate(found) if cell.value != int(raw[at])]
        if wrong:
            writer = writers.get((text, wrong[0]), "")
            raise Divergence(_text(text, found[wrong[0]], int(raw[wrong[0]]), writer, len(wrong), len(found), dtype))
    return debugger.output


def _run(
    debugger: Debugger, places: Mapping[str, PlaceSet], before: Mapping[str, list[Cell]], count: int, dtype: str
) -> dict[tuple[str, int], str]:
    """Run to the end; returns the line that last changed each element."""
    writers: dict[tuple[str, int], str] = {}
    known = dict(before)
    while True:
        stop = debugger.continue_()
        for text, place in places.items():
            now = _cells(debugger, place, count, dtype)
            for at, (old, new) in enumerate(zip(known[text], now, strict=True)):
                if old.value != new.value:
                    writers[text, at] = stop.what.partition(": ")[2].rpartition(" wrote ")[0]
            known[text] = now
        if stop.error is not None:
            raise stop.error
        if stop.reason == "end":
            return writers


def _cells(debugger: Debugger, place: PlaceSet, count: int, dtype: str) -> list[Cell]:
    return list(_elements(debugger, place, count, DTYPES[dtype].bits))


def _elements(debugger: Debugger, place: PlaceSet, count: int, width: int) -> Iterator[Cell]:
    from isa.debugger.values import read_rows
    from isa.dump.location import place_name

    assert debugger.board is not None
    for row in read_rows(debugger.board, place, count):
        name = f"{place.store.name} {row.address} of {place_name(row.place)}"
        if row.bits < width:
            raise CheckError(f"{place.text}: a row has {row.bits} bits, too few for an element of {width}")
        number = 0
        for value in row.values:
            for shift in range(row.bits - width, -1, -width):
                yield Cell(name, number, value >> shift & ((1 << width) - 1), width)
                number += 1


def _raw(values: ArrayLike, dtype: str) -> NDArray[Any]:
    """The bits of expected values as the chip's type, flat."""
    array = np.asarray(values)
    if dtype == "d" and array.dtype.kind == "f":
        array = array.astype(np.float64)
    try:
        return encode(array, DTYPES[dtype]).ravel()
    except DtypeError as error:
        raise CheckError(f"expected values: {error}") from error


def _text(place: str, cell: Cell, wanted: int, writer: str, wrong: int, total: int, dtype: str) -> str:
    differing = cell.value ^ wanted
    return "\n".join(
        (
            f"{place}: {wrong} of {total} elements differ; the first is element {cell.element} of {cell.row}",
            f"  expected {_shown(wanted, cell.bits, dtype)}",
            f"  found    {_shown(cell.value, cell.bits, dtype)}",
            f"  differ   {differing:0{cell.bits}b} (highest: bit {differing.bit_length() - 1})",
            f"  written by {writer}" if writer else "  no line of the program changed it",
        )
    )


def _shown(raw: int, bits: int, dtype: str) -> str:
    from compiler.graph import decode

    kind = DTYPES[dtype]
    value = decode(np.array([raw], kind.raw_dtype), kind)[0]
    return f"{raw:0{bits}b} 0x{raw:0{bits // 4}x} {value}"
