"""Pictures with matplotlib (extra `plots`), drawn without pyplot: no window system, no global state, equal bytes."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from runtime.files import write_atomically

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FORMATS = ("png", "svg")
_DPI = 144

Draw = Callable[["Axes"], None]


def available() -> bool:
    """Is matplotlib installed?"""
    return find_spec("matplotlib") is not None


def figure_bytes(draw: Draw, suffix: str, *, height: float, width: float = 9.0) -> bytes:
    """One picture as a file of the format `suffix`; sizes in inches."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    with rc_context({"svg.hashsalt": "mncore2", "font.size": 9}):  # equal plots make equal files
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = figure.add_subplot()
        draw(axes)
        axes.spines[["top", "right"]].set_visible(False)
        target = BytesIO()
        figure.savefig(target, format=suffix, dpi=_DPI, metadata={"Date": None} if suffix == "svg" else None)
    return target.getvalue()


def write_figure(stem: Path, draw: Draw, *, height: float) -> list[Path]:
    """Write `<stem>.png` and `<stem>.svg`; returns the paths."""
    paths = [stem.with_name(f"{stem.name}.{suffix}") for suffix in FORMATS]
    for path, suffix in zip(paths, FORMATS, strict=True):
        write_atomically(path, figure_bytes(draw, suffix, height=height))
    return paths
