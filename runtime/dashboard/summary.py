"""What the pages Summary, Layers and Perf Stats show: report.json, option.json and l3ir.txt as rows of tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.cli.report_short import bound_of, mostly, short_name, whole
from runtime.dashboard.folder import CodegenFolder, FileProblem
from runtime.dashboard.values import load_graph
from runtime.report_words import COLOURS, WHERE

REPORT, OPTIONS, L3IR = "report.json", "option.json", "l3ir.txt"
_FIGURES = {
    "vsm_cycles": "cycles of the program",
    "milliseconds": "milliseconds at the core frequency",
    "flops": "operations of the graph",
    "tflops": "TFLOPS",
    "percent_of_peak": "% of the half-precision peak",
    "pe_lines": "PE lines",
    "mv_lines": "MV lines",
    "dram_lws_per_group": "long words of DRAM in use, per group",
    "scheduler": "scheduler",
    "float_dtype": "float_dtype",
}
ATTRIBUTES = {"op_type": "operator", "bound_by": "roofline bound", "main_bound": "where most cycles go"}
ALL = "ALL"


@dataclass(frozen=True, slots=True)
class Layer:
    """One layer of the report, with what l3ir.txt knows about it.

    short: the operator and what it makes.  limit, limit_by: its largest lower bound in cycles, and of what.  bound_by:
    the side of the roofline.  main_bound: where most of its cycles went.
    """

    number: int
    name: str
    short: str
    op_type: str
    start: int
    cycles: int
    limit: int
    limit_by: str
    bound_by: str
    main_bound: str
    flops: int
    dram_bytes: int
    layouts: str
    data: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """Cycles that went to one thing, its share, and its colour in CSS."""

    name: str
    cycles: int
    percent: float
    colour: str


@dataclass(frozen=True, slots=True)
class Tile:
    """One of the figures that are read first."""

    title: str
    value: str
    note: str


@dataclass(frozen=True, slots=True)
class Stat:
    """Layers with one attribute in common."""

    name: str
    layers: int
    cycles: int
    percent: float
    flops: int
    dram_bytes: int
    tflops: float


def report_of(folder: CodegenFolder) -> dict[str, Any]:
    """report.json.  Raises FileProblem when it is missing, broken or no report."""
    content = folder.json(REPORT)
    if not isinstance(content, dict) or not isinstance(content.get("layers"), list):
        raise FileProblem(f"{REPORT} is no report: expected an object with vsm_cycles and layers", 422)
    return content


def parts(record: Mapping[str, Any]) -> list[Part]:
    """Where the cycles of a report or of a layer went; empty where it does not say."""
    spent = {name: number for name, number in _numbers(record.get("bounds")).items() if number > 0}
    total = sum(spent.values())
    return [
        Part(WHERE.get(name, name), cycles, 100.0 * cycles / total, COLOURS.get(name, "#777"))
        for name, cycles in spent.items()
    ]


def tiles(report: Mapping[str, Any], rows: Sequence[Layer]) -> list[Tile]:
    """The figures that are read first; those that the report lacks are left out."""
    found: list[Tile] = []
    cycles, clock = report.get("vsm_cycles"), report.get("core_freq")
    if isinstance(cycles, int):
        time = f"{cycles / clock:,.2f} µs at {clock:g} MHz" if isinstance(clock, (int, float)) and clock else ""
        found.append(Tile("cycles of the program", f"{cycles:,}", time))
        bound, by = bound_of(report)
        if bound and cycles:
            note = f"{bound:,} cycles by {by}, if nothing waits"
            found.append(Tile("lower bound", f"{100 * bound / cycles:.0f} %", note))
    rate, peak = report.get("tflops"), report.get("percent_of_peak")
    if isinstance(rate, float):
        note = f"{peak:.2f} % of the half-precision peak" if isinstance(peak, float) else ""
        found.append(Tile("TFLOPS", f"{rate:.2f}", note))
    if isinstance(report.get("flops"), int):
        roofline = report.get("roofline")
        intensity = roofline.get("intensity") if isinstance(roofline, Mapping) else None
        note = f"{intensity:.1f} per byte of DRAM traffic" if isinstance(intensity, (int, float)) else ""
        found.append(Tile("operations (flops)", f"{report['flops']:,}", note))
    if rows:
        slowest = max(rows, key=lambda row: row.cycles)
        found.append(Tile("layers", f"{len(rows)}", f"slowest: {slowest.op_type}, {slowest.cycles:,} cycles"))
    return found


def figures(report: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The single numbers of a report by their titles."""
    rows = [(title, report[key]) for key, title in _FIGURES.items() if key in report]
    bounds = report.get("lower_bound_cycles")
    if isinstance(bounds, Mapping):
        rows += [(f"lower bound in cycles: {name}", value) for name, value in bounds.items()]
    return rows


