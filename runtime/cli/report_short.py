"""A report.json on one screen: the figures, where the cycles went, and a row per layer, at most 100 columns wide.

Of the bounds that a report holds, one is shown: the cycles that the same instructions need if nothing waits
(the largest of the layer's `lower_bounds`, docs/cycles.md), and what they need them of.  What a report lacks is left
out here; everything is shown by `report_view`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from runtime.cli.output import cell_text, console, is_number, print_table
from runtime.report_words import BOUND_BY, WHERE

WIDTH = 100
_SHARE = "    %"  # over numbers of five columns
_GAP, _EDGES, _LEAST_NAME = 3, 2, 16
LEGEND = (
    "bound: cycles that these instructions need if nothing waits; by: the busiest\n"
    "port, or the instructions; mostly: where most of the layer's cycles went"
)


def print_short(report: Mapping[str, Any], top: int | None) -> None:
    """Print it; of the layers only the `top` slowest, slowest first, all in execution order for None."""
    figures = _figures(report)
    if figures:
        print_table("", ("figure", "value"), figures)
    total = whole(report.get("vsm_cycles"))
    spent = _cycles(report.get("bounds")) or _cycles(report.get("causes"))
    if spent and total:
        rows = [(WHERE.get(name, name), n, _percent(n, total)) for name, n in spent.items() if n]
        last = ("all", sum(spent.values()), _percent(total, total))
        print_table("where the cycles went", ("where", "cycles", _SHARE), rows, last)
    layers = report.get("layers")
    if isinstance(layers, list) and layers:
        _print_layers([layer for layer in layers if isinstance(layer, Mapping)], total, top)


def _figures(report: Mapping[str, Any]) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    cycles, clock = whole(report.get("vsm_cycles")), report.get("core_freq")
    if "vsm_cycles" in report:
        time = f", {cycles / clock:,.2f} µs at {clock:g} MHz" if isinstance(clock, (int, float)) and clock else ""
        found.append(("cycles", f"{cycles:,}{time}"))
    bound, by = bound_of(report)
    if bound:
        share = f", {100 * bound / cycles:.0f} % of the cycles" if cycles else ""
        found.append(("bound of these instructions", f"{bound:,} by {by}{share}"))
    if "flops" in report:
        rate = f", {report['tflops']:.2f} TFLOPS" if isinstance(report.get("tflops"), float) else ""
        peak = report.get("percent_of_peak")
        share = f", {peak:.2f} % of the half-precision peak" if isinstance(peak, float) else ""
        found.append(("operations", f"{cell_text(report['flops'])}{rate}{share}"))
    return found


def bound_of(record: Mapping[str, Any]) -> tuple[int, str]:
    """The largest of the `lower_bounds` of a report or a layer, and what it is a bound of; (0, "") without any."""
    bounds = _cycles(record.get("lower_bounds"))
    if not bounds:
        return 0, ""
    kind = max(bounds, key=lambda name: bounds[name])
    return bounds[kind], BOUND_BY.get(kind, kind)


def mostly(layer: Mapping[str, Any]) -> str:
    """Where most of the cycles of a layer went; "" for a layer without cycles."""
    spent = _cycles(layer.get("bounds"))
    if not any(spent.values()):
        return ""
    kind = max(spent, key=lambda name: spent[name])
    return WHERE.get(kind, kind)


def short_name(layer: Mapping[str, Any]) -> str:
    """`Gemm -> y` of `Gemm(x, w, transB) -> (y)`: the operator and what it makes."""
    name = str(layer.get("name", ""))
    head, arrow, outputs = name.rpartition(" -> ")
    return f"{head.split('(')[0]} -> {outputs.removeprefix('(').removesuffix(')')}" if arrow else name


def _print_layers(layers: Sequence[Mapping[str, Any]], total: int, top: int | None) -> None:
    chosen = list(layers)
    if top is not None:
        chosen = sorted(layers, key=lambda layer: -whole(layer.get("cycles")))[:top]
    rows: list[list[Any]] = []
    for layer in chosen:
        cycles = whole(layer.get("cycles"))
        bound, by = bound_of(layer)
        rows.append([short_name(layer), cycles, _percent(cycles, total), bound or None, by, mostly(layer)])
    shown = sum(row[1] for row in rows)
    title = "layers" if len(rows) == len(layers) else f"the {len(rows)} slowest of {len(layers)} layers"
    last: list[Any] = ["all" if len(rows) == len(layers) else "these", shown, _percent(shown, total), None, None, None]
    head = ["layer", "cycles", _SHARE, "bound", "by", "mostly"]
    room = _room(head, [*rows, last])
    for row in rows:
        row[0] = _cut(row[0], room)
    print_table(title, head, rows, last)
    print(LEGEND)


def _room(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> int:
    """Columns that are left for the names."""
    taken = sum(
        _GAP + max(len(head[at]), *(len(cell_text(row[at])) for row in rows)) for at in range(1, len(head))
    )
    return max(_LEAST_NAME, min(WIDTH, console().width) - taken - _EDGES)


def _cut(text: str, room: int) -> str:
    """The text without its middle: the operator stands at the beginning, what tells values apart at the end."""
    tail = room // 2
    return text if len(text) <= room else f"{text[: room - tail - 1]}…{text[-tail:]}"


def _percent(part: int, whole: int) -> str:
    return f"{100.0 * part / whole if whole else 0.0:5.1f}"


def _cycles(section: object) -> dict[str, int]:
    """A section of cycles; what is no number is left out."""
    if not isinstance(section, Mapping):
        return {}
    return {str(name): whole(number) for name, number in section.items() if is_number(number)}


def whole(value: object) -> int:
    """A whole number of a report; 0 for what is none, as in a damaged file."""
    return int(value) if isinstance(value, (int, float)) and math.isfinite(value) else 0
