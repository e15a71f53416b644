"""Which node must come before which, and by how many lines: data, memory and MV order.

Every node gets a *position*: for chains and waits the line they start on, for MVs and debug lines the line before which
they stand.  An edge (a, b, w) demands position(b) >= position(a) + w.  Port hazards between independent accesses
have no edge here: they depend on the final order and are kept by the scheduler.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from hw.program import Mv
from hw.sanitizer.hazards import hazard
from hw.sanitizer.resources import LATCHES, Access, Footprint, Res
from isa.pack.nodes import Kind, Node

_BYTES_PER_BLOCK = {Res.L1BM: 1, Res.L2BM: 2}  # blocks of 8 and 16 long words keep large transfers cheap


@dataclass(slots=True, eq=False)
class Ref:
    """One access of one node: where it happens inside the node, and where (L1Bs, L2Bs)."""

    node: Node
    offset: int
    fp: Footprint
    places: int
    waits: list[Node] = field(default_factory=list)  # for MVs: the waits that tell of its completion


@lru_cache(maxsize=65536)
def _keys(total: int, width: int) -> tuple[int, ...]:
    """Addresses (width 0) or blocks of 8*width addresses of a bit set."""
    if width == 0:
        keys = []
        while total:
            keys.append((total & -total).bit_length() - 1)
            total &= total - 1
        return tuple(keys)
    data = total.to_bytes((total.bit_length() + 7) // 8 + width, "little")
    return tuple(i for i in range(len(data) // width) if any(data[i * width : (i + 1) * width]))


class _Memory:
    """Live readers and writers of one resource, per address or block.

    Run-time addresses touch everything: they are ordered against all accesses since the last such write.
    """

    __slots__ = ("cells", "readers", "wild_readers", "wild_writers", "writers")

    def __init__(self) -> None:
        self.cells: dict[int, tuple[list[Ref], list[Ref]]] = {}
        self.writers: list[Ref] = []
        self.readers: list[Ref] = []
        self.wild_writers: list[Ref] = []
        self.wild_readers: list[Ref] = []

    def read(self, ref: Ref, keys: tuple[int, ...], wild: bool, before: dict[Ref, int]) -> None:
        """Record a read; `before` collects what must come first: 1 = its value is used, 0 = it is only overwritten."""
        for w in self.wild_writers:
            before[w] = 1
        if wild:
            for w in self.writers:
                before[w] = 1
            self.wild_readers.append(ref)
            return
        self.readers.append(ref)
        for key in keys:
            cell = self.cells.get(key)
            if cell is None:
                self.cells[key] = ([], [ref])
                continue
            for w in cell[0]:
                if w.places & ref.places:
                    before[w] = 1
            cell[1].append(ref)

    def write(self, ref: Ref, keys: tuple[int, ...], wild: bool, before: dict[Ref, int]) -> None:
        """Record a write; earlier writers come before it (1), earlier readers not after it (0)."""
        for w in self.wild_writers:
            before[w] = 1
        for r in self.wild_readers:
            before.setdefault(r, 0)
        if wild:
            for w in self.writers:
                before[w] = 1
            for r in self.readers:
                before.setdefault(r, 0)
            self.cells.clear()
            self.writers, self.readers, self.wild_readers = [], [], []
            self.wild_writers = [ref]
            return
        self.writers.append(ref)
        for key in keys:
            cell = self.cells.get(key)
            if cell is None:
                self.cells[key] = ([ref], [])
                continue
            writers, readers = cell
            for w in writers:
                if w.places & ref.places:
                    before[w] = 1
            for r in readers:
                if r.places & ref.places and r is not ref:
                    before.setdefault(r, 0)
            # Who is overwritten everywhere needs no further order: this write carries it on.  An MV takes no step and
            # so adds no distance: the hazard between the write before it and a reader after it stays.
            takes_time = ref.node.kind is Kind.CHAIN
            self.cells[key] = (
                [w for w in writers if w.places & ~ref.places or not (takes_time or w.node.kind is Kind.MV)] + [ref],
                [r for r in readers if r.places & ~ref.places],
            )


class Graph:
    """Edges between the nodes of one piece of code; `before[b][a]` is the weight of edge (a, b)."""

    def __init__(self, nodes: Sequence[Node]) -> None:
        self.nodes = nodes
        self.before: list[dict[int, int]] = [{} for _ in nodes]
        self._memories: dict[Res, _Memory] = {}
        self._off_chip_reads: list[Ref] = []
        self._off_chip_writes: list[Ref] = []
        self._mvs: list[Ref] = []
        self._open: dict[int, Ref] = {}  # tag -> MV that is not waited for yet
        self._last_wait: dict[int, Node] = {}
        self._unguarded: list[Ref] = []  # MVs without a tag: every later wait may be meant for them
        self._distances: dict[tuple[int, int], int] = {}
        self._wild = {Res.LM0: _writes(nodes, Res.BAR0), Res.LM1: _writes(nodes, Res.BAR1)}
        barrier: Node | None = None
        since: list[Node] = []
        for node in nodes:
            if barrier is not None:
                self._edge(barrier, node, 1 if barrier.kind is Kind.WAIT and node.kind is Kind.MV else 0)
            if node.kind is Kind.CHAIN:
                self._chain(node)
            elif node.kind is Kind.MV:
                self._mv(node)
            elif node.kind is Kind.WAIT:
                if self._wait(node):
                    barrier = node
            else:
                for earlier in since:
                    self._edge(earlier, node, earlier.length)
                barrier, since = node, []
            since.append(node)

    def _edge(self, first: Node, second: Node, weight: int) -> None:
        if first is not second:
            edges = self.before[second.index]
            if edges.get(first.index, weight - 1) < weight:
                edges[first.index] = weight

    def _memory(self, res: Res) -> _Memory:
        memory = self._memories.get(res)
        if memory is None:
            memory = self._memories[res] = _Memory()
        return memory

    def _record(self, node: Node, offset: int, fp: Footprint, waits: list[Node]) -> list[tuple[Ref, int]]:
        """Enter all accesses of one footprint; returns (earlier access, kind) for each dependency."""
        found: list[tuple[Ref, int]] = []
        refs: dict[int, Ref] = {}

        def enter(access: Access) -> None:
            if access.res in LATCHES:
                return
            ref = refs.get(access.places)
            if ref is None:
                ref = refs[access.places] = Ref(node, offset, fp, access.places, waits)
            before: dict[Ref, int] = {}
            wild = access.unknown or self._wild.get(access.res, False)
            keys = () if wild else _keys(access.total, _BYTES_PER_BLOCK.get(access.res, 0))
            memory = self._memory(access.res)
            (memory.write if access.write else memory.read)(ref, keys, wild, before)
            found.extend((earlier, kind) for earlier, kind in before.items() if earlier.node is not node)

        for access in fp.reads:
            enter(access)
        for access in fp.writes:
            enter(access)
        return found

    def _distance(self, first: Footprint, second: Footprint) -> int:
        """Steps between a value's producer and its user: the next step, or what the hazard table asks for."""
        key = (id(first), id(second))
        known = self._distances.get(key)
        if known is None:
            rule = hazard(first, second)
            known = self._distances[key] = max(1, rule.steps if rule is not None else 0)
        return known

    def _chain(self, node: Node) -> None:
        for slot in node.slots:
            for fp in slot.prints:
                for earlier, kind in self._record(node, slot.offset, fp, []):
                    if earlier.node.kind is Kind.MV:
                        self._after_mv(earlier, node, 0)
                    else:
                        steps = self._distance(earlier.fp, fp) if kind else 0
                        self._edge(earlier.node, node, earlier.offset + steps - slot.offset)

    def _after_mv(self, mv: Ref, node: Node, weight: int) -> None:
        """Order a node behind an MV and behind the waits that (by program order) tell of its end."""
        self._edge(mv.node, node, 0)
        for wait in mv.waits:
            self._edge(wait, node, weight)

    def _mv(self, node: Node) -> None:
        assert node.print_ is not None
        waits: list[Node] = []
        for earlier, kind in self._record(node, 0, node.print_, waits):
            if earlier.node.kind is Kind.MV:
                self._after_mv(earlier, node, 1)
            else:
                steps = self._distance(earlier.fp, node.print_) if kind else 1
                self._edge(earlier.node, node, earlier.offset + steps)
        ref = Ref(node, 0, node.print_, 0, waits)
        self._off_chip(ref)
        if self._mvs:
            self._edge(self._mvs[-1].node, node, 0)
        if node.tag and node.tag in self._last_wait:
            self._edge(self._last_wait[node.tag], node, 1)
        self._mvs.append(ref)
        if node.tag:
            self._open[node.tag] = ref
        elif isinstance(node.source, Mv):
            self._unguarded.append(ref)

    def _off_chip(self, ref: Ref) -> None:
        """Order an MV behind the MVs whose PDM or DRAM regions it overlaps, unless both only read."""
        for place in ref.fp.off_chip:
            others = (self._off_chip_writes, self._off_chip_reads) if place.write else (self._off_chip_writes,)
            for group in others:
                for other in group:
                    if any(place.overlaps(b) and (place.write or b.write) for b in other.fp.off_chip):
                        self._after_mv(other, ref.node, 1)
        if any(place.write for place in ref.fp.off_chip):
            self._off_chip_writes.append(ref)
        elif ref.fp.off_chip:
            self._off_chip_reads.append(ref)

    def _wait(self, node: Node) -> bool:
        """Enter a wait; True if no MV here raises its tag (a host transfer): then everything later stays behind it."""
        for ref in self._unguarded:
            ref.waits.append(node)
        raised = self._open.pop(node.tag) if node.tag in self._open else None
        self._last_wait[node.tag] = node
        if raised is None:
            if self._mvs:
                self._edge(self._mvs[-1].node, node, 0)
            return True
        raised.waits.append(node)
        self._edge(raised.node, node, 0)
        return False


def _writes(nodes: Sequence[Node], res: Res) -> bool:
    return any(a.res is res for n in nodes for s in n.slots for fp in s.prints for a in fp.writes)
