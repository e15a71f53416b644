"""Test cases in the judge's file format (isa.md 16.2): inputs as `d set`, a marker for the solution, expectations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from traces.records_challenge.layout import Layout, Place

MARKER = "# ======= YOUR VSM WILL BE INSERTED HERE ======="
BITS = {"Long": 64, "ULong": 64, "Double": 64, "Int": 32, "UInt": 32, "Float": 32, "Half": 16}
_NUMPY = {"Long": "<i8", "ULong": "<u8", "Double": "<f8", "Int": "<i4", "UInt": "<u4", "Float": "<f4"}


@dataclass(frozen=True)
class Tensor:
    """A named array with its layout and dtype."""

    layout: str
    dtype: str
    values: np.ndarray


def encode(value: object, dtype: str) -> int:
    """The bits of one element.  Half is 1-6-9; its values must be exact (numerics.md 1.1)."""
    if dtype != "Half":
        return int.from_bytes(np.array(value, _NUMPY[dtype]).tobytes(), "little")
    single = int(np.float32(value).view(np.uint32))  # type: ignore[arg-type]
    if not single & 0x7FFFFFFF:
        return single >> 16
    return (single >> 16 & 0x8000) | ((single >> 23 & 0xFF) - 96) << 9 | (single >> 14 & 0x1FF)


def case_text(inputs: Sequence[Tensor], output: Tensor, *, atol: float) -> str:
    """A whole test case.  Consecutive long words of an input share one `d set` line."""
    lines = []
    for number, tensor in enumerate(inputs):
        lines.append(f"# ======= In({number}): {tensor.layout} / {tensor.dtype} =======")
        lines += _set_lines(tensor)
    lines += [MARKER, f"# ======= Out(0): {output.layout} / {output.dtype} ======="]
    return "\n".join([*lines, *_get_lines(output, atol)]) + "\n"


def _words(tensor: Tensor) -> dict[Place, list[tuple[int, tuple[int, ...]]]]:
    words: dict[Place, list[tuple[int, tuple[int, ...]]]] = {}
    for index, place, position in Layout(tensor.layout).elements():
        words.setdefault(place, []).append((position, index))
    return {place: sorted(words[place]) for place in sorted(words)}


def _set_lines(tensor: Tensor) -> Iterator[str]:
    run: list[tuple[Place, str]] = []
    for place, parts in _words(tensor).items():
        bits = 0
        for position, index in parts:
            shift = 64 - BITS[tensor.dtype] * (position + 1)
            bits |= encode(tensor.values[index], tensor.dtype) << shift
        follows = run and run[-1][0].instance == place.instance and run[-1][0].address + 2 == place.address
        if run and not follows:
            yield _set_line(run)
            run = []
        run.append((place, f"{bits:016x}"))
    yield _set_line(run)


def _set_line(run: list[tuple[Place, str]]) -> str:
    first = run[0][0]
    return f"d set ${first.memory}{first.address}{first.instance} {len(run)} {''.join(text for _, text in run)}"


def _get_lines(tensor: Tensor, atol: float) -> Iterator[str]:
    tolerance = f" atol={atol}" if atol else ""
    for place, parts in _words(tensor).items():
        values = [tensor.values[index].item() for _, index in parts]
        where = ",".join(str(list(index)) for _, index in parts).replace(" ", "")
        location = f"${place.memory}{place.address}{_one_instance(place)}"
        yield f"d getd {location} 1 # expect={values} / {tensor.dtype} @{where}{tolerance}"


def _one_instance(place: Place) -> str:
    """A dump of one long word must name every level; those the layout leaves out hold copies, the first is read."""
    if place.memory == "d":
        return place.instance
    given = dict(re.findall(r"([ncbmp])(\d+)", place.instance))
    return "".join(f"{level}{given.get(level, 0)}" for level in "ncbmp")
