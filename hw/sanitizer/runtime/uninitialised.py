"""Uninitialised reads of PE steps: follows what is written and defined through every item.

What counts as a finding:
  read     a PE uses a word that nothing has written;
  carried  all PEs that use an operand find words there that were copied from unwritten places;
  mixed    a reduction, a block float or a matrix product joins defined values with undefined ones;
  nothing  a move, an L1BM->PE item or a matrix operation finds nothing defined at all in its source.
Moves of partly undefined data are none by themselves: the state travels with the data to whoever uses it.  A reported
word counts as defined from then on, so one mistake is one finding.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hw.lockstep.cells import Cells, Spot
from hw.lockstep.operands import LATCH, MEMORY, dest_cells, mask_bits, source_cells, written_bits
from hw.lockstep.regions import l1_writers
from hw.lockstep.stores import Store
from hw.program import Compute, Dest, Item, L2Move, MaskRef, Mem, PeLoad, PeStore, Source, Step, Unit
from hw.sanitizer.runtime import dataflow
from hw.sanitizer.runtime.banks import NARROWING, Banks, SpotOf
from hw.sanitizer.runtime.dataflow import KNOWN_PAIR, Pair
from hw.sanitizer.runtime.families import Family, Flow, family_of
from hw.sanitizer.runtime.finding import Finding
from hw.sanitizer.runtime.matrix import MatrixStates
from hw.sanitizer.runtime.operands import operands_of
from hw.sanitizer.runtime.recall import Recall, writes_t
from hw.sanitizer.runtime.shadow import Shadow
from hw.sanitizer.runtime.states import KNOWN, WORD_FROM_ODD, WORD_TO_ODD, any_of, undefined, unwritten
from hw.state.board import Board

U8 = NDArray[np.uint8]
Bool = NDArray[np.bool_]
Report = Callable[[Finding], None]
LANES = (4, 4, 16)
_INDEX_WORD = 3  # w1 of T (isa.md 3.5)

_LATCH_OF = {Unit.ALU: Store.ALUF, Unit.MAU: Store.MAUF, Unit.MREAD: Store.MREADF}
_WRITE_FIRST = "write it first, or declare it as loaded"


class Uninitialised:
    """Follows one run.  scope: PEs whose reads count, bool [l1][1][p][m]; report: called for every finding; recall:
    spares the work for steps whose effect is known."""

    def __init__(
        self, board: Board, shadow: Shadow, scope: Bool, report: Report, recall: Recall | None = None
    ) -> None:
        self._board, self._shadow, self._scope, self._tell = board, shadow, scope, report
        self._shape = (board.topology.l1bs, *LANES)
        self._banks = Banks(board, shadow, scope, self._report)
        self._matrix = MatrixStates(board, shadow, scope, self._report)
        self._recall = recall
        self._count = 0  # of findings
        self._step = Step()
        self._stale = False

    def step(self, step: Step, *, stale_t: bool, latch_used: bool) -> None:
        """One PE line, before it runs.  latch_used: a later step reads a latch or the turnaround register it fills."""
        if self._recall is None:
            self._compute_step(step, stale_t, latch_used)
        elif not self._recall.apply(step, stale_t=stale_t, latch_used=latch_used):
            before = self._count
            self._compute_step(step, stale_t, latch_used)
            self._recall.learn(step, found=self._count > before)

    def _report(self, finding: Finding) -> None:
        self._count += 1
        self._tell(finding)

    def _compute_step(self, step: Step, stale_t: bool, latch_used: bool) -> None:
        self._step, self._stale = step, stale_t
        writes: list[Callable[[], None]] = []
        for item in step.items:
            writes += self._item(item, latch_used)
        if writes_t(step):
            self._shadow[Store.T_BEFORE][:] = self._shadow[Store.T]
        for write in writes:
            write()

    def _item(self, item: Item, latch_used: bool) -> list[Callable[[], None]]:
        line = self._step.line
        if isinstance(item, L2Move):
            return self._banks.l2(item, line)
        if isinstance(item, PeStore):
            self._indices((item.source,), np.broadcast_to(self._scope, self._shape), item.text)
            return self._store(item)
        effective = self._effective(item.dests, item.flush, latch_used)
        self._indices(operands_of(item), effective, item.text)
        if isinstance(item, PeLoad):
            pair = self._banks.load(item, line, any_of(effective, 1, 2, 3))
            return self._outputs(pair, item.dests, item.flush, Store.LBF)
        return self._compute(item, effective, latch_used)

    # --- which reads matter -------------------------------------------------------------------------------------

    def _effective(self, dests: Iterable[Dest], flush: MaskRef | None, latch_used: bool) -> Bool:
        """Lanes in which something becomes of the result: a destination takes it, or a latch that is read later."""
        if latch_used:
            return np.broadcast_to(self._scope, self._shape)
        found = np.zeros((1, 1, 1, 1), np.bool_)
        for dest in dests:
            if dest.mem is Mem.OMR:
                return np.broadcast_to(self._scope, self._shape)
            if dest.mem is not Mem.NOWRITE:
                found = found | (mask_bits(dest.mask, self._board) != 0)
        if flush is not None:
            found = found & (mask_bits(flush, self._board) != 0)
        return np.broadcast_to(found & self._scope, self._shape)

    # --- sources ------------------------------------------------------------------------------------------------

    def _gather(self, source: Source) -> tuple[Pair, list[Cells]]:
        """States of an operand as it enters the datapath; what it does not read counts as known (it is zero)."""
        cells = source_cells(source, self._board, self._stale)
        if not cells:
            return KNOWN_PAIR, cells
        states = [np.array(self._shadow[one.store][one.index]) for one in cells]  # T and latches change in this step
        if source.width == 1 and source.mem in MEMORY:
            odd = cells[0].bits & 12 == 0
            states[0] = np.where(odd, WORD_FROM_ODD[states[0]], states[0] & np.uint8(0xCC)) | np.uint8(0x33)
        return Pair(states[0], states[1] if len(states) > 1 else KNOWN_PAIR.lw1), cells

    def _read(self, source: Source, used: tuple[int, int], effective: Bool, text: str) -> Pair:
        """States of an operand, with findings; reported lanes count as known."""
        pair, cells = self._gather(source)
        if not cells or source.mem in LATCH:
            return pair
        states = (pair.lw0, pair.lw1)
        for kind, test in (("read", unwritten), ("carried", undefined)):
            bad = (test(states[0], used[0]) | test(states[1], used[1])) & effective
            if not bad.any() or (kind == "carried" and not (bad | ~effective).all()):
                continue
            second = not (test(states[0], used[0]) & effective).any()
            one = cells[1] if second else cells[0]
            what = "uses {spot}, which nothing has written"
            if kind == "carried":
                what = "uses {spot}, whose content was copied from a place that nothing has written"
            hint = _WRITE_FIRST if kind == "read" else "check what was moved there"
            missing = ~states[second] >> np.uint8(4 if kind == "read" else 0)
            self._found(kind, text, what, hint, one, bad, missing)
            known = np.where(bad, KNOWN, np.uint8(0))
            return Pair(states[0] | known, states[1] | known)
        return pair

    def _found(self, kind: str, text: str, what: str, hint: str, cells: Cells, bad: Bool, missing: U8) -> None:
        position = tuple(int(axis[0]) for axis in np.nonzero(bad))
        size = self._board.topology
        spot = cells.spot(position, self._shape, size.l2b_per_group, size.l1b_per_l2b)
        if spot.store.in_words and not spot.address & 1:
            lost = int(np.broadcast_to(missing, self._shape)[position]) & int(
                np.broadcast_to(cells.bits, self._shape)[position]
            )
            if lost and not lost & 12:
                spot = Spot(spot.store, spot.place, spot.address + 1)
        others = int(any_of(bad, 1).sum()) - 1
        self._report(Finding(f"uninitialised/{kind}", self._step.line, text, what, hint, spot, others))

    def _indices(self, places: Iterable[Source | Dest], effective: Bool, text: str) -> None:
        """T as an address."""
        if any(place.via_t for place in places):
            self._read(Source(Mem.T), (_INDEX_WORD, 0), effective, text)

    # --- items --------------------------------------------------------------------------------------------------

    def _compute(self, item: Compute, effective: Bool, latch_used: bool) -> list[Callable[[], None]]:
        line = self._step.line
        if item.unit is Unit.MWRITE:
            lws = int(item.kernel.name[-1])
            everywhere = np.broadcast_to(self._scope, self._shape)
            pair = self._read(item.sources[0], (15, 15 if lws == 2 else 0), everywhere, item.text)
            return [lambda: self._matrix.write(item, dataflow.transformed(pair, item.sources[0]))]
        if item.plane is not None and effective.any():
            self._matrix.check(item, line)
        if item.unit is Unit.MREAD:
            return self._outputs(self._matrix.read(item), item.dests, item.flush, Store.MREADF)
        family = family_of(item.kernel)
        width = 4 if latch_used else max((d.width for d in item.dests if d.mem is not Mem.NOWRITE), default=0)
        pairs = []
        for number, source in enumerate(item.sources):
            used = dataflow.used_bits(family, number, source, width)
            pairs.append(dataflow.transformed(self._read(source, used, effective, item.text), source))
        out = dataflow.result(family, pairs)
        if family.flow in (Flow.BLOCK, Flow.MATRIX):
            out = self._mixed(item, family, pairs[0], out, effective)
        return self._outputs(out, item.dests, item.flush, _LATCH_OF[item.unit])

    def _mixed(self, item: Compute, family: Family, first: Pair, out: Pair, effective: Bool) -> Pair:
        """The four PEs of a block: some defined, some not."""
        used = 12 if family.first_word else 15
        known = ~undefined(first.lw0, used)
        if family.wide and family.flow is Flow.BLOCK:
            known = known & ~undefined(first.lw1, 15)
        bad = known & ~known.all(axis=2, keepdims=True) & effective
        if not bad.any():
            return out
        l1, c, _, m = (int(axis[0]) for axis in np.nonzero(np.broadcast_to(bad, self._shape)))
        p = int(np.flatnonzero(~np.broadcast_to(known, self._shape)[l1, c, :, m])[0])
        what = "shares a block with {spot}, which was never defined"
        hint = "give all four PEs of the MAB a value"
        spot = self._spot_of(item.sources[0])((l1, c, p, m))
        self._report(Finding("uninitialised/mixed", self._step.line, item.text, what, hint, spot))
        fix = np.where(bad, KNOWN, np.uint8(0))
        return Pair(out.lw0 | fix, out.lw1 | fix)

    def _spot_of(self, source: Source) -> SpotOf:
        """Names what a PE reads in a lane."""
        cells = source_cells(source, self._board, self._stale)[0]
        size = self._board.topology
        return lambda lane: cells.spot(lane, self._shape, size.l2b_per_group, size.l1b_per_l2b)

    def _store(self, item: PeStore) -> list[Callable[[], None]]:
        takes_part = np.zeros(16, np.bool_)
        takes_part[list(l1_writers(item.map))] = True
        effective = np.broadcast_to(self._scope & takes_part, self._shape)
        wide = item.map.lws == 2 or item.last in NARROWING
        used = dataflow.used_bits(Family(Flow.COPY, 64), 0, item.source, 4 if wide else 2)
        pair = dataflow.transformed(self._read(item.source, used, effective, item.text), item.source)
        return self._banks.store(item, pair, self._step.line, self._spot_of(item.source), hold=self._step.hold)

    # --- destinations -------------------------------------------------------------------------------------------

    def _outputs(
        self, pair: Pair, dests: Iterable[Dest], flush: MaskRef | None, latch: Store
    ) -> list[Callable[[], None]]:
        states = [np.broadcast_to(state, self._shape) for state in (pair.lw0, pair.lw1)]
        if flush is not None:
            for lw in range(2):
                cleared = ~written_bits(flush, self._board, lw) & 15
                states[lw] = states[lw] | (cleared | cleared << 4).astype(np.uint8)
        writes: list[Callable[[], None]] = []
        for dest in dests:
            for cells in dest_cells(dest, self._board, self._stale):
                if cells.store in (Store.MASK, Store.BAR0, Store.BAR1):
                    continue
                writes.append(self._writer(cells, states[cells.lw], dest.width == 1 and dest.mem in MEMORY))
        if not self._step.hold:
            writes.append(lambda: self._fill_latch(latch, states))
        return writes

    def _fill_latch(self, latch: Store, states: list[U8]) -> None:
        for lw in range(2):
            self._shadow[latch][:, lw] = states[lw]

    def _writer(self, cells: Cells, states: U8, word: bool) -> Callable[[], None]:
        bits = np.broadcast_to(cells.bits, self._shape)
        if word:
            states = np.where(bits & 12, states, WORD_TO_ODD[states])
        keep = (bits | bits << 4).astype(np.uint8)
        # what a masked write leaves alone keeps its state; what it writes counts as written even if undefined
        new = (states | bits << 4).astype(np.uint8) & keep
        array = self._shadow[cells.store]

        def write() -> None:
            if cells.store is Store.T:
                array[cells.index] = array[cells.index] & ~keep | new
                return
            for c in range(4):
                index: Any = tuple(_cycle(part, c) for part in cells.index)
                array[index] = array[index] & ~keep[:, c] | new[:, c]

        return write


def _cycle(part: object, c: int) -> object:
    """One cycle of an index of lanes."""
    if not isinstance(part, np.ndarray):
        return part
    if part.ndim == 1:
        return int(part[c])
    return part[:, c] if part.shape[1] == 4 else part[:, 0]
