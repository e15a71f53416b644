"""States of L1BM, L2BM, turnaround register and DAR buffer: L1BM and L2BM items move them as they move the data."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hw.kernels.rrn import RRN_NARROW
from hw.lockstep.cells import Spot
from hw.lockstep.regions import DARS_LWS, dar_drain, l1_offsets, l1_writers, l2_offsets
from hw.lockstep.stores import Store
from hw.lockstep.touch import TURN_LWS
from hw.program import L1Map, L2Kind, L2Move, PeLoad, PeStore
from hw.sanitizer.runtime.dataflow import KNOWN_PAIR, Pair
from hw.sanitizer.runtime.finding import Finding
from hw.sanitizer.runtime.shadow import Shadow
from hw.sanitizer.runtime.states import KNOWN, WHOLE, any_of, undefined
from hw.state.board import Board

U8 = NDArray[np.uint8]
Bool = NDArray[np.bool_]
Write = Callable[[], None]
SpotOf = Callable[[tuple[int, int, int, int]], Spot]
NARROWING = frozenset(RRN_NARROW.values())
_MARK = np.uint8(0xF0)
_CHECK_MOVE = "check what was moved there, or declare it as loaded"


class Banks:
    """Items of the L1BM and L2BM units.  `scope`: PEs that count, bool [l1][1][p][m]."""

    def __init__(self, board: Board, shadow: Shadow, scope: Bool, report: Callable[[Finding], None]) -> None:
        self._shadow, self._report = shadow, report
        self._board, self._size = board, board.topology
        self._l1bs = any_of(scope, 1, 2, 3)

    # --- findings -----------------------------------------------------------------------------------------------

    def _l1_spot(self, store: Store, l1: int, address: int) -> Spot:
        q, b = divmod(l1, self._size.l1b_per_l2b)
        return Spot(store, (*divmod(q, self._size.l2b_per_group), b), address)

    def _nothing(self, line: int, text: str, spot: Spot, others: int) -> None:
        what = "moves from {spot} on, where nothing is defined"
        self._report(Finding("uninitialised/nothing", line, text, what, _CHECK_MOVE, spot, others))

    def _mixed(self, line: int, text: str, spot: Spot, others: int) -> None:
        what = "reduces defined values together with {spot}, which was never defined"
        hint = "give every input of the reduction a value"
        self._report(Finding("uninitialised/mixed", line, text, what, hint, spot, others))

    # --- L1BM ---------------------------------------------------------------------------------------------------

    def load(self, item: PeLoad, line: int, wanted: Bool) -> Pair:
        """L1BM->PE; `wanted` [l1]: L1Bs in which something becomes of it."""
        store, size = (Store.TURN, TURN_LWS) if item.addr is None else (Store.L1BM, self._size.l1bm)
        addresses = ((item.addr or 0) + l1_offsets(item.map)) % size
        states = self._shadow[store][:, addresses]  # [l1][lw][c][p][m]
        wanted = wanted & self._l1bs
        if wanted.any() and not (states[wanted] & 15).any():
            first = int(np.flatnonzero(wanted)[0])
            self._nothing(line, item.text, self._l1_spot(store, first, int(addresses.min())), int(wanted.sum()) - 1)
            states = np.full_like(states, KNOWN)
        return Pair(states[:, 0], states[:, 1] if item.map.lws == 2 else KNOWN_PAIR.lw1)

    def store(self, item: PeStore, pair: Pair, line: int, spot_of: SpotOf, *, hold: bool) -> list[Write]:
        """PE->L1BM and turnaround register; spot_of: what a PE reads in a lane."""
        shape = (self._size.l1bs, 4, 4, 16)
        lanes = [np.broadcast_to(state, shape) for state in (pair.lw0, pair.lw1)]
        if item.map.stages:
            image = self._reduced(item, lanes, line, spot_of)
        else:
            image = np.stack(lanes[: item.map.lws], axis=1)  # [l1][lw][c][p][m]
        writes: list[Write] = []
        if item.addr is not None:
            writes.append(self._place(Store.L1BM, item.map, item.addr, image, self._size.l1bm))
        if not hold:
            writes.append(self._place(Store.TURN, item.turn_map or item.map, 0, image, TURN_LWS))
        return writes

    def _place(self, store: Store, layout: L1Map, start: int, image: U8, size: int) -> Write:
        writers = list(l1_writers(layout))
        addresses = (start + l1_offsets(layout)[..., writers]) % size
        array = self._shadow[store]

        def write() -> None:
            array[:, addresses] = image[..., writers] | _MARK

        return write

    def _reduced(self, item: PeStore, lanes: list[U8], line: int, spot_of: SpotOf) -> U8:
        """All inputs of a circuit must be known; the result is a long word that is or is not."""
        both = item.map.lws == 2 or item.last in NARROWING
        state = WHOLE[64][lanes[0] & lanes[1]] if both else WHOLE[64][lanes[0]]
        known = ~undefined(state, 15)
        per_circuit = 4**item.map.stages
        grouped = known.reshape(*known.shape[:3], -1, per_circuit)  # [l1][c][p][circuit][input]
        mixed = grouped.any(axis=-1) & ~grouped.all(axis=-1) & self._l1bs[:, None, None, None]
        result = np.bitwise_and.reduce(state.reshape(grouped.shape), axis=-1)
        if mixed.any():
            l1, c, p, circuit = (int(axis[0]) for axis in np.nonzero(mixed))
            m = circuit * per_circuit + int(np.flatnonzero(~grouped[l1, c, p, circuit])[0])
            self._mixed(line, item.text, spot_of((l1, c, p, m)), int(any_of(mixed, 1, 2, 3).sum()) - 1)
            result = np.where(mixed, KNOWN, result)
        return np.repeat(result, per_circuit, axis=-1)[:, None].repeat(item.map.lws, axis=1)

    # --- L2BM ---------------------------------------------------------------------------------------------------

    def l2(self, item: L2Move, line: int) -> list[Write]:
        """All L2BM items."""
        if item.kind is L2Kind.DARS:
            return self._dars(item, line)
        if item.kind is L2Kind.DARW:
            return [self._darw]
        assert item.map is not None, "an L2BM transfer without a map"
        size = self._size
        lc, lb = l2_offsets(item.map, size.l1b_per_l2b)
        lc, lb = (item.lc + lc) % size.l2bm, (item.lb + lb) % size.l1bm
        if item.kind is L2Kind.INNER:
            return self._inner(item, lb, line)
        if item.kind is L2Kind.DOWN:
            return self._down(item, lc, lb, line)
        return self._up(item, lc, lb, line)

    def _by_l2b(self) -> U8:
        """L1BM states [q][b][a]."""
        return self._shadow[Store.L1BM].reshape(self._size.l2bs, self._size.l1b_per_l2b, -1)

    def _wanted(self) -> Bool:
        """L2Bs with a PE that counts."""
        return any_of(self._l1bs.reshape(self._size.l2bs, -1), 1)

    def _down(self, item: L2Move, lc: NDArray[np.int64], lb: NDArray[np.int64], line: int) -> list[Write]:
        members = list(item.members)
        states = self._shadow[Store.L2BM][:, lc[members]]  # [q][member][k]
        wanted = self._wanted()
        if members and wanted.any() and not (states[wanted] & 15).any():
            q = int(np.flatnonzero(wanted)[0])
            spot = Spot(Store.L2BM, divmod(q, self._size.l2b_per_group), item.lc)
            self._nothing(line, item.text, spot, int(wanted.sum()) - 1)
            states = np.full_like(states, KNOWN)
        target = self._by_l2b()

        def write() -> None:
            for n, b in enumerate(members):
                target[:, b, lb] = states[:, n] | _MARK

        return [write]

    def _up(self, item: L2Move, lc: NDArray[np.int64], lb: NDArray[np.int64], line: int) -> list[Write]:
        members = list(item.members)
        states = self._by_l2b()[:, members][..., lb]  # [q][member][k]
        wanted = self._wanted()
        if members and wanted.any() and not (states[wanted] & 15).any():
            l1 = int(np.flatnonzero(wanted)[0]) * self._size.l1b_per_l2b + members[0]
            self._nothing(line, item.text, self._l1_spot(Store.L1BM, l1, item.lb), int(wanted.sum()) * len(members) - 1)
            states = np.full_like(states, KNOWN)
        if item.kind is L2Kind.REDUCE:
            states = self._combine(item, states, lc, wanted, line)
        target = self._shadow[Store.L2BM]

        def write() -> None:
            for n, b in enumerate(members):
                target[:, lc[b]] = states[:, n] | _MARK

        return [write]

    def _combine(self, item: L2Move, states: U8, lc: NDArray[np.int64], wanted: Bool, line: int) -> U8:
        """Members that share an L2BM offset are inputs of one circuit."""
        found = WHOLE[64][states]
        for first in sorted({int(lc[b, 0]) for b in item.members}):
            inputs = [n for n, b in enumerate(item.members) if int(lc[b, 0]) == first]
            known = ~undefined(states[:, inputs], 15)  # [q][input][k]
            mixed = known.any(axis=1) & ~known.all(axis=1) & wanted[:, None]
            state = np.bitwise_and.reduce(found[:, inputs], axis=1)
            if mixed.any():
                q, k = (int(axis[0]) for axis in np.nonzero(mixed))
                b = item.members[inputs[int(np.flatnonzero(~known[q, :, k])[0])]]
                spot = self._l1_spot(Store.L1BM, q * self._size.l1b_per_l2b + b, item.lb + k)
                self._mixed(line, item.text, spot, int(mixed.any(axis=1).sum()) - 1)
                state = np.where(mixed, KNOWN, state)
            found[:, inputs] = state[:, None]
        return found

    def _inner(self, item: L2Move, lb: NDArray[np.int64], line: int) -> list[Write]:
        states = self._by_l2b()[..., lb].copy()
        to = (item.lb2 - item.lb + lb) % self._size.l1bm
        target = self._by_l2b()
        sources = sorted({source for source, _ in item.inner})
        wanted = self._wanted()
        if sources and wanted.any() and not (states[wanted][:, sources] & 15).any():
            l1 = int(np.flatnonzero(wanted)[0]) * self._size.l1b_per_l2b + sources[0]
            self._nothing(line, item.text, self._l1_spot(Store.L1BM, l1, item.lb), 0)

        def write() -> None:
            for source, b in item.inner:
                target[:, b, to] = states[:, source] | _MARK

        return [write]

    # --- DAR ----------------------------------------------------------------------------------------------------

    def _dars(self, item: L2Move, line: int) -> list[Write]:
        banks = slice(item.bank, None, self._size.l2b_per_group)
        addresses = np.arange(item.lc, item.lc + DARS_LWS) % self._size.l2bm
        states = self._shadow[Store.L2BM][banks][:, addresses]
        if self._l1bs.any() and not (states & 15).any():
            self._nothing(line, item.text, Spot(Store.L2BM, (0, item.bank), item.lc), self._size.groups - 1)
            states = np.full_like(states, KNOWN)
        buffer = self._shadow[Store.DARBUF]

        def write() -> None:
            buffer[:, 0::2] = np.where(states & 12 == 12, KNOWN, 0)
            buffer[:, 1::2] = np.where(states & 3 == 3, KNOWN, 0)

        return [write]

    def _darw(self) -> None:
        """Runs before the board changes, as everything here does."""
        board = self._board
        for n in range(self._size.groups):
            position = int(board.dar_position[n]) + np.arange(4)
            states = self._shadow[Store.DARBUF][n, position % self._size.darbuf_words]
            self._shadow[Store.DAR][n, dar_drain(board, n) % self._size.dar] = states
