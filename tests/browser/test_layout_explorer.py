"""The layout explorer in the browser, by forms and by clicks, against the index maps of compiler.layout."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from compiler.graph import MNValue, parse_l3ir
from compiler.layout import Place
from runtime.dashboard.values import FIELDS, level_sizes
from tests.browser import perfetto_ui

_MISSING = perfetto_ui.missing()
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(_MISSING is not None, reason=f"browser tests need more: {_MISSING}"),
]


def places(page: Any) -> list[Place]:
    """The places that the page lists."""
    rows = page.eval_on_selector_all("#places tbody tr", "rows => rows.map(r => [...r.cells].map(c => c.textContent))")
    return [Place(*(int(cell) for cell in row[:7])) for row in rows]


def element(text: str) -> tuple[int, ...] | None:
    """The index in `…: element [3, 0], padding`, None for nothing."""
    if "nothing there" in text:
        return None
    inside = text.split("element [")[1].split("]")[0]
    return tuple(int(at) for at in inside.split(",") if at.strip())


def some_values(folder: Path) -> list[MNValue]:
    """A few values of different kinds: in DRAM, in both LMs, with copies, with padding."""
    graph = parse_l3ir((folder / "l3ir.txt").read_text())
    values = [value for value in graph.values.values() if value.layout is not None and value.shape]
    kinds = {(str(value.loc), str(value.dtype), len(value.shape)): value for value in values}
    return list(kinds.values())[:6]


def test_elements_are_found_and_places_looked_up(page: Any, url: str, folder: Path) -> None:
    draw = random.Random(5)
    for value in some_values(folder):
        assert value.layout is not None
        page.goto(f"{url}/layout")
        page.fill("input[data-filter]", value.name)
        page.click(f"#list a:text-is('{value.name}')")
        index = [draw.randrange(extent) for extent in value.shape]
        page.fill("#element input[name=index]", ", ".join(map(str, index)))
        page.click("#element button")
        found = places(page)
        assert found[0] == value.layout.place(index), (value.name, index)
        assert all(value.layout.element_at(place) == tuple(index) for place in found)
        assert element(page.locator("#found").inner_text()) == tuple(index)
        marked = page.locator("#chip .copy").count()
        assert marked >= len({place[:3] for place in found})
        sizes = level_sizes(value)
        for _ in range(3):
            place = Place(*(draw.randrange(sizes[field]) for field in FIELDS))
            for field, at in place._asdict().items():
                page.fill(f"#place input[name={field}]", str(at))
            page.click("#place button")
            assert element(page.locator("#back").inner_text()) == value.layout.element_at(place), (value.name, place)


def test_clicks_on_the_chip_and_on_its_words(page: Any, url: str, folder: Path) -> None:
    value = next(value for value in some_values(folder) if value.layout is not None and value.layout.num_lw > 1)
    assert value.layout is not None
    page.goto(f"{url}/layout?value={value.name}")
    assert page.locator("#chip .mab").count() == 1024
    page.click("#chip [data-place='5,3,9']")
    shown = [int(page.input_value(f"#place input[name={field}]")) for field in FIELDS]
    assert shown[:3] == [5, 3, 9]
    assert page.locator("#chip .picked").get_attribute("data-place") == "5,3,9"
    assert element(page.locator("#back").inner_text()) == value.layout.element_at(Place(*shown))
    page.locator("#chip .copy").last.click()  # of element 0, so that it holds more than padding
    cell = page.locator("table.grid td:not(.pad)").last
    index = tuple(int(at) for at in cell.inner_text().split(","))
    cell.click()
    page.wait_for_selector("#found")
    assert element(page.locator("#found").inner_text()) == index
    assert places(page)[0] == value.layout.place(index)
    page.locator("#places tbody tr").last.click()
    page.wait_for_selector("#back")
    assert element(page.locator("#back").inner_text()) == index
    assert page.locator("table.grid td.copy").count() > 0
