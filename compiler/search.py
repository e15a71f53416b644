"""Which layouts and which schedule a program gets: candidates are built, timed and compared (seed 4.2.1 to 4.2.2.5).

Planner `lpz` compares the ways to spread matrix products and, where they differ, both ways to propagate layouts; `bidi`
and `legacy` take one.  The simple schedulers give one candidate for each; `auto_recompute_sa` adds the best results of
annealing and of a beam search around them, and never does worse than the simple ones, which it builds too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from compiler.build import Built, build, graph_text, layout_planner
from compiler.errors import CompilerError, DoesNotFit, LocalMemoryFull
from compiler.graph import MNGraph, to_l3ir
from compiler.layers.registry import layer_of
from compiler.nodesim import ResultStore, SimulationSettings, simulate_nodes
from compiler.nodesim.patterns import mode_for
from compiler.phases import Phases
from compiler.plan.ends import Ends
from compiler.plan.history import LayoutHistory
from compiler.plan.layout_spec import LayoutSpecs
from compiler.plan.layouts import plan_layouts
from compiler.plan.strategy import variants
from compiler.plan.time_slice import TimeSlicer
from compiler.schedulers.schedule import SCHEDULERS

if TYPE_CHECKING:
    from compiler.options import Options

ANNEALED = "auto_recompute_sa"
#: Built before annealing: its result must not be worse than theirs.
_BEFORE_ANNEALING = ("spill_opt", "reuse_consecutive")


@dataclass
class Search:
    """One search.  candidates: everything that was tried, for report.json.  simulation: of the winner's layouts, for
    simulation_result.json.
    """

    options: Options
    phases: Phases
    specs: LayoutSpecs
    store: ResultStore | None = None
    ends: Ends = field(default_factory=Ends)
    candidates: list[dict[str, Any]] = field(default_factory=list)
    simulation: dict[str, Any] = field(default_factory=dict)
    _seen: dict[str, Built] = field(default_factory=dict)
    _first_error: CompilerError | None = None

    def run(self, graph: MNGraph) -> Built:
        """The best candidate.  Raises the error of the first one when none can be built."""
        scheduler = self.options["scheduler"]
        simple = list(SCHEDULERS) if self._every else list(_BEFORE_ANNEALING) if scheduler == ANNEALED else [scheduler]
        plans: list[Plan] = []
        built: list[Built] = []
        for spreads in self._spreads(graph):
            plans = list(self._plans(spreads))
            built = [b for plan in plans for name in simple if (b := self._simple(plan, name)) is not None]
            if built:
                break
        if not built:
            if self._first_error is None:
                raise CompilerError("no layout of the graph can be planned")
            raise self._first_error
        if scheduler == ANNEALED:
            built += self._annealed(plans, built)
        best = min(built, key=lambda candidate: candidate.cycles)
        self._simulate_winner(plans, best)
        return best

    @property
    def _every(self) -> bool:
        return bool(self.options["CODEGEN_FIND_BEST_COMPILE_OPTIONS"])

    def _spreads(self, graph: MNGraph) -> list[list[MNGraph]]:
        """The ways to spread matrix products: all to be compared, or one after the other until one can be built."""
        options = self.options
        found = variants(graph)
        if options["CODEGEN_GEMM_FORCE_CHANNEL_SPLIT"]:
            found = found[1:] or found
        wide = layout_planner(options) == "lpz" or self._every or options["CODEGEN_FIND_BETTER_COMPILE_OPTIONS"]
        return [found] if wide else [[one] for one in found]

    def _plans(self, spread: list[MNGraph]) -> Iterator[Plan]:
        """The graphs with layouts, in every way that is to be compared, each different one once."""
        planner = layout_planner(self.options)
        ways = (False, True) if planner == "lpz" or self._every else (planner == "bidi",)
        seen: set[str] = set()
        for number, variant in enumerate(spread):
            for both in ways:
                plan = Plan(f"{'bidi' if both else 'legacy'}, spread {number}", variant, both, self)
                try:
                    plan.make()
                except CompilerError as error:
                    self._first_error = self._first_error or error
                    continue
                text = to_l3ir(plan.graph)
                if text not in seen:
                    seen.add(text)
                    yield plan

    def _simple(self, plan: Plan, scheduler: str) -> Built | None:
        """The candidate of a simple scheduler; time slices get smaller until it fits."""
        while True:
            try:
                with self.phases("scheduler"):
                    schedule = SCHEDULERS[scheduler](plan.graph, self.options["sram_budget"])
                return self._build(plan, scheduler, schedule)
            except DoesNotFit as error:
                try:
                    if plan.refine(error):
                        continue
                except CompilerError as last:
                    error = last if isinstance(last, DoesNotFit) else error
                self._refused(plan, scheduler, error)
            except CompilerError as error:
                self._refused(plan, scheduler, error)
            return None

    def _built(self, plan: Plan, scheduler: str, schedule: Any) -> Built | None:
        """Build a candidate, or note why it cannot be built."""
        try:
            return self._build(plan, scheduler, schedule)
        except CompilerError as error:
            self._refused(plan, scheduler, error)
            return None

    def _build(self, plan: Plan, scheduler: str, schedule: Any) -> Built:
        """Build a candidate unless an equal one was built before."""
        text = graph_text(schedule)
        if text in self._seen:
            return self._seen[text]
        built = build(schedule, self.options, self.phases, self.ends.updates)
        built = replace(
            built, layout=plan.name, scheduler=scheduler, history=plan.history, sliced=plan.slicer.outcome
        )
        self._seen[text] = built
        self.candidates.append({"layout": plan.name, "scheduler": scheduler, "cycles": built.cycles})
        return built

    def _refused(self, plan: Plan, scheduler: str, error: CompilerError) -> None:
        self._first_error = self._first_error or error
        self.candidates.append({"layout": plan.name, "scheduler": scheduler, "error": str(error)})

    def _settings(self, mode: str) -> SimulationSettings:
        return SimulationSettings(
            mode,
            threads=self.options["num_threads"],
            allow_unexpected=self.options["CODEGEN_NODE_SIM_ALLOW_UNEXPECTED_FAIL"],
            store=self.store,
            progress=self.phases.progress,
        )

    @property
    def _mode(self) -> str:
        return mode_for(self.options["simulation_mode"], self.options["scheduler"])

    def _annealed(self, plans: list[Plan], built: list[Built]) -> Iterator[Built]:
        """Results of annealing on the layouts that look best so far."""
        from compiler.schedulers.annealing.explore import Exploration

        best: dict[str, int] = {}
        for candidate in built:
            best[candidate.layout] = min(candidate.cycles, best.get(candidate.layout, candidate.cycles))
        ranked = sorted((plan for plan in plans if plan.name in best), key=lambda plan: (best[plan.name], plan.name))
        wanted = 2 if self.options["CODEGEN_FIND_BETTER_COMPILE_OPTIONS"] else 1
        for plan in ranked if self._every else ranked[:wanted]:
            with self.phases("node simulation"):
                costs = simulate_nodes(plan.graph, self._settings(self._mode))
            plan.simulation = dict(costs.record)
            exploration = Exploration(plan.graph, costs, self.options, self.phases)
            for schedule in exploration.annealed():
                found = self._built(plan, ANNEALED, schedule)
                if found is not None:
                    exploration.tell(found.cycles)
                    yield found
            for schedule in exploration.beam(lambda schedule: graph_text(schedule) in self._seen):
                found = self._built(plan, f"{ANNEALED}, beam", schedule)
                if found is not None:
                    exploration.tell(found.cycles)
                    yield found

    def _simulate_winner(self, plans: list[Plan], best: Built) -> None:
        plan = next(plan for plan in plans if plan.name == best.layout)
        if not plan.simulation:
            with self.phases("node simulation"):
                plan.simulation = dict(simulate_nodes(plan.graph, self._settings(self._mode)).record)
        self.simulation = plan.simulation


class Plan:
    """A variant of the graph with layouts, cut into time slices where it does not fit.

    graph: what is to be scheduled.  history: of its layouts.  simulation: what node simulation found of it, once it has
    run.
    """

    def __init__(self, name: str, variant: MNGraph, both_directions: bool, search: Search) -> None:
        self.name = name
        self.graph = variant
        self.history = LayoutHistory()
        self.simulation: dict[str, Any] = {}
        self._both = both_directions
        self._search = search
        options = search.options
        self.slicer = TimeSlicer(variant, options["sram_budget"], options["CODEGEN_MAX_TIME_SLICE"], self._layouts)

    def make(self) -> None:
        """Plan the layouts.  Raises CompilerError."""
        with self._search.phases("layout planner"):
            self.graph = self.slicer.plan()
        self.simulation = {}

    def refine(self, error: DoesNotFit) -> bool:
        """Let the layer at work do with less scratch, or plan anew with smaller slices, after `error`; False when that
        cannot help.  Raises CompilerError.
        """
        if isinstance(error, LocalMemoryFull):
            workers = [node for node in self.graph.nodes if set(node.outputs) & set(error.makes)]
            if any([layer_of(node).tighten(node) for node in workers]):
                return True
        if not self.slicer.refine(error):
            return False
        self.make()
        return True

    def _layouts(self, graph: MNGraph) -> MNGraph:
        self.history = LayoutHistory()
        search = self._search
        return plan_layouts(
            graph, both_directions=self._both, specs=search.specs, history=self.history, ends=search.ends
        )
