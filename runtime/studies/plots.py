"""Plots of a study as PNG and SVG: where the cycles go on each chip, and cycles against each number that varies.

Needs matplotlib (extra `plots`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from hw.events import CAUSES
from runtime.figures import available, write_figure
from runtime.studies.errors import PlotError
from runtime.studies.table import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Work is blue and green, waiting for data warm, the rest grey; neighbours in a stack differ in lightness too.
COLOURS = {
    "compute": "#1f5fa8",
    "transfer": "#2f9e77",
    "hazard_nop": "#b9bec5",
    "wait_step": "#8d949e",
    "mv_issue": "#6b7280",
    "wait_queue": "#8c2d04",
    "wait_latency": "#f2a65a",
    "wait_port": "#5b2a86",
    "wait_dram": "#d95f2b",
    "wait_refresh": "#a50f15",
    "wait_data": "#c44e8a",
    "wait_notice": "#f6d6a8",
    "wait_host": "#7a9a01",
    "drain": "#404750",
    "host_stream": "#b8c94a",
    "packet_nop": "#d9dde2",
    "host_send": "#5f7a1a",
    "host_receive": "#93a83d",
    "unattributed": "#000000",
}


def write_plots(rows: Sequence[Row], varied: Sequence[str], out: Path) -> list[Path]:
    """Write `plots/<program>-causes` and, for numbers with several values, `plots/<program>-<number>`; the paths.

    Failed points are left out.  Raises PlotError without matplotlib.
    """
    if not available():
        raise PlotError("plots need matplotlib: pip install 'mncore2-sim[plots]', or leave them out with --no-plots")
    folder = out / "plots"
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for program in dict.fromkeys(row["program"] for row in rows):
        good = [row for row in rows if row["program"] == program and row["status"] == "ok"]
        if not good:
            continue
        name = re.sub(r"[^\w.-]+", "_", program)
        paths += write_figure(folder / f"{name}-causes", partial(_causes, rows=good), height=_height(len(good)))
        axes_of_study = _independent(good, varied)
        for number in axes_of_study:
            draw = _curve(good, number, [other for other in axes_of_study if other != number])
            paths += write_figure(folder / f"{name}-{number}", draw, height=_height(10))
    return paths


def _height(rows: int) -> float:
    """Inches of a picture with this many bars."""
    return 1.6 + 0.34 * rows


def _independent(rows: Sequence[Row], numbers: Sequence[str]) -> list[str]:
    """Numbers with several values; of those that a pattern moves together, always in the same ratio, only the first."""
    chosen: dict[tuple[float, ...], str] = {}
    for number in numbers:
        ratios = tuple(float(row[number]) / (float(rows[0][number]) or 1.0) for row in rows)
        if len(set(ratios)) > 1:
            chosen.setdefault(ratios, number)
    return list(chosen.values())


def _causes(axes: Axes, rows: Sequence[Row]) -> None:
    """Stacked bars, one per chip, first chip on top; causes that never occur are left out."""
    names = [row["chip"] for row in rows]
    left = [0] * len(rows)
    for cause in (cause.value for cause in CAUSES):
        widths = [row.get(f"cause_{cause}") or 0 for row in rows]
        if any(widths):
            axes.barh(names, widths, left=left, color=COLOURS[cause], label=cause, height=0.72)
            left = [a + b for a, b in zip(left, widths, strict=True)]
    for name, row in zip(names, rows, strict=True):
        axes.text(row["cycles"], name, f" {row['cycles']:,}", va="center")
    axes.plot(
        [row["lower_bound"] for row in rows], names, linestyle="", marker="|", markersize=12, color="black",
        label="lower bound",
    )  # fmt: skip
    axes.invert_yaxis()
    axes.margins(x=0.08)
    axes.set_xlabel("cycles")
    axes.set_title(f"{rows[0]['program']}: where the cycles go")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)


def _curve(rows: Sequence[Row], number: str, others: Sequence[str]) -> Callable[[Axes], None]:
    """Cycles against one number, one line per combination of the other ones."""

    def draw(axes: Axes) -> None:
        lines: dict[tuple[float, ...], list[Row]] = {}
        for row in rows:
            lines.setdefault(tuple(row[other] for other in others), []).append(row)
        for order, (key, points) in enumerate(lines.items()):
            points = sorted(points, key=lambda row: row[number])
            text = ", ".join(f"{other} = {value:g}" for other, value in zip(others, key, strict=True))
            # Later lines are thinner, so equal ones stay visible under each other.
            width = 1.5 + 4.5 * (len(lines) - 1 - order) / len(lines)
            cycles = [p["cycles"] for p in points]
            axes.plot([p[number] for p in points], cycles, marker="o", linewidth=width, label=text or None)
        axes.set_xlabel(number)
        axes.set_ylabel("cycles")
        axes.set_ylim(0, 1.08 * max(row["cycles"] for row in rows))
        axes.grid(alpha=0.3)
        axes.set_title(f"{rows[0]['program']}: cycles by {number}")
        if others:
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False)

    return draw
