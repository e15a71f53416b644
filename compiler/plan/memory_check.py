"""Proof that a planned graph keeps its values: a walk over the nodes with a shadow of every memory.

The shadow remembers for each LM word and each range of DRAM which result it holds.  A node may read a value only where
its own result still lies; so two live values that overlap, a read before its write, a slice outside of its value and an
alias that is elsewhere than its owner all show up.  Shares no code with the placement and the address planner.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from compiler.errors import CompilerError
from compiler.graph import Location, MNGraph, MNNode, MNValue
from compiler.graph.value import DRAM_LWS, LM_WORDS
from compiler.layers.registry import layer_of
from compiler.layout.image import DramImage

LETTERS = {"m": Location.LM0, "n": Location.LM1}
Ranges = list[tuple[int, int, int]]
_Used = tuple[Location, int, int, int]


class MemoryPlanError(CompilerError):
    """A planned graph loses values; the message lists where."""


def check_memory(graph: MNGraph, scratch: Sequence[Mapping[str, int]], replaced: Collection[str] = ()) -> None:
    """Raise MemoryPlanError unless every read finds what its write left.

    scratch: words per node and LM letter.  replaced: parameters whose new contents go over the old ones; those may be
    gone at the end.
    """
    problems = memory_problems(graph, scratch, replaced)
    if problems:
        raise MemoryPlanError("\n  ".join([f"the memory plan has {len(problems)} problem(s):", *problems]))


def memory_problems(
    graph: MNGraph, scratch: Sequence[Mapping[str, int]], replaced: Collection[str] = ()
) -> list[str]:
    """Everything that is wrong with the places of the values; empty when the plan is sound."""
    return _Shadow(graph, scratch).run(replaced)


class _Dram:
    """Ranges of one group's DRAM, each with the result it holds; ranges never overlap."""

    def __init__(self) -> None:
        self._starts: list[int] = []
        self._ranges: Ranges = []

    def write(self, start: int, end: int, tag: int) -> None:
        first = max(0, bisect_right(self._starts, start) - 1)
        last = first
        kept: Ranges = []
        while last < len(self._ranges) and self._ranges[last][0] < end:
            low, high, old = self._ranges[last]
            kept += [(a, b, old) for a, b in ((low, min(high, start)), (max(low, end), high)) if a < b]
            last += 1
        kept = sorted([*kept, (start, end, tag)])
        self._ranges[first:last] = kept
        self._starts[first:last] = [low for low, _, _ in kept]

    def holds(self, wanted: Ranges) -> bool:
        """Whether every range still holds its result."""
        return all(self.read(start, end) == [(start, end, tag)] for start, end, tag in wanted)

    def read(self, start: int, end: int) -> Ranges:
        """What lies in a range, neighbours with one result joined."""
        found: Ranges = []
        at = max(0, bisect_right(self._starts, start) - 1)
        for low, high, tag in self._ranges[at:]:
            if low >= end:
                break
            if high > start:
                found.append((max(low, start), min(high, end), tag))
        return found


