"""The routes a layout switch can take, what each costs, and its code.

Costs are counted from the emitted code: one step per item, and for MVs their latency and the time at the rate of
their form (`hw/spec/mncore2.toml`).  Packing overlaps steps of different units, so the true number is lower; it is so
for all routes alike.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from compiler.emit.asm import Asm
from compiler.emit.selection import Places, emit_selection
from compiler.emit.switch import LocalMove, emit_gather, emit_local, emit_scatter
from compiler.emit.transfer import Route, download
from compiler.graph import Location, MNGraph, MNNode
from compiler.graph.mntype import MNType
from compiler.graph.value import LM_WORDS
from compiler.layout import PadLayout
from compiler.switch.cells import Move
from compiler.switch.direct import DirectPlan, plan_direct
from compiler.switch.placing import chunk_slots
from compiler.switch.selection import Selection, select, table_data, table_layout

#: The route that always works: streams past the PEs, each picking what it needs.
SELECT = "select"
CYCLES_PER_STEP = 4
#: Cycles of latency and long words per cycle of the MVs that routes use: mv.latency.pdm / mv.rate.l_p.cross, .b_pdm;
#: mv.latency.dram / mv.rate.parallel, .b_dram, .b4.
_MV_COST = {("mvp", "$p"): (100, 8), ("mvb", "$p"): (100, 8), ("mvp", "$d"): (200, 16), ("mvb", "$d"): (200, 16)}


@dataclass(frozen=True)
class Cost:
    """Steps of PE items and cycles of MVs."""

    steps: int
    mv_cycles: int

    @property
    def cycles(self) -> int:
        """Both one after the other."""
        return CYCLES_PER_STEP * self.steps + self.mv_cycles


@lru_cache(maxsize=256)
def direct(source: PadLayout, target: PadLayout, lanes: int) -> DirectPlan | None:
    """`plan_direct`, kept."""
    return plan_direct(source, target, lanes)


def cost_of(asm: Asm) -> Cost:
    """Cost of emitted code."""
    steps = cycles = 0
    for line in asm:
        found = re.match(r"(mv[a-z])[a-z0-9]*/n(\d+)i\w+ .*?(\$[pd])", line)
        if found is None:
            steps += not line.startswith("nop")
            continue
        latency, rate = _MV_COST.get((found[1], found[3]), (200, 16))
        cycles += latency + int(found[2]) // rate
    return Cost(steps, cycles)


def route_costs(source: PadLayout, target: PadLayout, mntype: MNType) -> dict[str, Cost]:
    """Cost of every route from `source` to `target`, by name."""
    move = Move((source,), target, mntype)
    costs: dict[str, Cost] = {}
    plan = direct(source, target, move.lanes)
    if plan is not None:
        asm = Asm()
        emit_route(asm, plan.route, move, ("m", 0), ("n", 0), None, 0, 0)
        costs[plan.route] = cost_of(asm)
        if plan.route == "local":
            return costs
    costs[SELECT] = select_cost(move)
    return costs


def select_cost(move: Move) -> Cost:
    """Cost of a move through streams, its table included."""
    selection = select(move)
    asm = Asm()
    data = table_data(selection)
    if data is not None:
        download(asm, Route.of(table_layout(data.shape)), 0, "m", 0)
    sources = tuple(("m", 0) for _ in move.sources)
    resident = max(max(source.num_lw for source in move.sources), move.target.num_lw)
    chunk = chunk_slots(selection, ["m"] * len(sources), LM_WORDS // 2, resident)
    emit_selection(asm, selection, Places(sources, ("n", 0), ("m", 0), 0, chunk))
    return cost_of(asm)


@lru_cache(maxsize=256)
def cheapest(source: PadLayout, target: PadLayout, mntype: MNType) -> str:
    """Name of the route with the fewest cycles."""
    costs = route_costs(source, target, mntype)
    return min(costs, key=lambda name: costs[name].cycles)


def chunk_for(selection: Selection, graph: MNGraph, node: MNNode) -> int:
    """Slots of a chunk beside those values of a placed node that lie in LM0."""
    values = [graph.values[name] for name in (*node.inputs, *node.outputs) if name]
    letters = ["m" if graph.values[name].loc is Location.LM0 else "n" for name in node.inputs]
    resident = sum(value.num_lw for value in values if value.loc is Location.LM0)
    return chunk_slots(selection, letters, graph.lm_lws, resident)


def emit_route(
    asm: Asm,
    route: str,
    move: Move,
    source: tuple[str, int],
    target: tuple[str, int],
    table: tuple[str, int] | None,
    scratch: int,
    chunk: int,
) -> None:
    """Code of a route; places are (memory letter, word address), `scratch` a word address in LM0."""
    if route == SELECT:
        emit_selection(asm, select(move), Places((source,), target, table, scratch, chunk))
        return
    plan = direct(move.sources[0], move.target, move.lanes)
    assert plan is not None and plan.route == route
    if route == "local":
        emit_local(asm, LocalMove(move.lanes, plan.local), source, target)
    elif route == "gather":
        emit_gather(asm, plan.over_mabs, source, target)
    else:
        emit_scatter(asm, plan.over_mabs, source, target)
