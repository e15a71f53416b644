"""What a line of a program is: four cycles of several units; and steps beside a transfer, on the time model."""

from __future__ import annotations

from hw.model import simulate
from hw.spec import ChipSpec
from isa.assemble import assemble
from runtime.drawings.canvas import Canvas

LINE = "fvfma $lr0v $ls0v $lm0v $ln0v; lpassa $lr8v $ls8v; l1bmd $lb0 $lr16v"
"""The line whose cycles are shown."""

PROGRAM = "\n".join([
    "mvp/n1024i01 $d0@0 $lc0@0.0",
    'imm f"1.5" $lr0v',
    "nop/2",
    "fvadd $lr0v $lr0v $ln0v; lpassa $lr0v $ls0v",
    "nop",
    *(f"fvmul $lr0v $ls0v $ln{8 * part}v" + ("; zero $lr8v" if part % 3 == 0 else "") for part in range(1, 13)),
    "nop; wait i01",
    "l2bmb $lc0 $lb0",
    "nop/2",
    "l1bmm $lb0 $lm0v; lpassa $ln8v $lr8v",
])  # fmt: skip
"""The program whose time is shown."""

_LANES = (
    ("stream", "PE stream", "memory"),
    ("ALU", "ALU", "unit"),
    ("MAU", "MAU", "unit"),
    ("L1BM", "L1BM", "flow-soft"),
    ("L2BM", "L2BM", "flow-soft"),
)
_STREAM = {"hazard_nop": "plain", "wait_step": "plain", "transfer": "flow-soft", "compute": "unit"}
_HELD = {"wait_latency": "held by the wait", "wait_dram": "held: DRAM"}
_LEFT, _RIGHT = 150, 28


def _cycles(page: Canvas, spec: ChipSpec, top: float, width: float) -> None:
    """One line: a row for each unit, a column for each cycle."""
    page.text(24, top, "One line is one step", 14, "bold", "start")
    page.text(24, top + 20, LINE, 12, "code", "start")
    count = spec.integer("step.cycles")
    column = (width - _LEFT - _RIGHT) / count
    rows = (
        ("MAU", "unit", [f"LM1[{w}] = GRF0[{w}] · GRF1[{w}] + LM0[{w}]" for w in range(0, 2 * count, 2)]),
        ("ALU", "unit", [f"GRF1[{w}] = GRF0[{w}]" for w in range(8, 8 + 2 * count, 2)]),
        ("L1BM", "flow-soft", [f"GRF0[{16 + 2 * c}] = L1BM[{64 * c} + PE]" for c in range(count)]),
    )
    for cycle in range(count):
        page.text(_LEFT + (cycle + 0.5) * column, top + 46, f"cycle {cycle}", 11, "dim")
    for row, (name, style, cells) in enumerate(rows):
        y = top + 54 + row * 32
        page.text(_LEFT - 14, y + 18, name, 12, "bold", "end")
        for cycle, words in enumerate(cells):
            page.box(_LEFT + cycle * column, y, column - 4, 27, style)
            page.text(_LEFT + (cycle + 0.5) * column - 2, y + 18, words, 11)
    note = "all PEs do this at once; [n] counts words of 32 bits, each item moves a long word"
    page.text(_LEFT, top + 170, note, 11, "dim", "start")


def _timeline(page: Canvas, spec: ChipSpec, top: float, width: float) -> None:
    """The program on the time model: a lane for each unit, and the transfer below."""
    timing = simulate(assemble(PROGRAM), spec, detail=True)
    scale = (width - _LEFT - _RIGHT) / timing.cycles
    page.text(24, top, "Steps, and a transfer beside them", 14, "bold", "start")
    page.text(330, top, f"{timing.cycles} cycles of the time model", 11, "dim", "start")
    bottom = top + 34 + len(_LANES) * 28
    step = spec.integer("step.cycles")
    for cycle in range(0, timing.cycles + 1, 5 * step):
        x = _LEFT + cycle * scale
        page.path(((x, top + 32), (x, bottom + 36)), "line", 0.5, "none")
        page.text(x, top + 27, str(cycle), 9, "dim")
    for row, (name, track, style) in enumerate(_LANES):
        y = top + 36 + row * 28
        page.text(_LEFT - 14, y + 15, name, 12, "bold", "end")
        for span in timing.events.rows(track):
            start, end = int(span["start"]), int(span["end"])
            held = name == "stream" and str(span["cause"]).startswith("wait_") and span["cause"] != "wait_step"
            shown = "control" if held else _STREAM.get(str(span["cause"]), style) if name == "stream" else style
            page.box(_LEFT + start * scale + 0.5, y, (end - start) * scale - 1, 22, shown, 2)
            if held and (end - start) * scale > 60:
                page.text(_LEFT + (start + end) / 2 * scale, y + 15, _HELD[str(span["cause"])], 10.5)
    (transfer,) = timing.transfers
    page.text(_LEFT - 14, bottom + 19, "MV", 12, "bold", "end")
    for start, end, style, words in (
        (transfer.begin, transfer.data, "control", "start-up latency"),
        (transfer.data, transfer.end, "memory", "data: DRAM to L2BM"),
    ):
        page.box(_LEFT + start * scale, bottom + 4, (end - start) * scale, 22, style, 2)
        page.text(_LEFT + (start + end) / 2 * scale, bottom + 19, words, 10.5)
    legend = (("unit", "computes"), ("flow-soft", "moves data"), ("plain", "nop"), ("control", "waits"))
    for index, (style, words) in enumerate(legend):
        page.box(_LEFT + index * 110, bottom + 48, 14, 14, style, 2)
        page.text(_LEFT + index * 110 + 20, bottom + 59, words, 11, "dim", "start")


def draw(spec: ChipSpec) -> Canvas:
    """The picture."""
    width = 1120.0
    page = Canvas(width, 500, "A line is four cycles of several units; transfers run beside the steps")
    _cycles(page, spec, 34, width)
    _timeline(page, spec, 246, width)
    return page
