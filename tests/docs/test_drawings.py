"""The pictures of docs/img are what the generator draws today, from the numbers of the chip."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from hw.spec import ChipSpec, default_spec
from runtime.drawings import PICTURES
from runtime.drawings.units import bandwidth, rate, size
from tests.docs.markdown import DOCS


@pytest.mark.parametrize("name", PICTURES)
def test_the_committed_picture_is_todays(name: str) -> None:
    assert (DOCS / "img" / f"{name}.svg").read_text(encoding="utf-8") == PICTURES[name](default_spec()).file(), (
        "run: python -m runtime.drawings"
    )


@pytest.mark.parametrize("name", PICTURES)
def test_everything_lies_on_the_page(name: str) -> None:
    """Boxes and the anchors of texts are inside the picture, and no colour is without its dark twin."""
    text = PICTURES[name](default_spec()).file()
    root = ElementTree.fromstring(text)
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    for part in root.iter():
        x, y = (float(part.get(key, 0)) for key in "xy")
        assert 0 <= x <= width and 0 <= y <= height, part.attrib
        if part.tag.endswith("rect"):
            assert x + float(part.attrib["width"]) <= width and y + float(part.attrib["height"]) <= height
    style = text[text.index("<style>") : text.index("</style>")]
    light, dark = re.findall(r"svg\{([^}]*)\}", style)
    assert re.findall(r"--[\w-]+", light) == re.findall(r"--[\w-]+", dark)
    assert set(re.findall(r"var\((--[\w-]+)\)", style)) <= set(re.findall(r"--[\w-]+", light))


@pytest.mark.parametrize(
    ("name", "change", "shown"),
    [
        ("chip_hierarchy", {"capacity.lm": 4096}, "32 KiB"),
        ("chip_element", {"fma.matrix.half": 333}, "333 half"),
        ("chip_data_path", {"l1bm.rate.l1bmd": 32}, "12.3 TB/s"),
        ("chip_steps", {"mv.latency.dram": 400}, "500 cycles"),
    ],
)
def test_numbers_come_from_the_chip(name: str, change: dict[str, int], shown: str) -> None:
    draw = PICTURES[name]
    assert shown not in draw(default_spec()).file()
    assert shown in draw(ChipSpec.load(change)).file()


def test_units() -> None:
    assert [size(lws) for lws in (8, 256, 2048, 32768, 524288, 536870912)] == [
        "64 B", "2 KiB", "16 KiB", "256 KiB", "4 MiB", "4 GiB",
    ]  # fmt: skip
    assert rate(16) == "16" and rate(64 / 3) == "21.3"
    assert bandwidth(default_spec(), 16, 4) == "384 GB/s" and bandwidth(default_spec(), 64, 64) == "24.6 TB/s"
