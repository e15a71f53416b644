"""States follow the data of an MV: the transfer of the value engine, run on states instead of values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hw.engine.dar import indirect_blocks
from hw.engine.moves import Transfer
from hw.kernels.abi import Kernel
from hw.lockstep.cells import Spot
from hw.lockstep.regions import BLOCK
from hw.lockstep.stores import Store
from hw.program import Mv, MvForm, MvPlace, Space
from hw.sanitizer.runtime.finding import Finding
from hw.sanitizer.runtime.shadow import Shadow
from hw.sanitizer.runtime.states import KNOWN, WHOLE, undefined
from hw.state.board import Board

U8 = NDArray[np.uint8]
_MARK = np.uint8(0xF0)
_STORES = {Space.PDM: Store.PDM, Space.DRAM: Store.DRAM, Space.L2BM: Store.L2BM}
_REDUCTIONS = (MvForm.R_PDM, MvForm.R_DRAM, MvForm.R2, MvForm.R4)


class StateTransfer(Transfer):
    """One MV.  Findings: nothing defined in the source, a reduction that mixes, a DAR entry nothing has written."""

    def __init__(self, mv: Mv, board: Board, shadow: Shadow, report: Callable[[Finding], None]) -> None:
        super().__init__(mv, board)
        self._shadow, self._report = shadow, report
        self._read_any = self._read_defined = False
        self._first: Spot | None = None

    def run(self) -> None:
        """Move the states, with findings."""
        self._check_dar(self.mv.src)
        self._check_dar(self.mv.dst)
        super().run()

    def _found(self, kind: str, what: str, hint: str, spot: Spot, others: int = 0) -> None:
        self._report(Finding(f"uninitialised/{kind}", self.mv.line, self.mv.text, what, hint, spot, others))

    def _check_dar(self, place: MvPlace) -> None:
        if not place.indirect:
            return
        dar = self._shadow[Store.DAR]
        groups = range(self.groups) if place.group is None else (place.group,)
        bad = [n for n in groups if not dar[n, place.addr % dar.shape[1]] & 15]
        if bad:
            what = "goes through {spot}, which nothing has written"
            spot = Spot(Store.DAR, (bad[0],), place.addr)
            self._found("read", what, "fill it with `l2bmdars` and `l2bmdarw`", spot, len(bad) - 1)

    # --- the ends of a transfer, on states ----------------------------------------------------------------------

    def _addresses(self, place: MvPlace, group: int, count: int, size: int) -> NDArray[np.int64]:
        if place.indirect:
            blocks = indirect_blocks(self.board, group, place.addr, count // BLOCK, self.mv.nd)
            return (blocks[:, None] * BLOCK + np.arange(BLOCK)).reshape(-1)
        return np.arange(place.addr, place.addr + count) % size

    def read(self, place: MvPlace, group: int, count: int) -> U8:  # type: ignore[override]
        """States of one memory."""
        if place.space is Space.L2BM:
            q = group * self.banks + (place.bank or 0)
            states = self._shadow[Store.L2BM][q]
            return self._checked(states[self._addresses(place, group, count, len(states))], place, group)
        store = _STORES[place.space]
        size = self.board.topology.dram if store is Store.DRAM else self.board.topology.pdm
        states = self._shadow.discover(store, group, self._addresses(place, group, count, size))
        return self._checked(states, place, group)

    def _checked(self, states: U8, place: MvPlace, group: int) -> U8:
        """Note what was read; the finding comes with the first write, when all sources have been read."""
        store = _STORES[place.space]
        where = (group, place.bank or 0) if store is Store.L2BM else (group,)
        self._first = self._first or Spot(store, where, 0 if place.indirect else place.addr)
        self._read_any = self._read_any or states.size > 0
        self._read_defined = self._read_defined or bool((states & 15).any())
        return states

    def _complete(self, states: U8) -> U8:
        """States as they are written."""
        if self._read_any and not self._read_defined and self._first is not None:
            what = "moves from {spot} on, where nothing is defined"
            self._found("nothing", what, "write it first, or declare it as loaded", self._first)
            self._read_any = False
        if not self._read_defined:
            return np.full_like(states, KNOWN)
        return states | _MARK

    def write(self, place: MvPlace, group: int, data: U8) -> None:  # type: ignore[override]
        """States into one memory."""
        data = self._complete(data)
        if place.space is Space.L2BM:
            states = self._shadow[Store.L2BM][group * self.banks + (place.bank or 0)]
        elif place.space is Space.DRAM:
            states = self._shadow.dram[group]
        else:
            states = self._shadow[Store.PDM][group]
        states[self._addresses(place, group, len(data), len(states))] = data

    def read_l2bms(self, count: int) -> U8:  # type: ignore[override]
        """States of every L2BM, [q][count]."""
        shadow = self._shadow[Store.L2BM]
        states = shadow[:, np.arange(self.mv.src.addr, self.mv.src.addr + count) % shadow.shape[1]]
        if self.mv.form in _REDUCTIONS:
            states = self._without_mixing(states)
        return self._checked(states, self.mv.src, 0)

    def write_l2bms(self, data: U8) -> None:  # type: ignore[override]
        """States [q][count] or, for all alike, [count]."""
        data = self._complete(data)
        shadow = self._shadow[Store.L2BM]
        shadow[:, np.arange(self.mv.dst.addr, self.mv.dst.addr + data.shape[-1]) % shadow.shape[1]] = data

    # --- reductions ---------------------------------------------------------------------------------------------

    def _without_mixing(self, states: U8) -> U8:
        """A finding where some inputs of a circuit are defined and some are not; they count as defined from then on."""
        by_place = states.reshape(self.groups, self.banks, -1)
        axes = {MvForm.R2: (1,), MvForm.R4: (0,)}.get(self.mv.form, (0, 1))
        known = ~undefined(by_place, 15)
        mixed = known.any(axis=axes, keepdims=True) & ~known.all(axis=axes, keepdims=True)
        if not mixed.any():
            return states
        bad = mixed & ~known
        n, bank, at = (int(axis[0]) for axis in np.nonzero(bad))
        what = "reduces defined values together with {spot}, which was never defined"
        hint = "give every input of the reduction a value"
        spot = Spot(Store.L2BM, (n, bank), self.mv.src.addr + at)
        self._found("mixed", what, hint, spot, int(bad.any(axis=2).sum()) - 1)
        return np.where(bad, KNOWN, by_place).reshape(states.shape)

    def _circuit(self, kernel: Kernel | None, inputs: U8) -> U8:  # type: ignore[override]
        return np.bitwise_and.reduce(WHOLE[64][inputs], axis=0)
