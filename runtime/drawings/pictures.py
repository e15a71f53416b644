"""All pictures by the name of their file."""

from __future__ import annotations

from collections.abc import Callable

from hw.spec import ChipSpec
from runtime.drawings import data_path, element, formats, hierarchy, steps
from runtime.drawings.canvas import Canvas

PICTURES: dict[str, Callable[[ChipSpec], Canvas]] = {
    "chip_hierarchy": hierarchy.draw,
    "chip_element": element.draw,
    "chip_data_path": data_path.draw,
    "chip_steps": steps.draw,
    "chip_formats": formats.draw,
}