class _Shadow:
    def __init__(self, graph: MNGraph, scratch: Sequence[Mapping[str, int]]) -> None:
        self._graph = graph
        self._scratch = scratch
        self._lm = {location: np.zeros(LM_WORDS, np.int64) for location in LETTERS.values()}
        self._dram = _Dram()
        self._tags: dict[str, int] = {}
        self._parts: dict[str, Ranges] = {}
        self._next = 1
        self._problems: list[str] = []

    def run(self, replaced: Collection[str]) -> list[str]:
        graph = self._graph
        for name in (*graph.inputs, *graph.params):
            self._store(graph.values[name], "the host")
        if len(self._scratch) != len(graph.nodes):
            self._problems.append(f"{len(self._scratch)} records of scratch for {len(graph.nodes)} nodes")
        for position, node in enumerate(graph.nodes):
            if node.op_type == "Constant":
                continue
            where = f"node {position} {node.op_type} -> {', '.join(node.outputs[:1])}"
            for name in dict.fromkeys(node.used):
                self._read(name, where)
            if node.op_type == "MNCoreInputSplit":
                self._split(node, where)
            elif node.op_type == "MNCoreOutputConcat":
                self._concat(node, where)
            else:
                used = self._use_scratch(node, self._scratch[position], where) if position < len(self._scratch) else []
                for name in node.outputs:
                    self._make(node, name, where)
                self._all_there(node, where)
                if any((self._lm[place][start:end] != tag).any() for place, start, end, tag in used):
                    self._problems.append(f"{where} has its scratch where it makes its results")
        kept = [name for name in graph.params if name not in replaced]
        for name in (*kept, *graph.outputs):
            self._read(name, "the end")
        return self._problems

    # -- reads ---------------------------------------------------------------------------------------------------

    def _read(self, name: str, where: str) -> None:
        value = self._graph.values[name]
        if value.loc is Location.IMM:
            return
        if name not in self._tags and name not in self._parts:
            self._problems.append(f"{where} reads {name}, which was never made")
        elif value.loc is Location.DRAM:
            if not self._dram.holds(self._parts[name]):
                self._problems.append(f"{where} reads {name} in DRAM, where something else was written since")
        else:
            words = self._words(value)
            if words is None or not (words == self._tags[name]).all():
                self._problems.append(f"{where} reads {name} in {value.loc}, where something else was written since")

    def _all_there(self, node: MNNode, where: str) -> None:
        """What a node reads must not be overwritten by what it makes, unless it says so."""
        in_place = layer_of(node).in_place
        for position, name in enumerate(node.inputs):
            if name and not (in_place and position == 0):
                self._read(name, f"{where} (while it runs)")

    # -- writes --------------------------------------------------------------------------------------------------

    def _tag(self) -> int:
        self._next += 1
        return self._next

    def _words(self, value: MNValue) -> np.ndarray[tuple[int], np.dtype[np.int64]] | None:
        """The shadow of a value in local memory; None when it lies outside."""
        if value.addr is None or value.layout is None or value.loc not in self._lm:
            return None
        end = value.addr + 2 * value.layout.num_lw
        return self._lm[value.loc][value.addr : end] if value.addr >= 0 and end <= LM_WORDS else None

    def _make(self, node: MNNode, name: str, where: str) -> None:
        value = self._graph.values[name]
        if value.loc is Location.DRAM:
            self._store(value, where)
            return
        words = self._words(value)
        if words is None:
            self._problems.append(f"{where} makes {name} at {value.loc} {value.addr}, outside of local memory")
            return
        if value.parent is not None and not layer_of(node).in_place:
            parent = self._graph.values[value.parent]
            if (parent.loc, parent.addr) != (value.loc, value.addr) or value.parent not in node.used:
                self._problems.append(f"{where} makes {name} an alias of {value.parent}, which lies elsewhere")
            self._tags[name] = self._tags.get(value.parent, 0)
            return
        self._tags[name] = self._tag()
        words[:] = self._tags[name]

    def _use_scratch(self, node: MNNode, places: Mapping[str, int], where: str) -> list[_Used]:
        """Mark the scratch of a node; returns the marked ranges."""
        used: list[_Used] = []
        for key, words in layer_of(node).scratch(node, self._graph).items():
            location = self._graph.values[node.outputs[0]].loc if key == "other" else LETTERS[key]
            if not words or location is None or location not in self._lm:
                continue
            start = places.get(next(letter for letter, place in LETTERS.items() if place is location), -1)
            if start < 0 or start + words > LM_WORDS:
                self._problems.append(f"{where} has no room for {words} words of scratch in {location}")
            else:
                used.append((location, start, start + words, self._tag()))
                self._lm[location][start : start + words] = used[-1][3]
        return used

    def _store(self, value: MNValue, where: str) -> None:
        bounds = self._bounds(value, where)
        tag = self._tag()
        self._parts[value.name] = [(*bounds, tag)]
        self._dram.write(*bounds, tag)

    def _bounds(self, value: MNValue, where: str) -> tuple[int, int]:
        """First long word of an image and the first one behind it."""
        if value.layout is None or value.addr is None or value.loc is not Location.DRAM:
            self._problems.append(f"{where}: {value.name} has no place in DRAM")
            return 0, 0
        end = value.addr + DramImage(value.layout, value.dtype).lws_per_group
        if value.addr < 0 or end > DRAM_LWS:
            self._problems.append(f"{where}: {value.name} reaches to {end}, outside of DRAM")
        return value.addr, end

    # -- slices --------------------------------------------------------------------------------------------------

    def _split(self, node: MNNode, where: str) -> None:
        whole = self._graph.values[node.inputs[0]]
        begin, end = self._bounds(whole, where)
        reached = begin
        for name in node.outputs:
            low, high = self._bounds(self._graph.values[name], where)
            if low != reached or high > end:
                self._problems.append(f"{where}: slice {name} lies at {low}..{high}, expected to begin at {reached}")
            self._parts[name] = self._dram.read(low, high)
            reached = high
        if reached != end:
            self._problems.append(f"{where}: the slices end at {reached}, {whole.name} at {end}")

    def _concat(self, node: MNNode, where: str) -> None:
        whole = self._graph.values[node.outputs[0]]
        begin, end = self._bounds(whole, where)
        reached = begin
        parts: Ranges = []
        for name in node.inputs:
            low, high = self._bounds(self._graph.values[name], where)
            if low != reached:
                self._problems.append(f"{where}: slice {name} begins at {low}, expected {reached}")
            parts += self._parts.get(name, [])
            reached = high
        if reached != end:
            self._problems.append(f"{where}: the slices end at {reached}, {whole.name} at {end}")
        self._parts[whole.name] = parts
