"""Time slicing: values larger than a local memory are cut along an axis and pass through the chip slice by slice.

`TimeSlicer.plan` finds what does not fit, lets `plan.regions` choose nodes and axes, settles how many slices each
region needs, plans the layouts of one slice and forks.  When a later planner still finds no room, `refine` makes the
slices of the region concerned smaller, or cuts a node that was whole.  Source: compiler.md 7.4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from compiler.errors import DoesNotFit, LayoutConflict, TooManySlices
from compiler.graph import MNGraph, MNNode
from compiler.graph.value import LM_WORDS
from compiler.layers.registry import layer_of
from compiler.plan.fork import Template, fork
from compiler.plan.layouts import plan_layouts
from compiler.plan.regions import Region, RegionFinder, key_of, tensors_in
from compiler.plan.template import Group, build_template, stored_pieces

MOST_ROUNDS = 64


@dataclass
class _Wish:
    """Slices wanted for a node's region, and the least number that may be tried (more than what failed)."""

    slices: int = 2
    least: int = 2


class TimeSlicer:
    """Slicing of one graph.  `sram_budget`: share of local memory that may be used; `limit`: most slices of a value.
    `layouts`: the layout planner.

    Attribute `outcome`: the template that `plan` forked (None when nothing is cut), and its graph with layouts.
    """

    def __init__(
        self, graph: MNGraph, sram_budget: float, limit: int, layouts: Callable[[MNGraph], MNGraph] = plan_layouts
    ) -> None:
        self._graph = graph
        self._layouts = layouts
        self._room = int(LM_WORDS * sram_budget) // 4 * 2
        self._limit = limit
        self._made_by = graph.producers()
        self._oversize: dict[str, int] = {}
        self._scratch: dict[str, int] = {}
        self._wishes: dict[str, _Wish] = {}
        self._rejected: set[tuple[str, int]] = set()
        self._steps: dict[tuple[frozenset[str], int], int] = {}
        self._groups: list[Group] = []
        self._origin: dict[str, str] = {}
        self._why: DoesNotFit | None = None
        self.outcome: tuple[Template | None, MNGraph] = (None, graph)

    def plan(self) -> MNGraph:
        """The graph with layouts, sliced where needed.  Raises DoesNotFit (TooManySlices) and what layers raise."""
        if not self._wishes:
            planned = self._layouts(self._graph)
            self._measure(planned)
            if not self._wishes:
                return planned
        for _ in range(MOST_ROUNDS):
            self._groups = self._find_groups()
            template = build_template(self._graph, self._groups, self._oversize)
            try:
                planned = self._layouts(template.graph)
            except LayoutConflict as error:
                raise self._why or error from error
            if self._aligned(template, planned):
                self.outcome = (template, planned)
                forked, self._origin = fork(template, planned)
                return forked
        raise self._why or DoesNotFit("time slicing: no number of slices suits all layouts")

    def refine(self, error: DoesNotFit) -> bool:
        """Learn from a planner or emitter that found no room; False when nothing smaller can be tried."""
        key = next((k for name in error.makes if (k := self._origin.get(name, name)) in self._made_by), None)
        if key is None:
            return False
        self._why = error
        key = key_of(self._graph.nodes[self._made_by[key]])
        group = next((group for group in self._groups if key in group.keys), None)
        if group is None:
            if key in self._wishes:
                return False
            self._wishes[key] = _Wish()
        else:
            self._want_more(group, group.slices + max(1, group.slices // 3), group.slices + 1)
        return True

    # -- what does not fit ---------------------------------------------------------------------------------------

    def _measure(self, planned: MNGraph) -> None:
        """Find oversize values and the nodes that must be cut, in the graph laid out whole."""
        root: dict[str, str] = {}
        in_dram: set[str] = set()
        for node in planned.nodes:
            if node.op_type == "Constant":
                continue
            layer = layer_of(node)
            known = node.outputs[0] in self._made_by
            if not known:
                root[node.outputs[0]] = root.get(node.inputs[0], node.inputs[0])
            inputs = {n for p, n in tensors_in(node, planned).items() if p not in layer.streamed}
            if layer.delivers_in_dram(node, planned):
                in_dram |= set(node.outputs)
            for name in inputs | (set(node.outputs) - in_dram):
                if planned.values[name].num_lw > self._room:
                    source = root.get(name, name)
                    self._oversize[source] = max(planned.values[name].num_lw, self._oversize.get(source, 0))
            if known:
                scratch = [-(-words // 2) for words in layer.scratch(node, planned).values()]
                most = max([0, *scratch])
                if most > self._room:
                    self._scratch[key_of(node)] = most
                    self._wish(key_of(node), -(-most // self._room))
        for node in self._graph.nodes:
            if node.op_type == "Constant":
                continue
            layer = layer_of(node)
            touched = {n for p, n in tensors_in(node, self._graph).items() if p not in layer.streamed}
            touched |= set(node.outputs) - in_dram
            for name in touched & set(self._oversize):
                self._wish(key_of(node), -(-self._oversize[name] // self._room))

    def _wish(self, key: str, slices: int) -> None:
        wish = self._wishes.setdefault(key, _Wish())
        wish.slices = max(wish.slices, slices)

    def _want_more(self, group: Group, slices: int, least: int) -> None:
        for key in group.keys:
            if key in self._wishes:
                self._wishes[key] = _Wish(slices, least)
        if not group.keys & set(self._wishes):
            self._wishes[min(group.keys)] = _Wish(slices, least)

    # -- regions and numbers -------------------------------------------------------------------------------------

    def _find_groups(self) -> list[Group]:
        """Regions, those that share slices of a value in one group, with the number of slices each group asks for."""
        while True:
            finder = RegionFinder(self._graph, set(self._wishes), set(self._oversize), self._rejected)
            regions, stuck = finder.find()
            if stuck:
                raise self._cannot_cut(stuck[0])
            groups = self._link(regions)
            coarse = [group for group in groups if self._wanted(group).slices > group.units]
            if not coarse:
                for group in groups:
                    slices = self._wanted(group).slices
                    group.step = self._steps.get((frozenset(group.keys), slices), -(-group.units // slices))
                return groups
            self._reject(coarse[0])

    def _link(self, regions: list[Region]) -> list[Group]:
        groups: list[Group] = []
        for region in regions:
            group = Group(self._graph, [region])
            shared = [other for other in groups if other.axes.items() & group.axes.items()]
            for other in shared:
                groups.remove(other)
            groups.append(Group(self._graph, [r for g in (*shared, group) for r in g.regions]))
        return groups

    def _wanted(self, group: Group) -> _Wish:
        wishes = [self._wishes[key] for key in group.keys if key in self._wishes]
        slices = max((wish.slices for wish in wishes), default=2)
        return _Wish(slices, max((wish.least for wish in wishes), default=2))

    def _reject(self, group: Group) -> None:
        """No number of slices of this group is good: choose other axes for its nodes that must be cut."""
        for region in group.regions:
            for key, option in region.choice.options.items():
                if key in self._wishes:
                    self._rejected.add((key, option.number))
                    self._wishes[key] = _Wish(self._first_wish(key))

    def _first_wish(self, key: str) -> int:
        node = self._graph.nodes[self._made_by[key]]
        sizes = [self._oversize.get(name, 0) for name in (*node.used, *node.outputs)]
        return max(2, -(-max(sizes) // self._room))

    def _aligned(self, template: Template, planned: MNGraph) -> bool:
        """Whether slices that are stored end where their layouts end; if not, slices are made longer for next time."""
        good = True
        for number, group in enumerate(self._groups):
            step = group.step
            for name in stored_pieces(template, number):
                value, piece = planned.values[name], template.pieces[name]
                assert value.layout is not None and piece.axis is not None
                factor = piece.extent // group.units
                step = max(step, -(-value.layout.padded_shape[piece.axis] // factor))
            slices = -(-group.units // step)
            wish = self._wanted(group)
            if slices < wish.least:
                self._want_more(group, 2 * wish.slices, wish.least)
                good = False
            elif step != group.step:
                self._steps[frozenset(group.keys), wish.slices] = step
                good = False
            if slices > self._limit:
                raise self._too_many(group, slices)
        return good

    # -- messages ------------------------------------------------------------------------------------------------

    def _largest(self, names: set[str]) -> str:
        return max(sorted(names), key=lambda name: self._oversize.get(name, 0))

    def _cannot_cut(self, key: str) -> DoesNotFit:
        node: MNNode = self._graph.nodes[self._made_by[key]]
        names = {*tensors_in(node, self._graph).values(), *node.outputs}
        name = self._largest(names)
        size = self._oversize.get(name)
        what = f"value {name!r} {self._graph.values[name].shape}"
        if size is None and key in self._scratch:
            what, size = f"scratch of {node.op_type} {key!r}", self._scratch[key]
        needs = f"{what} needs {size} long words of local memory" if size else str(self._why or f"{what} is too large")
        return DoesNotFit(
            f"{needs}; the budget is {self._room}, and {node.op_type} {key!r} cannot be cut into time slices that fit",
            (key,),
        )

    def _too_many(self, group: Group, slices: int) -> TooManySlices:
        name = self._largest(set(group.axes))
        return TooManySlices(
            f"value {name!r} {self._graph.values[name].shape} needs {slices} time slices along axis "
            f"{group.axes[name]}; CODEGEN_MAX_TIME_SLICE allows {self._limit}",
            tuple(group.keys),
        )
