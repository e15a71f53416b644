"""What tables, pages and pictures call the bounds of a report, and the colours they give them."""

from __future__ import annotations

#: Where cycles went: the keys of the sections `bounds` (hw.events.Bound).
WHERE = {
    "compute": "compute",
    "on_chip_move": "on-chip move",
    "hazard_nop": "hazard nop",
    "dram_bound": "DRAM",
    "mv_wait": "wait for MV",
    "host_bound": "host",
    "unattributed": "unattributed",
}
COLOURS = {
    "compute": "#1f5fa8",
    "on_chip_move": "#2f9e77",
    "hazard_nop": "#b9bec5",
    "dram_bound": "#d95f2b",
    "mv_wait": "#f2a65a",
    "host_bound": "#5b2a86",
    "unattributed": "#000000",
}
#: What a lower bound is one of: the keys of the sections `lower_bounds` (hw.model.report.lower_bounds).
BOUND_BY = {"steps": "instructions", "dram": "DRAM", "pdm": "PDM", "l2bm": "L2BM", "link": "ring", "host": "host"}