def command_line(folder: CodegenFolder) -> list[tuple[str, Any]]:
    """What was asked of the compiler.  Raises FileProblem."""
    content = folder.json(OPTIONS)
    if not isinstance(content, Mapping):
        raise FileProblem(f"{OPTIONS} is no option file: expected an object with args and envs", 422)
    arguments, variables = content.get("args"), content.get("envs")
    rows: list[tuple[str, Any]] = [("command", " ".join(["codegen", *_texts(arguments)]))]
    if isinstance(variables, Mapping):
        rows += [(str(name), value) for name, value in variables.items()]
    return rows


def hardware(report: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """The chip of a report: what it says itself, and sizes when it is the chip this program knows."""
    from hw.spec import default_spec

    spec = default_spec()
    rows: list[tuple[str, Any]] = [("core frequency, MHz", report.get("core_freq"))]
    roofline = report.get("roofline")
    if isinstance(roofline, Mapping):
        rows += [("peak, TFLOPS", roofline.get("peak_tflops")), ("DRAM, GB/s", roofline.get("dram_gbps"))]
    rows.append(("chip description", report.get("chip_spec")))
    if report.get("chip_spec") == spec.digest:
        for name in ("groups", "l2b_per_group", "l1b_per_l2b", "mab_per_l1b", "pe_per_mab"):
            rows.append((name, spec.integer(f"topology.{name}")))
    return rows


def phases(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The phases of the compilation: name, status, seconds."""
    found = report.get("phases")
    rows = [phase for phase in found if isinstance(phase, Mapping)] if isinstance(found, list) else []
    return [{key: phase.get(key, "") for key in ("name", "status", "seconds")} for phase in rows]


def layers(folder: CodegenFolder, report: Mapping[str, Any]) -> tuple[list[Layer], str]:
    """All layers in execution order, and why their layouts are missing ("" when they are not)."""
    layouts, problem = _layouts(folder)
    rows = []
    for number, data in enumerate(report["layers"]):
        if not isinstance(data, Mapping):
            raise FileProblem(f"{REPORT}: layer {number} is {type(data).__name__}, expected an object", 422)
        name = str(data.get("name", f"layer {number}"))
        limit, limit_by = bound_of(data)
        rows.append(
            Layer(
                number,
                name,
                short_name({"name": name}),
                str(data.get("op_type", name.split("(")[0])),
                whole(data.get("start")),
                whole(data.get("cycles")),
                limit,
                limit_by,
                str(data.get("bound_by", "")),
                mostly(data),
                whole(data.get("flops")),
                whole(data.get("dram_bytes")),
                layouts.get(name, ""),
                data,
            )
        )
    return rows, problem


def statistics(rows: Sequence[Layer], attribute: str, report: Mapping[str, Any]) -> list[Stat]:
    """Layers grouped by one of ATTRIBUTES, most cycles first; the row ALL is the whole program."""
    groups: dict[str, list[Layer]] = {}
    for row in rows:
        groups.setdefault(str(getattr(row, attribute)) or "none", []).append(row)
    total = sum(row.cycles for row in rows)
    frequency = report.get("core_freq")
    clock = float(frequency) if isinstance(frequency, (int, float)) else 750.0
    parts = [_stat(name, group, total, clock) for name, group in groups.items()]
    whole = _stat(ALL, rows, total, clock, report.get("flops"))
    return [whole, *sorted(parts, key=lambda stat: -stat.cycles)]


def _stat(name: str, rows: Sequence[Layer], total: int, clock: float, counted: object = None) -> Stat:
    """counted: the operations where they are not the sum over the layers (the compiled graph differs from them)."""
    cycles = sum(row.cycles for row in rows)
    flops = counted if isinstance(counted, int) else sum(row.flops for row in rows)
    return Stat(
        name,
        len(rows),
        cycles,
        100.0 * cycles / total if total else 0.0,
        flops,
        sum(row.dram_bytes for row in rows),
        flops * clock * 1e-6 / cycles if cycles else 0.0,
    )


def _layouts(folder: CodegenFolder) -> tuple[dict[str, str], str]:
    """The layouts of each layer's outputs, by the layer's name."""
    try:
        graph = load_graph(folder, L3IR)
    except FileProblem as error:
        return {}, str(error)
    found = {}
    for node in graph.nodes:
        texts = [graph.values[name].layout for name in node.outputs if name in graph.values]
        found[str(node)] = "; ".join(str(layout.layout) for layout in texts if layout is not None)
    return found, ""


def _numbers(value: object) -> dict[str, int]:
    if not isinstance(value, Mapping):
        return {}
    return {str(key): whole(number) for key, number in value.items() if isinstance(number, (int, float))}


def _texts(value: object) -> Iterable[str]:
    return [str(item) for item in value] if isinstance(value, list) else []
