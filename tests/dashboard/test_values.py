"""The layout explorer against the index maps themselves: every element of every value, there and back."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from compiler.graph import Location, MNGraph, MNType, MNValue, OnnxType
from compiler.layout import PadLayout, Place, Places
from compiler.layout.image import DramImage
from runtime.dashboard.chip import draw_chip, holders
from runtime.dashboard.folder import FileProblem
from runtime.dashboard.values import find_element, find_place, grid, level_sizes

LAYOUTS = (
    ("(13,5)", "((2_L2B:1, 8_L1B:1), (5:2); B@[PE,W,MAB,4_L2B:2])", MNType.HALF, Location.LM0, 64),
    ("(7)", "((4_W:1, 2_PE:1); B@[MAB,L1B,L2B,2_PE:2])", MNType.HALF, Location.DRAM, 4096),
    ("(6,4)", "((8_MAB:2), (2:1, 2_W:1); B@[PE,L1B,L2B,2_MAB:1])", MNType.FLOAT, Location.LM1, 8),
    ("(3)", "((4_Time:1); B@[PE,W,MAB,L1B,L2B])", MNType.FLOAT, Location.LM0, 0),
    ("()", "(; B@[PE,W,MAB,L1B,L2B])", MNType.FLOAT, Location.LM0, 0),
)


def _value(shape: str, layout: str, dtype: MNType, loc: Location, addr: int) -> tuple[MNGraph, MNValue]:
    pad = PadLayout.parse(f"{shape}/{layout}")
    value = MNValue("v", OnnxType.FLOAT32, pad.shape, dtype, layout=pad, loc=loc, addr=addr)
    graph = MNGraph()
    graph.add_value(value)
    return graph, value


@pytest.mark.parametrize(("shape", "layout", "dtype", "loc", "addr"), LAYOUTS[:4])
def test_elements_and_places_are_inverse(shape: str, layout: str, dtype: MNType, loc: Location, addr: int) -> None:
    graph, value = _value(shape, layout, dtype, loc, addr)
    assert value.layout is not None
    sizes = level_sizes(value)
    total = 0
    for index in np.ndindex(*value.layout.padded_shape):  # all of them, and all places that any level has
        found = find_element(graph, value, index)
        total += found.copies
        assert found.padding == any(at >= extent for at, extent in zip(index, value.shape, strict=True))
        assert found.spots[0].place == value.layout.place(index)
        for spot in found.spots[:: max(1, len(found.spots) - 1)]:  # the first and the last
            back = find_place(graph, value, spot.place)
            assert back.index == index and back.copies == found.copies
    everything = Places(*np.indices(tuple(sizes.values())))
    assert int((value.layout.elements_at(everything) >= 0).sum()) == total


def test_spelling_of_places() -> None:
    graph, value = _value(*LAYOUTS[0])
    (first, *_) = find_element(graph, value, [3, 2]).spots
    assert first.place == Place(0, 3, 0, 0, 4, 0, 0) and first.spelled == "$lm72n0c0b3m0p0, word 0 of 4"
    graph, value = _value(*LAYOUTS[1])
    assert value.layout is not None
    for number in range(7):
        (first, *_) = find_element(graph, value, [number]).spots
        group, lw, _ = DramImage(value.layout, value.dtype).locate(first.place)
        assert first.spelled == f"$d{4096 + lw}@{group}, word {first.place.word} of 4"


def test_the_grid_is_what_the_maps_say() -> None:
    _, value = _value(*LAYOUTS[2])
    assert value.layout is not None
    rows = grid(value, 0, 0, 5, 0)
    for addr, row in enumerate(rows):
        for column, cell in enumerate(row):
            index = value.layout.element_at(Place(0, 0, 5, column // 2, addr, column % 2, 0))
            assert cell == ("" if index is None else "pad" if index[0] >= 6 else f"{index[0]},{index[1]}")
    assert {cell for row in rows for cell in row} == {"2,0", "2,1", "2,2", "2,3"}


@pytest.mark.parametrize(("shape", "layout", "dtype", "loc", "addr"), LAYOUTS)
def test_the_chip_shows_where_a_value_is(shape: str, layout: str, dtype: MNType, loc: Location, addr: int) -> None:
    graph, value = _value(shape, layout, dtype, loc, addr)
    assert value.layout is not None
    everything = value.layout.elements_at(Places(*np.indices(tuple(level_sizes(value).values())))) >= 0
    held = holders(value)
    assert (held == everything.any(axis=(3, 4, 5, 6))).all() and held.any()
    found = find_element(graph, value, [0] * len(value.shape))
    root = ElementTree.fromstring(draw_chip(held, found.mabs, found.spots[0].place))
    squares = [square.attrib for square in root.iter() if "data-place" in square.attrib]
    drawn = {square["data-place"]: square["class"].split() for square in squares}
    assert len(drawn) == 1024
    for at, holds in np.ndenumerate(held):
        state = drawn[",".join(map(str, at))]
        assert state[1] == ("copy" if at in found.mabs else "held" if holds else "free")
        assert ("picked" in state) == (at == found.spots[0].place[:3])
    assert {spot.place[:3] for spot in found.spots} <= found.mabs


def test_what_is_outside_is_refused() -> None:
    graph, value = _value(*LAYOUTS[0])
    for index in ([16, 0], [0, 5], [0], [0, 0, 0]):
        with pytest.raises(FileProblem, match="outside the padded shape"):
            find_element(graph, value, index)
    with pytest.raises(FileProblem, match="mab 16: expected 0 to 15"):
        find_place(graph, value, Place(0, 0, 16, 0, 0, 0, 0))


def test_the_page(compiled: Path, client_of: Callable[[Path], Any]) -> None:
    client = client_of(compiled)
    names = re.findall(r'<option value="([^"]*)"', client.get("/layout").text)
    assert names
    for name in names:
        page = html.unescape(client.get("/layout", params={"value": html.unescape(name)}).text)
        assert 'id="found"' in page and 'id="back"' in page and 'role="alert"' not in page, name
    wrong = client.get("/layout", params={"value": html.unescape(names[0]), "index": "999999,1,1,1"})
    assert wrong.status_code == 200 and "outside the padded shape" in wrong.text
    missing = client.get("/layout", params={"value": "no"})
    assert missing.status_code == 404
