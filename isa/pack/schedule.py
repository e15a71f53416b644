"""Greedy list scheduling: fill line after line with the ready nodes of the longest remaining path.

A wait stalls the whole machine, so it is placed as late as is useful: when nothing else is left to do, or once the
transfer it waits for is expected to be over.  The expectation knows that transfers between the same two memories follow
each other, and that a stall lets them catch up with the lines.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from hw.program import Item, Mv
from hw.sanitizer.lineset import LineState
from hw.sanitizer.resources import Footprint
from hw.sanitizer.rules import RULES
from isa.pack.errors import PackError
from isa.pack.graph import Graph
from isa.pack.nodes import Kind, Node, Slot


@dataclass(slots=True)
class OutLine:
    """One line being filled.

    items: (source order, item).  closed: nothing may join (a blank line inside a chain, or a `noforward` line).
    earlier, later: port rule -> places, the roles in which the line's items take part in port hazards.
    """

    state: LineState = field(default_factory=lambda: LineState(strict=True))
    items: list[tuple[int, Item]] = field(default_factory=list)
    wait: int | None = None
    wait_node: int | None = None
    hold: bool = False
    closed: bool = False
    earlier: dict[int, int] = field(default_factory=dict)
    later: dict[int, int] = field(default_factory=dict)


@dataclass(slots=True)
class Schedule:
    """The result: lines, and for each line index the MV and debug nodes that stand before it, in order."""

    lines: list[OutLine]
    ahead: dict[int, list[Node]]


class Scheduler:
    """One run over one graph; `mv_steps` estimates a transfer's duration in steps."""

    def __init__(self, nodes: Sequence[Node], graph: Graph, window: int, mv_steps: Callable[[Mv], int]) -> None:
        self._nodes = nodes
        self._window = window
        self._lines: list[OutLine] = []
        self._ahead: dict[int, list[Node]] = {}
        self._position = [-1] * len(nodes)
        self._earliest = [0] * len(nodes)
        self._before = graph.before
        self._missing = [len(edges) for edges in graph.before]
        self._after: list[list[tuple[int, int]]] = [[] for _ in nodes]
        for b, edges in enumerate(graph.before):
            for a, weight in edges.items():
                self._after[a].append((b, weight))
        self._mv_steps = [mv_steps(n.source) if isinstance(n.source, Mv) else 0 for n in nodes]
        self._priority = self._priorities()
        self._units = [sum(1 << p.unit for p in n.slots[0].profiles) if n.slots else 0 for n in nodes]
        self._ready: list[tuple[int, int]] = []  # (-priority, node) of chains that may be placed, best first
        self._fresh: list[tuple[int, int]] = []  # the same, released while the current line is filled
        self._far: list[int] = []  # chains that are ready but outside the window
        self._marks: list[int] = []  # MV and debug nodes whose predecessors are placed, in program order
        self._waits: list[tuple[int, int]] = []  # (line by which the transfer should be over, node)
        self._stall = 0  # steps that waits are expected to have cost so far
        self._end = [0] * len(nodes)  # expected end of each MV, in steps from the start
        self._busy: dict[tuple[int, int], int] = {}  # (source, destination space) -> end of the last transfer
        self._base = 0  # no chain before this node is left
        self._left = len(nodes)

    def _priorities(self) -> list[int]:
        """Longest path to the end in lines; the way over an MV to its wait counts the transfer's expected steps."""
        result = [0] * len(self._nodes)
        for a in range(len(self._nodes) - 1, -1, -1):
            best = self._nodes[a].length
            for b, weight in self._after[a]:
                if self._nodes[b].kind is Kind.WAIT:
                    weight = max(weight, self._mv_steps[a])
                best = max(best, weight + result[b])
            result[a] = best
        return result

    def run(self) -> Schedule:
        """Place every node.  Raises PackError if the code's own order cannot be kept."""
        for index, count in enumerate(self._missing):
            if count == 0:
                self._release(index)
        t = 0
        while self._left:
            self._fill(t)
            t += 1
        used = [i + 1 for i, line in enumerate(self._lines) if line.items or line.wait is not None]
        length = max([0, *used, *self._ahead])
        while len(self._lines) < length:
            self._lines.append(OutLine())
        return Schedule(self._lines[:length], self._ahead)

    def _line(self, t: int) -> OutLine:
        while len(self._lines) <= t:
            self._lines.append(OutLine())
        return self._lines[t]

    def _fill(self, t: int) -> None:
        """Place everything that goes before line `t` and on it."""
        line = self._line(t)
        self._place_marks(t)
        if self._waits and line.wait is None and self._waits[0][0] <= t + self._stall:
            self._place_wait(t)
        self._place_chains(t)
        if line.items or line.wait is not None or not self._left:
            return
        if self._ready or self._marks or t < len(self._lines) - 1:
            return  # a nop: what is ready needs some steps of distance
        if not self._waits:
            stuck = next(n for n in self._nodes if self._position[n.index] < 0)
            raise PackError(stuck.line, "the order of this code cannot be kept when latch readers stay together")
        self._place_wait(t)
        self._place_chains(t)

    def _release(self, index: int) -> None:
        """All predecessors of a node are placed."""
        kind = self._nodes[index].kind
        if kind is Kind.CHAIN:
            if index <= self._base + self._window:
                self._fresh.append((-self._priority[index], index))
            else:
                insort(self._far, index)
        elif kind is Kind.WAIT:
            expected = max((self._end[a] for a in self._before[index]), default=0)
            if not self._after[index]:
                expected += expected  # nobody needs it: a drain at the end, or along the way when surely over
            insort(self._waits, (expected, index))
        else:
            insort(self._marks, index)

    def _commit(self, index: int, t: int) -> None:
        self._position[index] = t
        self._left -= 1
        source = self._nodes[index].source
        if isinstance(source, Mv):
            queue = (source.src.space, source.dst.space)
            self._end[index] = max(t + self._stall, self._busy.get(queue, 0)) + self._mv_steps[index]
            self._busy[queue] = self._end[index]
        for b, weight in self._after[index]:
            self._earliest[b] = max(self._earliest[b], t + weight)
            self._missing[b] -= 1
            if self._missing[b] == 0:
                self._release(b)

    def _place_marks(self, t: int) -> None:
        placed = True
        while placed:
            placed = False
            for index in self._marks:
                if self._earliest[index] <= t:
                    self._marks.remove(index)
                    self._ahead.setdefault(t, []).append(self._nodes[index])
                    self._commit(index, t)
                    placed = True
                    break

    def _place_wait(self, t: int) -> None:
        for entry in self._waits:
            if self._earliest[entry[1]] <= t:
                self._waits.remove(entry)
                transfers = [self._end[a] for a in self._before[entry[1]]]
                self._stall += max(0, max(transfers, default=0) - t - self._stall)
                self._line(t).wait = self._nodes[entry[1]].tag
                self._line(t).wait_node = entry[1]
                self._commit(entry[1], t)
                return

    def _place_chains(self, t: int) -> None:
        """Put ready chains on line `t`, best first, until none fits; a reader's overwriter may join its line."""
        self._merge_fresh()
        batch = self._ready
        while batch:
            units = self._lines[t].state.units
            placed: set[int] = set()
            for _, index in batch:
                if self._earliest[index] > t or self._units[index] & units:
                    continue
                node = self._nodes[index]
                if self._fits(node, t):
                    self._take(node, t)
                    placed.add(index)
                    self._commit(index, t)
                    units = self._lines[t].state.units
            if placed:
                self._ready = [entry for entry in self._ready if entry[1] not in placed]
            batch = self._merge_fresh()
        self._advance()

    def _merge_fresh(self) -> list[tuple[int, int]]:
        fresh = sorted(self._fresh)
        self._fresh = []
        for entry in fresh:
            insort(self._ready, entry)
        return fresh

    def _advance(self) -> None:
        """Move the window on."""
        nodes = self._nodes
        while self._base < len(nodes) and (self._position[self._base] >= 0 or nodes[self._base].kind is not Kind.CHAIN):
            self._base += 1
        while self._far and self._far[0] <= self._base + self._window:
            index = self._far.pop(0)
            insort(self._ready, (-self._priority[index], index))

    def _fits(self, node: Node, t: int) -> bool:
        for slot in node.slots:
            at = t + slot.offset
            line = self._line(at)
            if line.closed or (slot.hold and line.items):
                return False
            if any(line.state.clash(p) for p in slot.profiles):
                return False
            if any(self._port_clash(fp, at) for fp in slot.prints):
                return False
        return not any(self._line(t + offset).items for offset in node.blank)

    def _port_clash(self, fp: Footprint, at: int) -> bool:
        """Is there a port hazard with items on lines nearby that this one has no other order with?"""
        for rule, places in fp.later_ports:
            for t in range(max(0, at - RULES[rule].threshold + 1), at):
                if self._lines[t].earlier.get(rule, 0) & places:
                    return True
        for rule, places in fp.earlier_ports:
            for t in range(at + 1, min(len(self._lines), at + RULES[rule].threshold)):
                if self._lines[t].later.get(rule, 0) & places:
                    return True
        return False

    def _take(self, node: Node, t: int) -> None:
        for offset in node.blank:
            self._line(t + offset).closed = True
        for slot in node.slots:
            self._take_slot(slot, self._line(t + slot.offset), node.index)

    def _take_slot(self, slot: Slot, line: OutLine, order: int) -> None:
        for item, p, fp in zip(slot.items, slot.profiles, slot.prints, strict=True):
            line.state.add(p)
            line.items.append((order, item))
            for rule, places in fp.earlier_ports:
                line.earlier[rule] = line.earlier.get(rule, 0) | places
            for rule, places in fp.later_ports:
                line.later[rule] = line.later.get(rule, 0) | places
        if slot.hold:
            line.hold = line.closed = True
