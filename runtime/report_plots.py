"""Pictures of one compilation: the roofline, the cycles of each layer, and how busy the units are over time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from runtime.errors import MLSDKError
from runtime.figures import Draw, available, figure_bytes, write_figure
from runtime.timeline import Timeline

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PLOTS = ("roofline", "layers", "utilisation")
_MOST_LAYERS = 40
_BINS = 200
_UNITS = ("ALU", "MAU", "L1BM", "L2BM", "DRAM g0")
_COLOURS = {
    "compute": "#1f5fa8",
    "on_chip_move": "#2f9e77",
    "hazard_nop": "#b9bec5",
    "dram_bound": "#d95f2b",
    "mv_wait": "#f2a65a",
    "host_bound": "#5b2a86",
    "unattributed": "#000000",
}


class ReportPlotError(MLSDKError):
    """A picture cannot be drawn: matplotlib or the data is missing."""


def plot_bytes(kind: str, report: Mapping[str, Any], timeline: Timeline | None, suffix: str) -> bytes:
    """One of PLOTS as PNG or SVG.  Raises ReportPlotError."""
    draw, height = _drawing(kind, report, timeline)
    return figure_bytes(draw, suffix, height=height)


def write_plot(kind: str, report: Mapping[str, Any], timeline: Timeline | None, out: Path) -> list[Path]:
    """One of PLOTS as `<out>/<kind>.png` and `.svg`.  Raises ReportPlotError."""
    draw, height = _drawing(kind, report, timeline)
    return write_figure(out / kind, draw, height=height)


def _drawing(kind: str, report: Mapping[str, Any], timeline: Timeline | None) -> tuple[Draw, float]:
    if not available():
        raise ReportPlotError("pictures need matplotlib: pip install 'mncore2-sim[plots]'")
    try:
        if kind == "roofline":
            return partial(_roofline, report["roofline"], report["layers"]), 4.6
        if kind == "layers":
            rows = _slowest(report["layers"])
            return partial(_layers, rows, report["vsm_cycles"]), 1.4 + 0.24 * len(rows)
    except (KeyError, TypeError) as error:
        raise ReportPlotError(f"the report has no data for the picture {kind!r}: {error} is missing") from error
    if timeline is None or not timeline.tracks:
        raise ReportPlotError("the picture 'utilisation' needs the units of trace.json")
    return partial(_utilisation, timeline), 4.2


def _slowest(layers: Sequence[Mapping[str, Any]]) -> dict[int, Mapping[str, Any]]:
    """The layers with cycles by their number; of many only those with most, in execution order."""
    numbers = [number for number, layer in enumerate(layers) if layer["cycles"]]
    chosen = sorted(numbers, key=lambda number: -layers[number]["cycles"])[:_MOST_LAYERS]
    return {number: layers[number] for number in sorted(chosen)}


def _roofline(whole: Mapping[str, Any], layers: Sequence[Mapping[str, Any]], axes: Axes) -> None:
    """Attainable and achieved TFLOPS over operations per DRAM byte; the area of a dot is its layer's cycles."""
    peak, ridge = float(whole["peak_tflops"]), float(whole["ridge_flops_per_byte"])
    dots = [(layer["intensity"], layer["tflops"], layer["cycles"]) for layer in layers]
    dots = [dot for dot in dots if dot[0] and dot[1]]
    at = [dot[0] for dot in dots] + ([whole["intensity"]] if whole.get("intensity") else [])
    low, high = min([*at, ridge]) / 4, max([*at, ridge]) * 8
    axes.plot([low, ridge, high], [peak * low / ridge, peak, peak], color="#404750", label="attainable")
    if dots:
        most = max(dot[2] for dot in dots)
        sizes = [20 + 180 * dot[2] / most for dot in dots]
        axes.scatter(
            [dot[0] for dot in dots], [dot[1] for dot in dots], s=sizes, color="#2f9e77", alpha=0.7, label="layers"
        )
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
    for bound, colour in _COLOURS.items():
        widths = np.array([layer["bounds"].get(bound, 0) for layer in rows], dtype=float)
        if widths.any():
            axes.barh(names, widths, left=left, color=colour, label=bound, height=0.72)
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
    """One line per unit: the busy share of each part of the time."""
    step = timeline.cycles / _BINS
    at = (np.arange(_BINS) + 0.5) * step
    shown = [unit for unit in _UNITS if timeline.track(unit) is not None]
    for unit in shown:
        axes.plot(at, 100.0 * busy_share(timeline, unit, _BINS), label=unit, linewidth=1.2)
    axes.set_xlabel("cycle")
    axes.set_ylabel(f"busy, % of {step:,.0f} cycles")
    axes.set_ylim(0, 104)
    axes.set_title("How busy the units are")
    axes.grid(alpha=0.3)
    if shown:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)
