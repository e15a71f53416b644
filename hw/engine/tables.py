"""Index tables of L1BM and L2BM maps, kernel numbers and kernel parameters of one lowered program.

A map's functions are called once per long word here; equal maps share their tables.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hw.kernels.abi import Kernel
from hw.program import L1Map, L2Map, PeStore

CYCLES, PES, MABS = 4, 4, 16
_PARAMETERS = 8  # int64 per kernel call; the last one comes back as error code
REDUCTION_INPUTS = 4
TURN_LWS = 256
MOST_PER_L1B = 64  # long words of an L1B in one L2BM item


@dataclass(frozen=True, slots=True)
class StoreTable:
    """Offsets into the pool: which lanes go where.  `turn` is -1 when the turnaround register keeps its content."""

    count: int
    lanes: int
    offsets: int
    turn: int


@dataclass(frozen=True, slots=True)
class L2Table:
    """Offsets into the pool: `lc` [L1B][count], `lb` [count]."""

    count: int
    lc: int
    lb: int


class Pool:
    """Collects the int64 tables, parameter rows and kernels that ops refer to by number."""

    def __init__(self) -> None:
        self._tables: list[int] = []
        self._known: dict[Hashable, object] = {}
        self._parameters: list[int] = [0] * _PARAMETERS
        self._rows: dict[tuple[int, ...], int] = {(): 0}
        self.kernels: dict[Kernel, int] = {}

    def table(self, values: Sequence[int]) -> int:
        """Store a table; its offset."""
        key = tuple(values)
        offset = self._known.get(key)
        if offset is None:
            offset = len(self._tables)
            self._tables.extend(key)
            self._known[key] = offset
        assert isinstance(offset, int)
        return offset

    def values(self, offset: int, count: int) -> Sequence[int]:
        """Part of the tables."""
        return self._tables[offset : offset + count]

    def kernel(self, kernel: Kernel) -> int:
        """The number of a kernel."""
        return self.kernels.setdefault(kernel, len(self.kernels))

    def parameters(self, values: tuple[int, ...]) -> int:
        """Offset of the parameter row (at most seven values)."""
        if len(values) >= _PARAMETERS:
            raise ValueError(f"a kernel has at most {_PARAMETERS - 1} parameters, {len(values)} were given")
        offset = self._rows.get(values)
        if offset is None:
            offset = self._rows[values] = len(self._parameters)
            self._parameters.extend((*values, *[0] * (_PARAMETERS - len(values))))
        return offset

    def load(self, layout: L1Map) -> int:
        """Table of an L1BM->PE move, [w][c][p][m]."""
        key = ("load", layout)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self.table(
                [
                    layout.offset(c, w, m, p)
                    for w in range(layout.lws)
                    for c in range(CYCLES)
                    for p in range(PES)
                    for m in range(MABS)
                ]
            )
        assert isinstance(found, int)
        return found

    def broadcast(self, layout: L1Map) -> int | None:
        """Table [w][c][p] of an L1BM->PE move that gives all MABs the same; None for other moves."""
        key = ("broadcast", layout)
        if key not in self._known:
            offsets = [
                [layout.offset(c, w, m, p) for m in range(MABS)]
                for w in range(layout.lws)
                for c in range(CYCLES)
                for p in range(PES)
            ]
            same = all(len(set(row)) == 1 for row in offsets)
            self._known[key] = self.table([row[0] for row in offsets]) if same else None
        found = self._known[key]
        assert found is None or isinstance(found, int)
        return found

    def rows(self, operands: Iterable[tuple[int, Sequence[tuple[int, int]]]]) -> tuple[int, int]:
        """Row table entries (slot, buffer, byte offset) of (first slot, rows) operands: offset and number."""
        entries = [(first + k, *place) for first, rows in operands for k, place in enumerate(rows)]
        return self.table([x for entry in entries for x in entry]), len(entries)

    def store(self, item: PeStore, hold: bool) -> StoreTable:
        """Table of a PE->L1BM move; with `hold` the turnaround register is left alone."""
        key = ("store", item.map, item.turn_map, hold)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._make_store(item.map, item.turn_map or item.map, hold)
        assert isinstance(found, StoreTable)
        return found

    def _make_store(self, layout: L1Map, turn: L1Map, hold: bool) -> StoreTable:
        lanes: list[int] = []
        offsets: list[int] = []
        image: list[int] = []
        step = REDUCTION_INPUTS**layout.stages  # one MAB stands for this many
        for c in range(CYCLES):
            for w in range(layout.lws):
                for m in range(0, MABS, step):
                    if layout.writes(m):
                        for p in range(PES):
                            lanes.append(_lane(layout.stages, c, w, m, p))
                            offsets.append(layout.offset(c, w, m, p))
                            image.append(turn.offset(c, w, m, p))
        if any(not 0 <= place < TURN_LWS for place in image):
            raise ValueError(f"{turn.name} leaves the {TURN_LWS} long words of the turnaround register")
        count = len(lanes)
        return StoreTable(count, self.table(lanes), self.table(offsets), -1 if hold else self.table(image))

    def l2(self, layout: L2Map, l1bs: int) -> L2Table:
        """Tables of an L2BM move, elements in the order [c][k]."""
        key = ("l2", layout, l1bs)
        found = self._known.get(key)
        if found is None:
            pairs = [(c, k) for c in range(CYCLES) for k in range(layout.width)]
            if len(pairs) > MOST_PER_L1B:
                raise ValueError(
                    f"{layout.name} moves {len(pairs)} long words of an L1B; expected at most {MOST_PER_L1B}"
                )
            lc = self.table([layout.lc(b, c, k) for b in range(l1bs) for c, k in pairs])
            found = self._known[key] = L2Table(len(pairs), lc, self.table([layout.lb(c, k) for c, k in pairs]))
        assert isinstance(found, L2Table)
        return found

    def circuits(self, layout: L2Map, l1bs: int) -> tuple[int, int]:
        """Offset and number of the circuits of a reduction: L1Bs with the same L2BM offset are inputs of one."""
        groups: dict[int, list[int]] = {}
        for b in range(l1bs):
            groups.setdefault(layout.lc(b, 0, 0), []).append(b)
        return self.table([x for group in groups.values() for x in (len(group), *group)]), len(groups)

    def table_array(self) -> NDArray[np.int64]:
        """All tables."""
        return np.array(self._tables or [0], np.int64)

    def parameter_array(self) -> NDArray[np.int64]:
        """All parameter rows; row 0 is zero."""
        return np.array(self._parameters, np.int64)


def _lane(stages: int, c: int, w: int, m: int, p: int) -> int:
    """Where the value of PE (m, p) lies: in the source tile, or in the output of `hw.engine.exchange.reduce_pes`."""
    if stages == 0:
        return w * 256 + c * 64 + p * 16 + m
    if stages == 1:
        return w * 64 + (m >> 2) * 16 + c * 4 + p
    return w * 16 + c * 4 + p
