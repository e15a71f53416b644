"""Pictures of one compilation: the roofline, the cycles of each layer, and how busy the units are over time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.errors import MLSDKError
from runtime.figures import Draw, available, figure_bytes, write_figure
from runtime.report_words import COLOURS, WHERE
from runtime.timeline import Timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLOTS = ("roofline", "layers", "utilisation")
_MOST_LAYERS = 40
_BINS = 200
_UNITS = ("ALU", "MAU", "L1BM", "L2BM", "DRAM g0")
_MOST_NAMES = 8
_SHADES = ("#1f5fa8", "#5b2a86", "#2f9e77", "#8aa83a", "#d95f2b")


class ReportPlotError(MLSDKError):
    """A picture cannot be drawn: matplotlib or the data is missing."""


def plot_bytes(kind: str, report: Mapping[str, Any], timeline: Timeline | None, suffix: str) -> bytes:
    """One of PLOTS as PNG or SVG.  Raises ReportPlotError."""
    with _saying_what_is_missing(kind):
        draw, height = _drawing(kind, report, timeline)
        return figure_bytes(draw, suffix, height=height)


def write_plot(kind: str, report: Mapping[str, Any], timeline: Timeline | None, out: Path) -> list[Path]:
    """One of PLOTS as `<out>/<kind>.png` and `.svg`.  Raises ReportPlotError."""
    with _saying_what_is_missing(kind):
        draw, height = _drawing(kind, report, timeline)
        return write_figure(out / kind, draw, height=height)


@contextmanager
def _saying_what_is_missing(kind: str) -> Iterator[None]:
    """A report is a file that anybody may have changed: what it lacks is said instead of a traceback."""
    if not available():
        raise ReportPlotError("pictures need matplotlib: pip install 'mncore2-sim[plots]'")
    try:
        yield
    except KeyError as error:
        raise ReportPlotError(f"the report has no data for the picture {kind!r}: {error} is missing") from error
    except (TypeError, ValueError, AttributeError, ArithmeticError) as error:
        raise ReportPlotError(f"the report has no data for the picture {kind!r}: {error}") from error


def _drawing(kind: str, report: Mapping[str, Any], timeline: Timeline | None) -> tuple[Draw, float]:
    if kind == "roofline":
        return partial(_roofline, report["roofline"], report["layers"]), 4.6
    if kind == "layers":
        rows = _slowest(report["layers"])
        return partial(_layers, rows, report["vsm_cycles"]), 1.4 + 0.24 * len(rows)
    if timeline is None or not timeline.tracks:
        raise ReportPlotError("the picture 'utilisation' needs the units of trace.json")
    return partial(_utilisation, timeline), 4.2


def _slowest(layers: Sequence[Mapping[str, Any]]) -> dict[int, Mapping[str, Any]]:
    """The layers with cycles by their number; of many only those with most, in execution order."""
    numbers = [number for number, layer in enumerate(layers) if layer["cycles"]]
    chosen = sorted(numbers, key=lambda number: -layers[number]["cycles"])[:_MOST_LAYERS]
    return {number: layers[number] for number in sorted(chosen)}


def _roofline(whole: Mapping[str, Any], layers: Sequence[Mapping[str, Any]], axes: Axes) -> None:
    """Attainable and achieved TFLOPS over operations per DRAM byte; the area of a dot is its layer's cycles.

    The slowest layers have their number and operator beside them.
    """
    peak, ridge = float(whole["peak_tflops"]), float(whole["ridge_flops_per_byte"])
    dots = [
        (layer["intensity"], layer["tflops"], layer["cycles"], f"{number}: {layer['op_type']}")
        for number, layer in enumerate(layers)
        if layer["intensity"] and layer["tflops"]
    ]
    at = [dot[0] for dot in dots] + ([whole["intensity"]] if whole.get("intensity") else [])
    low, high = min([*at, ridge]) / 4, max([*at, ridge]) * 8
    axes.plot([low, ridge, high], [peak * low / ridge, peak, peak], color="#404750", label="attainable")
    if dots:
        most = max(dot[2] for dot in dots)
        sizes = [20 + 180 * dot[2] / most for dot in dots]
        axes.scatter(
            [dot[0] for dot in dots], [dot[1] for dot in dots], s=sizes, color="#2f9e77", alpha=0.7, label="layers"
        )
        for x, y, _, name in sorted(dots, key=lambda dot: -dot[2])[:_MOST_NAMES]:
            axes.annotate(name, (x, y), xytext=(8, 4), textcoords="offset points", color="#404750")
    if whole.get("intensity") and whole.get("tflops"):
        axes.scatter([whole["intensity"]], [whole["tflops"]], marker="*", s=160, color="#d95f2b", label="program")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("operations per byte of DRAM traffic")
    axes.set_ylabel("TFLOPS")
    axes.set_title("Roofline")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False)


def _layers(numbered: Mapping[int, Mapping[str, Any]], total: int, axes: Axes) -> None:
    """A bar per layer, divided by what bounds it; the lower bound of each as a mark."""
    names = [f"{number}: {layer['op_type']}" for number, layer in numbered.items()]
    rows = list(numbered.values())
    left = np.zeros(len(rows))
    for bound, colour in COLOURS.items():
        widths = np.array([layer["bounds"].get(bound, 0) for layer in rows], dtype=float)
        if widths.any():
            axes.barh(names, widths, left=left, color=colour, label=WHERE[bound], height=0.72)
            left += widths
    limits = [max(layer["lower_bounds"].values(), default=0) for layer in rows]
    axes.plot(limits, names, linestyle="", marker="|", markersize=9, color="black", label="lower bound")
    axes.invert_yaxis()
    axes.margins(y=0.01)
    axes.set_xlabel("cycles")
    axes.set_title(f"Cycles of {len(rows)} layers, {sum(layer['cycles'] for layer in rows):,} of {total:,}")
    axes.legend(frameon=False)


def busy_share(timeline: Timeline, unit: str, bins: int) -> np.ndarray:
    """Share of each of `bins` equal parts of the time in which a unit was busy; float64[bins] in 0..1."""
    edges = np.linspace(0.0, max(timeline.cycles, 1), bins + 1)
    track = timeline.track(unit)
    if track is None:
        return np.zeros(bins)
    pieces = sorted((piece.start, piece.end) for piece in track.slices)
    starts, ends = _merged(pieces)
    before = np.concatenate([[0.0], np.cumsum(ends - starts)])  # busy cycles before each stretch
    at = np.searchsorted(starts, edges, side="right")
    inside = np.where(at > 0, np.minimum(edges, ends[at - 1]) - starts[at - 1] if starts.size else 0.0, 0.0)
    busy = np.where(at > 0, before[at - 1] + inside, 0.0)
    share: np.ndarray = np.diff(busy) / np.diff(edges)
    return share


def _merged(pieces: Sequence[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    """Starts and ends of the stretches that sorted, perhaps overlapping pieces cover."""
    starts: list[int] = []
    ends: list[int] = []
    for start, end in pieces:
        if ends and start <= ends[-1]:
            ends[-1] = max(ends[-1], end)
        else:
            starts.append(start)
            ends.append(end)
    return np.array(starts, dtype=float), np.array(ends, dtype=float)


def _utilisation(timeline: Timeline, axes: Axes) -> None:
    """A band per unit, full where it was busy all the time."""
    step = timeline.cycles / _BINS
    edges = np.arange(_BINS + 1) * step
    shown = [unit for unit in _UNITS if timeline.track(unit) is not None]
    for row, unit in enumerate(shown):
        share = busy_share(timeline, unit, _BINS)
        base, height = len(shown) - 1 - row, 0.86
        axes.stairs(base + height * share, edges, baseline=base, fill=True, color=_SHADES[row % len(_SHADES)])
        axes.axhline(base, color="#404750", linewidth=0.6)
        axes.text(
            timeline.cycles, base + 0.4, f" {100 * share.mean():.0f} %", ha="left", va="center", color="#404750"
        )
    axes.set_yticks([len(shown) - 1 - row + 0.43 for row in range(len(shown))], shown)
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(-0.05, len(shown))
    axes.set_xlim(0, timeline.cycles)
    axes.set_xlabel("cycle")
    axes.set_title(f"How busy the units are: full height is 100 % of {step:,.0f} cycles; on the right, of all cycles")
