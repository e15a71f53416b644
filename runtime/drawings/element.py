"""Inside a PE: its memories, what reads and writes them in a step, and its share of the MAU."""

from __future__ import annotations

from hw.spec import ChipSpec
from runtime.drawings.canvas import Canvas
from runtime.drawings.units import rate, size

_MEMORY, _READ, _UNITS, _WRITE = 30, 300, 400, 800
_TOP, _BOTTOM = 76, 430
_ALU = (
    "integers of 64, 32 and 16 bits, bits, comparisons,",
    "selection, immediates, exchange between the PEs",
    "of a MAB; sets the flags of a mask",
)


def _memories(page: Canvas, spec: ChipSpec) -> None:
    local, registers = spec.integer("capacity.lm"), spec.integer("capacity.grf")
    both, one = "a read and a write each step", "a read or a write each step"
    rows = (
        ("memory", "LM0", "$m", f"{size(local)}, {2 * local:,} words", one),
        ("memory", "LM1", "$n", f"{size(local)}, {2 * local:,} words", one),
        ("memory", "GRF0", "$r", f"{size(registers)}, {2 * registers} words", both),
        ("memory", "GRF1", "$s", f"{size(registers)}, {2 * registers} words", both),
        ("control", "T", "$t", f"{size(spec.integer('capacity.t'))}; also an index into LM0", both),
    )
    for row, (style, name, spelling, amount, port) in enumerate(rows):
        y = _TOP + 12 + row * 67
        page.box(_MEMORY, y, 210, 57, style)
        page.text(_MEMORY + 14, y + 22, name, 14, "bold", "start")
        page.text(_MEMORY + 196, y + 22, spelling, 13, "code", "end")
        page.lines(_MEMORY + 14, y + 38, (amount, port), 10.5, "dim", "start", 13)
        page.path(((_MEMORY + 212, y + 28), (_READ - 3, y + 28)), "arrow", 1.5)


def _units(page: Canvas, spec: ChipSpec) -> None:
    width = 290
    page.box(_UNITS, _TOP + 12, width, 92, "unit", 6)
    page.text(_UNITS + 16, _TOP + 36, "ALU", 15, "bold", "start")
    page.lines(_UNITS + 16, _TOP + 54, _ALU, 10.5, "dim", "start")  # fmt: skip
    y = _TOP + 122
    page.box(_UNITS - 12, y, width + 24, 142, "shell", 8)
    page.text(_UNITS + width, y + 18, "shared by the MAB", 10.5, "dim", "end")
    page.box(_UNITS, y + 26, width, 104, "unit", 6)
    page.text(_UNITS + 16, y + 50, "MAU", 15, "bold", "start")
    flops = {name: spec.integer(f"fma.matrix.{name}") for name in ("half", "pseudo", "single", "double")}
    page.lines(
        _UNITS + 16,
        y + 68,
        (
            "fused multiply-add of each PE, or matrix · vector:",
            f"{flops['half']} half, {flops['pseudo']} pseudo-single, {flops['single']} single,",
            f"{flops['double']} double products a cycle and MAB",
            f"matrix registers x and y: {spec.integer('capacity.matrix_rows')} rows each",
        ),
        10.5,
        "dim",
        "start",
    )
    page.box(_UNITS, _TOP + 282, width, 60, "flow-soft", 6)
    page.text(_UNITS + 16, _TOP + 306, "port to L1BM", 15, "bold", "start")
    page.text(_UNITS + 16, _TOP + 326, "loads, stores, and sums over MABs (l1bm...)", 10.5, "dim", "start")


def draw(spec: ChipSpec) -> Canvas:
    """The picture."""
    page = Canvas(1120, 500, "Inside a processing element: memories, operands, units, results")
    page.text(30, 36, "A processing element in one cycle", 17, "bold", "start")
    page.text(30, 56, "every unit may have one item in a line; all of them work at once", 11.5, "dim", "start")
    _memories(page, spec)
    _units(page, spec)
    for x, name in ((_READ, "operands"), (_WRITE, "results")):
        page.box(x, _TOP + 12, 34, _BOTTOM - _TOP - 22, "plain", 6)
        page.text(x + 17, _TOP + 4, name, 11, "dim")
    for y in (_TOP + 58, _TOP + 200, _TOP + 312):
        page.path(((_READ + 36, y), (_UNITS - 3, y)), "arrow", 1.5)
        page.path(((_UNITS + 292, y), (_WRITE - 3, y)), "arrow", 1.5)
    entries = f"{spec.integer('capacity.mask')} entries; one decides for"
    page.named(_WRITE + 74, _TOP + 12, 216, 92, "control", "mask", entries, "each PE, cycle and half word",
               "whether a result is written", size=13)  # fmt: skip
    page.path(((_WRITE + 36, _TOP + 58), (_WRITE + 71, _TOP + 58)), "arrow", 1.5)
    page.named(_WRITE + 74, _TOP + 140, 216, 92, "plain", "forwarding", "$aluf $mauf $lbf $mreadf:",
               "a unit's result is an operand", "of the step after", size=13)  # fmt: skip
    page.path(((_WRITE + 36, _TOP + 186), (_WRITE + 71, _TOP + 186)), "arrow", 1.5)
    page.lines(_WRITE + 182, _TOP + 268, (f"each memory port: {rate(spec.exact('port.lm'))} long words a cycle",
               "reads see what older steps wrote:", "LM after 3 steps; GRF, T after 7 cycles"), 11)  # fmt: skip
    bottom = _BOTTOM + 26
    right = _WRITE + 306
    way = ((right - 15, _TOP + 58), (right, _TOP + 58), (right, bottom), (12, bottom), (12, _TOP + 40))
    page.path(way, "arrow", 1.5, "none")
    for row in range(5):
        page.path(((12, _TOP + 40 + row * 67), (_MEMORY - 3, _TOP + 40 + row * 67)), "arrow", 1.5)
    page.text(560, bottom + 18, "results go to the memories of the same PE, to an address for each cycle", 11, "dim")
    return page
