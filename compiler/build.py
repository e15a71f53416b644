"""From a placed graph to a timed program: the last phases, done for every candidate that is compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from compiler.emit.link import emit_program
from compiler.errors import LocalMemoryFull
from compiler.graph import MNGraph
from compiler.phases import Phases
from compiler.plan.addresses import Addresses, plan_addresses
from compiler.plan.fork import Template
from compiler.plan.history import LayoutHistory
from compiler.plan.in_place import share_addresses
from compiler.plan.joint import join_small_transfers
from compiler.plan.memory_check import check_memory
from compiler.schedulers.placement import Schedule

if TYPE_CHECKING:
    from compiler.options import Options
    from hw.model import Timing
    from hw.program import Program


@dataclass
class Built:
    """A finished candidate.

    in_place: parameters whose new contents go over the old ones.  layout, scheduler: what it is made of, for the
    report.  history: of its layouts.  sliced: the template of its time slices, if any, with the template's planned
    graph.
    """

    schedule: Schedule
    addresses: Addresses
    program: Program
    timing: Timing
    in_place: list[str] = field(default_factory=list)
    layout: str = ""
    scheduler: str = ""
    history: LayoutHistory = field(default_factory=LayoutHistory)
    sliced: tuple[Template | None, MNGraph] = field(default_factory=lambda: (None, MNGraph()))

    @property
    def cycles(self) -> int:
        """What candidates are compared by."""
        return self.timing.cycles


def build(schedule: Schedule, options: Options, phases: Phases, updates: Mapping[str, str]) -> Built:
    """Addresses, code, assembly and time of a placed graph.  Raises CompilerError.

    updates: parameter -> output that holds its new contents.
    """
    from hw.model import simulate
    from hw.spec import default_spec
    from isa.assemble import assemble

    with phases("address planner"):
        schedule, addresses = _place(schedule, options, updates)
        in_place = share_addresses(schedule, updates)
        if not options["CODEGEN_IGNORE_LAYOUT_CHECK"]:
            schedule.graph.verify()
        check_memory(schedule.graph, addresses.scratch, in_place)
    with phases("emission"):
        text = emit_program(schedule.graph, addresses.scratch, merge=options["CODEGEN_USE_MERGE"] > 0)
    with phases("assembly"):
        program = assemble(text, name="model.vsm")
    with phases("time model"):
        timing = simulate(program, default_spec())
    return Built(schedule, addresses, program, timing, in_place)


def layout_planner(options: Options) -> str:
    """The layout planner in force."""
    return "lpz" if options["CODEGEN_LAYOUT_PLANNER_Z"] else str(options["layout_planner"])


def _place(schedule: Schedule, options: Options, updates: Mapping[str, str]) -> tuple[Schedule, Addresses]:
    """The schedule with joint transfers and its addresses; as it was, where local memory has no room for them."""
    budget = options["sram_budget"]
    if options["CODEGEN_USE_MERGE"] > 0 and layout_planner(options) != "legacy":
        joined = join_small_transfers(schedule, updates)
        try:
            return joined, plan_addresses(joined.graph, budget)
        except LocalMemoryFull:
            if joined is schedule:
                raise
    return schedule, plan_addresses(schedule.graph, budget)


def graph_text(schedule: Schedule) -> str:
    """What decides the code of a placed graph: nodes, layouts and memories; equal texts make equal programs."""
    graph = schedule.graph
    lines = [f"{node} {node.attrs}" for node in graph.nodes]
    lines += [f"{v.name} {v.layout} {v.loc} {v.pad_type} {v.parent}" for v in graph.values.values()]
    return "\n".join(lines)
