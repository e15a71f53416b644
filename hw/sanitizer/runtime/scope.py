"""Which PEs a run is about: those that were given something, or all of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from hw.lockstep.stores import PE_MEMORIES, Store
from hw.sanitizer.runtime.area import Area
from hw.sanitizer.runtime.shadow import Shadow
from hw.sanitizer.runtime.states import any_of
from hw.state.board import Board

Lanes = NDArray[np.bool_]
_PLACED = (*PE_MEMORIES, Store.T, Store.L1BM, Store.L2BM)


def find_scope(board: Board, shadow: Shadow, areas: Iterable[Area], *, whole_chip: bool) -> Lanes:
    """PEs whose reads count, bool [l1][1][p][m].

    Many programs load the memories of a few PEs and let the others run along with nothing in them.  So where anything
    on the chip was loaded (by `d set`, by the caller, or found on the board), only PEs at those places count; where
    nothing was, or with `whole_chip`, all do.
    """
    size = board.topology
    scope = np.zeros((size.groups, size.l2b_per_group, size.l1b_per_l2b, size.pes, size.mabs), np.bool_)
    if not whole_chip:
        for area in areas:
            if area.store in _PLACED:
                n, c, b, m, p = (*area.full_place(), None, None, None)[:5]
                scope[tuple(slice(None) if at is None else at for at in (n, c, b, p, m))] = True
        flat = scope.reshape(size.l1bs, size.pes, size.mabs)
        for store in PE_MEMORIES:
            flat |= any_of(shadow[store] != 0, 1)
        flat |= any_of(shadow[Store.T] != 0, 1, 2)
        flat |= any_of(shadow[Store.L1BM] != 0, 1)[:, None, None]
        flat |= any_of(shadow[Store.L2BM] != 0, 1).repeat(size.l1b_per_l2b)[:, None, None]
    if not scope.any():
        scope[:] = True
    return scope.reshape(size.l1bs, 1, size.pes, size.mabs)
