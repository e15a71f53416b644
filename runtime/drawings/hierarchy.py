"""The board from groups down to one PE: five panels, each a closer look at a part of the one before."""

from __future__ import annotations

from collections.abc import Callable

from hw.spec import ChipSpec
from runtime.drawings.canvas import Canvas
from runtime.drawings.units import size

_TOP, _HEIGHT, _WIDTH, _GAP = 66, 300, 196, 44


def _grid(page: Canvas, x: float, y: float, columns: int, rows: int, width: float, height: float, marked: int,
          label: str = "") -> tuple[float, float, float]:  # fmt: skip
    """Equal boxes with numbers; returns the right edge, top and bottom of the marked one."""
    across, down = width / columns, height / rows
    found = (0.0, 0.0, 0.0)
    for index in range(columns * rows):
        row, column = divmod(index, columns)
        left, top = x + column * across + 2, y + row * down + 2
        page.box(left, top, across - 4, down - 4, "mark" if index == marked else "plain", 3)
        page.text(left + across / 2 - 2, top + down / 2 + 2, f"{label}{index}", 10.5)
        if index == marked:
            found = (left + across - 4, top, top + down - 4)
    return found


def _board(page: Canvas, spec: ChipSpec, x: float) -> tuple[float, float, float]:
    groups = spec.integer("topology.groups")
    rows = (groups + 1) // 2
    found = (0.0, 0.0, 0.0)
    height = (_HEIGHT - 48) / rows
    for group in range(groups):
        row, column = divmod(group, 2)
        left, top = x + 10 + column * 90, _TOP + 8 + row * height
        page.box(left, top, 86, height - 6, "plain")
        page.text(left + 43, top + 14, f"group {group}", 10.5, "bold")
        page.named(left + 5, top + 20, 76, 21, "memory", f"DRAM {size(spec.integer('capacity.dram'))}", size=9.5)
        page.named(left + 5, top + 44, 76, 21, "memory", f"PDM {size(spec.integer('capacity.pdm'))}", size=9.5)
        banks = spec.integer("topology.l2b_per_group")
        inner = _grid(page, left + 3, top + 68, banks, 1, 80, height - 78, banks - 1 if group == 1 else -1, "L2B ")
        if group == 1:
            found = inner
    page.lines(x + _WIDTH / 2, _TOP + _HEIGHT - 24, ("one stream of instructions", "from the host, for all PEs"), 10.5)
    return found


def _l2b(page: Canvas, spec: ChipSpec, x: float) -> tuple[float, float, float]:
    page.named(x + 14, _TOP + 12, _WIDTH - 28, 44, "memory", "L2BM", size(spec.integer("capacity.l2bm")))
    return _grid(page, x + 12, _TOP + 66, 2, spec.integer("topology.l1b_per_l2b") // 2, _WIDTH - 24, 222, 3, "L1B ")


def _l1b(page: Canvas, spec: ChipSpec, x: float) -> tuple[float, float, float]:
    page.named(x + 14, _TOP + 12, _WIDTH - 28, 44, "memory", "L1BM", size(spec.integer("capacity.l1bm")))
    return _grid(page, x + 12, _TOP + 66, 4, spec.integer("topology.mab_per_l1b") // 4, _WIDTH - 24, 200, 7)


def _mab(page: Canvas, spec: ChipSpec, x: float) -> tuple[float, float, float]:
    rows = spec.integer("capacity.matrix_rows")
    page.named(x + 14, _TOP + 12, _WIDTH - 28, 58, "unit", "MAU", "matrix and vector", "products, sums")
    page.named(x + 14, _TOP + 78, _WIDTH - 28, 44, "control", "matrix registers", f"x and y, {rows} rows each", size=11)
    return _grid(page, x + 12, _TOP + 132, 2, spec.integer("topology.pe_per_mab") // 2, _WIDTH - 24, 110, 1, "PE ")


def _pe(page: Canvas, spec: ChipSpec, x: float) -> tuple[float, float, float]:
    local, registers = size(spec.integer("capacity.lm")), size(spec.integer("capacity.grf"))
    half = (_WIDTH - 34) / 2
    page.named(x + 14, _TOP + 12, half, 52, "memory", "LM0", local)
    page.named(x + 20 + half, _TOP + 12, half, 52, "memory", "LM1", local)
    page.named(x + 14, _TOP + 72, half, 52, "memory", "GRF0", registers)
    page.named(x + 20 + half, _TOP + 72, half, 52, "memory", "GRF1", registers)
    page.named(x + 14, _TOP + 132, half, 46, "control", "T", size(spec.integer("capacity.t")))
    page.named(x + 20 + half, _TOP + 132, half, 46, "control", "masks", f"{spec.integer('capacity.mask')} entries")
    page.named(x + 14, _TOP + 186, _WIDTH - 28, 40, "unit", "ALU", "integers, bits, selection")
    page.lines(x + _WIDTH / 2, _TOP + 248, ("a quarter of the MAU", "port to L1BM"), 11)
    return (0, 0, 0)


def draw(spec: ChipSpec) -> Canvas:
    """The picture."""
    names = ("groups", "l2b_per_group", "l1b_per_l2b", "mab_per_l1b", "pe_per_mab")
    groups, *others = (spec.integer(f"topology.{name}") for name in names)
    counts, total = [], groups
    for other in others:
        total *= other
        counts.append(total)
    panels: list[tuple[str, str, Callable[[Canvas, ChipSpec, float], tuple[float, float, float]]]] = [
        ("board", f"{groups} groups", _board),
        ("L2B", f"{counts[0]} on the board", _l2b),
        ("L1B", f"{counts[1]} on the board", _l1b),
        ("MAB", f"{counts[2]:,} on the board", _mab),
        ("PE", f"{counts[3]:,} on the board", _pe),
    ]
    width = len(panels) * _WIDTH + (len(panels) - 1) * _GAP + 32
    page = Canvas(width, _TOP + _HEIGHT + 16, "The MN-Core 2 board from groups down to a processing element")
    for index, (title, count, panel) in enumerate(panels):
        x = 16 + index * (_WIDTH + _GAP)
        page.text(x + _WIDTH / 2, 34, title, 17, "bold")
        page.text(x + _WIDTH / 2, 52, count, 11.5, "dim")
        page.box(x, _TOP, _WIDTH, _HEIGHT, "shell", 8)
        edge, top, bottom = panel(page, spec, x)
        if index + 1 < len(panels):
            follower = x + _WIDTH + _GAP
            page.path(((edge, top), (follower, _TOP + 4)), "lens", 1.2, "none")
            page.path(((edge, bottom), (follower, _TOP + _HEIGHT - 4)), "lens", 1.2, "none")
    return page
