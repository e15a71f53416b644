"""A report as tables for a terminal: summary, where the cycles went, busy units, layers with their roofline."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

_BOUNDS = {
    "compute": "compute",
    "on_chip_move": "on-chip moves",
    "hazard_nop": "hazard nops",
    "dram_bound": "DRAM bound",
    "mv_wait": "MV wait",
    "host_bound": "host bound",
    "unattributed": "unattributed",
}
_LAYER_NAME_WIDTH = 44


def render(report: Mapping[str, Any]) -> list[RenderableType]:
    """Tables for `rich.print`; `report` is the content of report.json or of `hw.model.report.time_report`."""
    tables: list[RenderableType] = [_summary(report), _causes(report), _units(report)]
    if report["layers"]:
        tables += [_layers(report), _bounds_of_layers(report)]
        if any("flops" in layer for layer in report["layers"]):
            tables.append(_rooflines(report))
    if report.get("estimates"):
        tables.append(_estimates(report["estimates"]))
    return tables


def _table(title: str, *columns: str, footer: bool = False) -> Table:
    """A table whose first column is text and the others numbers."""
    from rich.table import Table

    table = Table(title=title, title_justify="left", show_footer=footer)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left", overflow="ellipsis", no_wrap=True)
    return table


def _number(value: float | None, digits: int = 1) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.{digits}f}"


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _summary(report: Mapping[str, Any]) -> Table:
    cycles = report["vsm_cycles"]
    table = _table("Summary", "figure", "value")
    table.add_row("cycles", _number(cycles))
    table.add_row("time", f"{cycles / report['core_freq']:,.2f} µs at {report['core_freq']:g} MHz")
    for kind, bound in sorted(report.get("lower_bounds", {}).items(), key=lambda item: -item[1]):
        table.add_row(f"lower bound of this program: {kind}", f"{_number(bound)} ({_share(bound, cycles)})")
    for kind, bound in report.get("lower_bound_cycles", {}).items():
        table.add_row(f"lower bound of any program: {kind}", f"{_number(float(bound))} ({_share(bound, cycles)})")
    if "flops" in report:
        table.add_row("operations", _number(report["flops"]))
        table.add_row("rate", f"{report['tflops']:.3f} TFLOPS, {report['percent_of_peak']:.2f} % of peak")
    roof = report.get("roofline", {})
    if roof.get("intensity") is not None:
        table.add_row("operations per DRAM byte", f"{roof['intensity']:.1f} (ridge {roof['ridge_flops_per_byte']:.0f})")
        table.add_row("roofline", f"{roof['attainable_tflops']:.2f} TFLOPS, bound by {roof['bound_by']}")
    if "call" in report:
        call = report["call"]
        table.add_row("call with host transfers", f"{_number(call['cycles'])} cycles (estimate)")
    return table


def _causes(report: Mapping[str, Any]) -> Table:
    """Bounds, and below each the causes it sums up."""
    from hw.events import BOUND_OF

    cycles = report["vsm_cycles"]
    table = _table("Where the cycles went", "bound / cause", "cycles", "share", footer=True)
    for bound, total in report["bounds"].items():
        table.add_row(f"[bold]{_BOUNDS.get(bound, bound)}", f"[bold]{_number(total)}", f"[bold]{_share(total, cycles)}")
        causes = [cause.value for cause, summary in BOUND_OF.items() if summary.value == bound]
        for cause in causes:
            spent = report["causes"].get(cause, 0)
            if spent and len(causes) > 1:
                table.add_row(f"  {cause}", _number(spent), _share(spent, cycles))
    _foot(table, "total", _number(sum(report["bounds"].values())), _share(sum(report["bounds"].values()), cycles))
    return table


def _foot(table: Table, *cells: str) -> None:
    for column, cell in zip(table.columns, cells, strict=False):
        column.footer = cell


def _units(report: Mapping[str, Any]) -> Table:
    table = _table("Busy units", "unit", "cycles", "share", "MB")
    moved = report.get("bytes_by_link", {})
    for unit, busy in report["units"].items():
        nbytes = f"{moved[unit] / 1e6:,.3f}" if unit in moved else ""
        table.add_row(unit, _number(busy), _share(busy, report["vsm_cycles"]), nbytes)
    return table


def _name(layer: Mapping[str, Any]) -> str:
    name = layer["name"] or "(before the first layer)"
    return name if len(name) <= _LAYER_NAME_WIDTH else name[: _LAYER_NAME_WIDTH - 1] + "…"


def _layers(report: Mapping[str, Any]) -> Table:
    cycles = report["vsm_cycles"]
    table = _table("Layers", "layer", "start", "cycles", "share", "limit", "mostly", footer=True)
    for layer in report["layers"]:
        mostly = max(layer["bounds"].items(), key=lambda item: item[1], default=("-", 0))[0]
        row = (_number(layer["start"]), _number(layer["cycles"]), _share(layer["cycles"], cycles))
        limit = _number(max(layer["lower_bounds"].values(), default=0))
        table.add_row(_name(layer), *row, limit, _BOUNDS.get(mostly, mostly))
    total = sum(layer["cycles"] for layer in report["layers"])
    _foot(table, "total", "", _number(total), _share(total, cycles))
    return table


def _bounds_of_layers(report: Mapping[str, Any]) -> Table:
    used = [bound for bound, total in report["bounds"].items() if total]
    titles = [_BOUNDS.get(bound, bound) for bound in used]
    table = _table("Cycles of the layers by bound", "layer", *titles, "total", footer=True)
    for layer in report["layers"]:
        cells = [_number(layer["bounds"].get(bound, 0)) for bound in used]
        table.add_row(_name(layer), *cells, _number(layer["cycles"]))
    totals = [_number(report["bounds"][bound]) for bound in used]
    _foot(table, "total", *totals, _number(report["vsm_cycles"]))
    return table


def _rooflines(report: Mapping[str, Any]) -> Table:
    columns = ("operations", "DRAM bytes", "op/byte", "bound by", "limit cycles", "cycles", "TFLOPS", "attainable")
    table = _table("Roofline of the layers", "layer", *columns, footer=True)
    for layer in report["layers"]:
        table.add_row(
            _name(layer),
            _number(layer["flops"]),
            _number(layer["dram_bytes"]),
            _number(layer["intensity"]),
            layer["bound_by"],
            _number(float(layer["limit_cycles"])),
            _number(layer["cycles"]),
            _number(layer["tflops"], 3),
            _number(layer["attainable_tflops"], 3),
        )
    flops, nbytes = (sum(layer[key] for layer in report["layers"]) for key in ("flops", "dram_bytes"))
    _foot(table, "total", _number(flops), _number(nbytes))
    return table


def _estimates(estimates: Mapping[str, float]) -> Table:
    table = _table("Estimated or set numbers behind these cycles (docs/cycles.md)", "number", "value")
    for name, value in estimates.items():
        table.add_row(name, f"{value:g}")
    return table
