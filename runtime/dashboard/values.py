"""The layout explorer: where on the chip an element of a value of l3ir.txt lies, and what lies at a place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from compiler.graph import GraphError, Location, MNGraph, MNValue, parse_l3ir
from compiler.layout import LayoutError, Level, Place, Places
from compiler.layout.image import DramImage
from compiler.layout.levels import PLACE_LEVELS
from runtime.dashboard.folder import CodegenFolder, FileProblem

FIELDS = ("l2b", "l1b", "mab", "pe", "addr", "word", "time")
_MOST_COPIES = 16
_MOST_ROWS = 64
_MEMORY = {Location.LM0: "m", Location.LM1: "n"}


@dataclass(frozen=True, slots=True)
class Spot:
    """A place, and how programs spell it: an LM operand or a DRAM address."""

    place: Place
    spelled: str


@dataclass(frozen=True, slots=True)
class Found:
    """An element and where it lies: `spots` holds the first copies of `copies` in all.

    index: in the padded shape, None where the layout puts nothing.  padding: outside the plain shape.
    mabs: the (L2B, L1B, MAB) with a copy, all of them.
    """

    index: tuple[int, ...] | None
    padding: bool
    copies: int
    spots: tuple[Spot, ...]
    mabs: frozenset[tuple[int, int, int]] = frozenset()


def load_graph(folder: CodegenFolder, name: str) -> MNGraph:
    """The graph of an l3ir text.  Raises FileProblem with the line that cannot be read."""
    return folder.parsed(name, lambda file: _parse(file, folder.text(file)), "graph")


def _parse(name: str, text: str) -> MNGraph:
    try:
        graph = parse_l3ir(text)
    except (GraphError, LayoutError, ValueError) as error:
        raise FileProblem(f"{name} cannot be read as l3ir: {error}", 422) from error
    if not graph.nodes:
        raise FileProblem(f"{name} holds no graph; while a compilation is writing it, load this page again", 422)
    return graph


def value_named(graph: MNGraph, name: str) -> MNValue:
    """A value with a layout.  Raises FileProblem."""
    try:
        value = graph.value(name)
    except GraphError as error:
        raise FileProblem(str(error)) from error
    if value.layout is None:
        raise FileProblem(f"{name} has no layout", 422)
    return value


def find_element(graph: MNGraph, value: MNValue, index: Sequence[int]) -> Found:
    """Where the element at `index` lies, in all its copies.  Raises FileProblem for an index outside."""
    layout = value.layout
    assert layout is not None  # see value_named
    try:
        place = layout.place(index)
    except LayoutError as error:
        raise FileProblem(str(error), 422) from error
    choices = [_copies(value, level, member) for level, member in zip(PLACE_LEVELS, place, strict=True)]
    count = int(np.prod([len(choice) for choice in choices], dtype=np.int64))
    first = [Place(*members) for members, _ in zip(product(*choices), range(_MOST_COPIES), strict=False)]
    padding = any(at >= extent for at, extent in zip(index, value.shape, strict=True))
    spots = tuple(Spot(spot, spelling(graph, value, spot)) for spot in first)
    return Found(tuple(index), padding, count, spots, frozenset(product(choices[0], choices[1], choices[2])))


def find_place(graph: MNGraph, value: MNValue, place: Place) -> Found:
    """What lies at a place.  Raises FileProblem for a place that the value does not have."""
    layout = value.layout
    assert layout is not None
    sizes = level_sizes(value)
    for field, at in place._asdict().items():
        if not 0 <= at < sizes[field]:
            raise FileProblem(f"{field} {at}: expected 0 to {sizes[field] - 1}", 422)
    index = layout.element_at(place)
    if index is None:
        return Found(None, False, 0, (Spot(place, spelling(graph, value, place)),))
    found = find_element(graph, value, index)
    return Found(index, found.padding, found.copies, (Spot(place, spelling(graph, value, place)),), found.mabs)


def level_sizes(value: MNValue) -> dict[str, int]:
    """Number of positions of each field of a place."""
    layout = value.layout
    assert layout is not None
    members = {
        Level.W: value.dtype.words_per_lw,
        Level.ADDR: layout.num_lw,
        Level.TIME: layout.num_slices,
    }
    return {
        field: members.get(level) or level.members or 1 for field, level in zip(FIELDS, PLACE_LEVELS, strict=True)
    }


def spelling(graph: MNGraph, value: MNValue, place: Place) -> str:
    """The long word of a place as an operand (`$lm8n0c1b2m3p0`) or a DRAM address of a group, and the word in it."""
    owner = value if value.addr is not None else graph.owner(value.name)
    loc, addr = owner.loc or value.loc, owner.addr
    if addr is None or loc is None:
        return f"{value.loc or 'no place yet'}, no address"
    word = f", word {place.word} of {value.dtype.words_per_lw}"
    if loc in _MEMORY:
        group, bank = divmod(place.l2b, 2)
        where = f"n{group}c{bank}b{place.l1b}m{place.mab}p{place.pe}"
        return f"$l{_MEMORY[loc]}{addr + 2 * place.addr}{where}{word}"
    if loc is Location.DRAM:
        assert value.layout is not None
        try:
            group, lw, _ = DramImage(value.layout, value.dtype).locate(place)
        except LayoutError as error:
            return f"DRAM, no image: {error}"
        return f"$d{addr + lw}@{group}{word}"
    return f"{loc} {addr}{word}"


def grid(value: MNValue, l2b: int, l1b: int, mab: int, time: int) -> list[list[str]]:
    """What the PEs of one MAB hold: a row per LM address (at most 64), a column per PE and word; indices as text."""
    layout = value.layout
    assert layout is not None
    rows, words = min(layout.num_lw, _MOST_ROWS), value.dtype.words_per_lw
    addr, pe, word = (field.ravel() for field in np.indices((rows, 4, words)))
    at_l2b, at_l1b, at_mab, at_time = (np.full(addr.size, number) for number in (l2b, l1b, mab, time))
    flat = layout.elements_at(Places(at_l2b, at_l1b, at_mab, pe, addr, word, at_time))
    cells = [_cell(int(at), value) for at in flat]
    width = 4 * words
    return [cells[row * width : (row + 1) * width] for row in range(rows)]


def _cell(flat: int, value: MNValue) -> str:
    """The index of an element, `pad` for padding, nothing for a hole."""
    assert value.layout is not None
    if flat < 0:
        return ""
    index = np.unravel_index(flat, value.layout.padded_shape) if value.shape else ()
    if any(at >= extent for at, extent in zip(index, value.shape, strict=True)):
        return "pad"
    return ",".join(str(int(at)) for at in index) or "scalar"


def _copies(value: MNValue, level: Level, member: int) -> list[int]:
    """The members of a level that hold the same element as `member`, the first copy."""
    layout = value.layout
    assert layout is not None
    size = level_sizes(value)[FIELDS[PLACE_LEVELS.index(level)]]
    if layout.is_broadcast(level):
        return list(range(size))
    offsets = [0]
    for entry in layout.layout.broadcast:
        if entry.level is level and entry.extent is not None:
            offsets = [at + step * entry.stride for at in offsets for step in range(entry.extent)]
    return [member + offset for offset in offsets]


def numbers(texts: Mapping[str, str], names: Sequence[str]) -> list[int]:
    """Whole numbers of a query, 0 where one is missing.  Raises FileProblem for anything else."""
    found = []
    for name in names:
        text = texts.get(name) or "0"
        if not (text.isascii() and text.isdigit()) or len(text) > 12:
            raise FileProblem(f"{name} {text!r}: expected a whole number, 0 or more", 422)
        found.append(int(text))
    return found
