"""The way of data from the host to the PEs, with what each instruction moves in a cycle."""

from __future__ import annotations

import math
from fractions import Fraction

from hw.spec import ChipSpec
from runtime.drawings.canvas import Canvas
from runtime.drawings.units import bandwidth, rate, size

_BOX, _GAP, _TOP = 116, 146, 84


def _hops(spec: ChipSpec) -> list[tuple[str, list[str], Fraction, int]]:
    """For each hop: heading, lines, the widest rate in LW per cycle, and at how many places of the board."""
    groups = spec.integer("topology.groups")
    banks = groups * spec.integer("topology.l2b_per_group")
    l1bs = banks * spec.integer("topology.l1b_per_l2b")

    def lw(name: str) -> str:
        return rate(spec.exact(name))

    host = spec.pcie_bytes_per_cycle / 8
    return [
        ("host link", [f"{rate(spec.exact('host.pcie_bandwidth'))} GB/s", "each way (estimate)"], host, 1),
        (
            "MV instructions",
            [
                f"{lw('mv.rate.parallel')}  mvp, every group",
                f"{lw('mv.rate.b_dram')}  mvb, to all L2BMs",
                f"{lw('mv.rate.p_l.cross')}  across groups",
                f"≤ {rate(spec.dram_lw_per_cycle)}  DRAM itself",
            ],
            spec.exact("mv.rate.parallel"),
            groups,
        ),
        (
            "L2BM instructions",
            [
                f"{lw('l2bm.rate.l2bmd_down')}  l2bmd, parts",
                f"{lw('l2bm.rate.l2bmb')}  l2bmb, copies",
                f"{lw('l2bm.rate.l2bmr')}  l2bmr, sums up",
                f"{lw('l2bm.rate.l2bmi')}  l2bmi, L1B to L1B",
            ],
            spec.exact("l2bm.rate.l2bmd_down"),
            banks,
        ),
        (
            "L1BM instructions",
            [
                f"{lw('l1bm.rate.l1bmd')}  l1bmd, all PEs",
                f"{lw('l1bm.rate.l1bmm4')}  l1bmm4, 4 MABs",
                f"{lw('l1bm.rate.l1bmm')}  l1bmm, copies",
                f"{lw('l1bm.rate.l1bmp')}  l1bmp, one for all",
            ],
            spec.exact("l1bm.rate.l1bmd"),
            l1bs,
        ),
    ]


def _places(spec: ChipSpec) -> list[list[tuple[str, str, str]]]:
    """For each stop its boxes: style, name, size."""
    return [
        [("plain", "host", "memory")],
        [("memory", name, size(spec.integer(f"capacity.{name.lower()}"))) for name in ("DRAM", "PDM")],
        [("memory", "L2BM", size(spec.integer("capacity.l2bm")))],
        [("memory", "L1BM", size(spec.integer("capacity.l1bm")))],
        [
            ("memory", "LM0, LM1", size(spec.integer("capacity.lm")) + " each"),
            ("memory", "GRF0, GRF1", size(spec.integer("capacity.grf")) + " each"),
        ],
    ]


def draw(spec: ChipSpec) -> Canvas:
    """The picture."""
    places, hops = _places(spec), _hops(spec)
    width = len(places) * _BOX + len(hops) * _GAP + 48
    page = Canvas(width, 330, "The way of data from the host through DRAM, L2BM and L1BM to the PEs")
    page.text(24, 38, "The way of data", 17, "bold", "start")
    names = ("", "groups", "L2Bs", "L1Bs", "PEs")
    counts = [1]
    for name in ("groups", "l2b_per_group", "l1b_per_l2b"):
        counts.append(counts[-1] * spec.integer(f"topology.{name}"))
    counts.append(counts[-1] * spec.integer("topology.mab_per_l1b") * spec.integer("topology.pe_per_mab"))
    for stop, boxes in enumerate(places):
        x = 24 + stop * (_BOX + _GAP)
        height = (118 - 10 * (len(boxes) - 1)) / len(boxes)
        for row, (style, name, text) in enumerate(boxes):
            page.named(x, _TOP + row * (height + 10), _BOX, height, style, name, text)
        if names[stop]:
            page.text(x + _BOX / 2, _TOP - 12, f"in each of {counts[stop]:,} {names[stop]}", 11, "dim")
    for hop, (title, lines, widest, count) in enumerate(hops):
        left = 24 + hop * (_BOX + _GAP) + _BOX
        middle = left + _GAP / 2
        total = float(widest * count)
        page.double_arrow(left + 5, left + _GAP - 5, _TOP + 59, 1.5 + math.log2(1 + total))
        page.text(middle, _TOP + 30, title, 12, "bold")
        page.text(middle, _TOP + 90, bandwidth(spec, widest, count), 13, "bold on-flow")
        page.lines(middle - 56 if hop else middle, _TOP + 146, lines, 11.5, "dim", "start" if hop else "middle", 17)
    page.text(24, 314, "small numbers: long words of 64 bits per cycle at each place; a step has "
              f"{spec.integer('step.cycles')} cycles. Large: the widest instruction, all places of the board together.",
              11, "dim", "start")  # fmt: skip
    return page
