"""MVs in flight: nobody may touch what they write, or write what they read, before a `wait` has shown them complete.

The rule follows the program, not the modelled time (latencies are estimates): an MV is in flight from its line to the
`wait` for its tag, or to the `wait` for a later MV of the same queue; MVs of a queue run in order (timing.md 5.1, 5.4).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from hw.lockstep.cells import Spot
from hw.lockstep.regions import Region, dar_drain, l2_regions, mv_regions
from hw.lockstep.stores import Store
from hw.lockstep.touch import size_of
from hw.program import L2Kind, L2Move, Mv, Space, Step
from hw.sanitizer.runtime.area import DebugAreas
from hw.sanitizer.runtime.finding import Finding
from hw.state.board import Board

Key = tuple[Store, int]
Span = tuple[int, int]
Queue = tuple[Space, Space, int]


@dataclass(frozen=True, slots=True)
class Use:
    """Long words of one instance of a store: [start, end) spans, sorted."""

    key: Key
    write: bool
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Open:
    """An MV in flight; `queues`: (source space, destination space, source group), as in the time model."""

    mv: Mv
    queues: frozenset[Queue]
    uses: tuple[Use, ...]


def spans_of(addresses: np.ndarray, size: int) -> tuple[Span, ...]:
    """Sorted, wrapped addresses as spans."""
    wrapped = np.unique(addresses % size)
    if not len(wrapped):
        return ()
    breaks = np.flatnonzero(np.diff(wrapped) != 1)
    starts = wrapped[np.concatenate(([0], breaks + 1))]
    ends = wrapped[np.concatenate((breaks, [len(wrapped) - 1]))] + 1
    return tuple(zip(starts.tolist(), ends.tolist(), strict=True))


def _common(a: Iterable[Span], b: Iterable[Span]) -> int | None:
    """Lowest common address."""
    found = [max(s, t) for s, e in a for t, f in b if max(s, t) < min(e, f)]
    return min(found, default=None)


class InFlight:
    """Keeps the open MVs of one run."""

    def __init__(self, board: Board, report: Callable[[Finding], None]) -> None:
        self._board, self._report = board, report
        self._open: list[Open] = []

    def step(self, step: Step) -> None:
        """A PE line, before it runs."""
        if step.wait is not None:
            self._complete(step.wait)
        if not self._open:
            return
        for item in step.items:
            if isinstance(item, L2Move):
                uses = self._uses(self._item_regions(item))
                self._check(uses, self._open, step.line, item.text)

    def mv(self, mv: Mv) -> None:
        """An MV line, before it issues."""
        uses = self._uses(mv_regions(mv, self._board))
        new = Open(mv, self._queues(mv), tuple(uses))
        before = self._ordered_before(new)
        self._check(uses, [one for one in self._open if one not in before], mv.line, mv.text)
        self._open.append(new)

    def debug(self, touched: DebugAreas, line: int, text: str) -> None:
        """A debug line that reads or sets L2BM, PDM or DRAM."""
        size = self._board.topology
        counts = {Store.L2BM: size.l2bs, Store.PDM: size.groups, Store.DRAM: size.groups}
        uses = []
        for area in touched.areas:
            if area.store in counts:
                place = area.full_place()
                for instance in range(counts[area.store]):
                    at = divmod(instance, size.l2b_per_group) if area.store is Store.L2BM else (instance,)
                    if all(want in (None, have) for want, have in zip(place, at, strict=True)):
                        span = (area.start, area.start + area.count)
                        uses.append(Use((area.store, instance), touched.write, (span,)))
        self._check(uses, self._open, line, text)

    # --- order --------------------------------------------------------------------------------------------------

    def _queues(self, mv: Mv) -> frozenset[Queue]:
        groups = range(self._board.topology.groups) if mv.src.group is None else (mv.src.group,)
        return frozenset((mv.src.space, mv.dst.space, group) for group in groups)

    def _ordered_before(self, last: Open) -> list[Open]:
        """MVs of the open ones that must be complete before `last` starts: those it stands behind, and so on."""
        found: list[Open] = []
        queues = set(last.queues)
        for one in reversed([one for one in self._open if one is not last]):
            if queues & one.queues:
                found.append(one)
                queues |= one.queues
        return found

    def _complete(self, tag: int) -> None:
        index = next((i for i, one in enumerate(self._open) if one.mv.tag == tag), None)
        if index is None:
            return  # a deadlock, which the engine reports
        later = self._open[index + 1 :]
        waited = self._open[index]
        self._open = self._open[:index]
        done = self._ordered_before(waited)
        self._open = [one for one in self._open if one not in done] + later

    # --- accesses -----------------------------------------------------------------------------------------------

    def _item_regions(self, item: L2Move) -> list[Region]:
        if item.kind is L2Kind.DARW:
            groups = range(self._board.topology.groups)
            return [Region(Store.DAR, True, (n,), dar_drain(self._board, n)) for n in groups]
        return l2_regions(item, self._board.topology)

    def _uses(self, regions: list[Region]) -> list[Use]:
        found = []
        for region in regions:
            if region.store in (Store.L2BM, Store.PDM, Store.DRAM, Store.DAR):
                spans = spans_of(region.addresses, size_of(region.store, self._board))
                found += [Use((region.store, place), region.write, spans) for place in region.places]
        return found

    def _check(self, uses: Iterable[Use], against: Iterable[Open], line: int, text: str) -> None:
        """One finding for each MV and kind of conflict."""
        for moving in against:
            seen: dict[str, tuple[Use, int, int]] = {}
            for use in uses:
                for other in moving.uses:
                    if use.key != other.key or not (use.write or other.write):
                        continue
                    at = _common(use.spans, other.spans)
                    if at is not None:
                        kind = "source" if not other.write else "destination"
                        first, where, count = seen.get(kind, (use, at, -1))
                        seen[kind] = (first, where, count + 1)
            for kind, (use, at, others) in seen.items():
                self._found(kind, use, at, others, moving.mv, line, text)

    def _found(self, kind: str, use: Use, at: int, others: int, mv: Mv, line: int, text: str) -> None:
        store, instance = use.key
        place = divmod(instance, self._board.topology.l2b_per_group) if store is Store.L2BM else (instance,)
        verb = "overwrites" if use.write else "reads"
        side = "writes" if kind == "destination" else "still reads"
        what = f"{verb} {{spot}}, which the MV of line {mv.line} (`{mv.text}`) {side} and may not have finished"
        tag = f"`wait i{mv.tag:02x}`" if mv.tag else "a tag on that MV and a `wait` for it"
        hint = f"put {tag} before line {line}"
        self._report(Finding(f"mv/{kind}", line, text, what, hint, Spot(store, place, at), others))
