"""Addresses that leave their memory and wrap, or are cut to the access width, with the values of the run."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hw.lockstep.cells import Spot
from hw.lockstep.operands import MEMORY, Lanes, lanes, mask_bits, words_of
from hw.lockstep.regions import dar_drain, l1_offsets, l2_regions, mv_regions
from hw.lockstep.stores import Store
from hw.lockstep.touch import size_of
from hw.program import Dest, Item, L2Kind, L2Move, Mv, MvPlace, PeLoad, PeStore, Source, Step
from hw.sanitizer.runtime.finding import Finding
from hw.sanitizer.runtime.operands import operands_of
from hw.sanitizer.runtime.registers import Registers
from hw.sanitizer.runtime.states import any_of
from hw.state.board import Board

Bool = NDArray[np.bool_]
_T_WRAP = 1 << 32
_BLOCK = 16


class Addresses:
    """Checks lines of one run.  scope: PEs that count, bool [l1][1][p][m]."""

    def __init__(
        self, board: Board, scope: Bool, report: Callable[[Finding], None], registers: Registers
    ) -> None:
        self._board, self._scope, self._report, self._registers = board, scope, report, registers
        self._words = {mem: words_of(board, mem) for mem in MEMORY}
        self._size = board.topology

    def step(self, step: Step, *, stale_t: bool) -> None:
        """A PE line, before it runs."""
        for item in step.items:
            for place in operands_of(item):
                self._operand(place, item, step.line, stale_t)
            self._banks(item, step.line)

    def mv(self, mv: Mv) -> None:
        """An MV line, before it issues."""
        for region in mv_regions(mv, self._board):
            size = size_of(region.store, self._board)
            if region.store is not Store.DRAM and len(region.addresses) and region.addresses[-1] >= size:
                self._past_end(mv.line, mv.text, region.store, int(region.addresses[-1]), size)
            elif region.store is Store.DRAM:
                self._dram(mv, mv.dst if region.write else mv.src, region.addresses, size)

    def _dram(self, mv: Mv, place: MvPlace, addresses: NDArray[np.int64], size: int) -> None:
        if not place.indirect:
            if len(addresses) and addresses[-1] >= size:
                self._past_end(mv.line, mv.text, Store.DRAM, int(addresses[-1]), size)
            return
        uses = mv.nd or 1
        for n in range(self._size.groups) if place.group is None else (place.group,):
            entries = np.arange(place.addr, place.addr + max(1, len(addresses) // _BLOCK // uses)) % self._size.dar
            ends = (self._board.dar[n, entries].astype(np.int64) + uses) * _BLOCK
            if (ends > size).any():
                at = int(entries[np.argmax(ends > size)])
                what = f"goes through {{spot}}, which names a block behind the end of the DRAM ({size} long words)"
                hint = "entries hold the DRAM address divided by 16"
                self._report(Finding("address/dar", mv.line, mv.text, what, hint, Spot(Store.DAR, (n,), at)))
                return

    def _past_end(self, line: int, text: str, store: Store, last: int, size: int) -> None:
        what = f"reaches {store.label} address {last}, but the memory ends at {size - 1}: it goes on at 0"
        self._report(Finding("address/wrap", line, text, what, "split the access or choose another start address"))

    # --- PE operands --------------------------------------------------------------------------------------------

    def _operand(self, place: Source | Dest, item: Item, line: int, stale_t: bool) -> None:
        if place.mem not in MEMORY or self._inside(place, item.text):
            return
        found = lanes(place, self._board, stale_t)
        outside = _outside(found)
        cut = found.raw % place.width != 0
        strides = _stride_wraps(place, found.size, item.text)
        if not (outside.any() or cut.any() or strides):
            return
        counts = self._scope
        if isinstance(place, Dest):
            counts = counts & (mask_bits(place.mask, self._board) != 0)
        shape = (self._size.l1bs, 4, 4, 16)
        for rule, bad, why in (
            ("wrap", outside, f"but the memory ends at {found.size - 1}: it goes on at 0"),
            ("misaligned", cut, f"which is no multiple of the access width {place.width}: it is cut down"),
        ):
            bad = np.broadcast_to(bad & counts, shape)
            if bad.any():
                self._found(place, item, line, rule, bad, found, why)
                return
        wraps = np.array([False, *(place.addr[c] < place.addr[c - 1] for c in (1, 2, 3))]).reshape(1, 4, 1, 1)
        if strides and (counts & wraps).any():
            self._walked(place, item, line, np.broadcast_to(counts & wraps, shape), found.size)

    def _inside(self, place: Source | Dest, text: str) -> bool:
        """Do the addresses of the program show that nothing can be wrong?"""
        size, width = self._words[place.mem], place.width
        return (
            self._registers.fixed(place)
            and all(a < size and not a % width for a in place.addr)
            and not _stride_wraps(place, size, text)
        )

    def _walked(self, place: Source | Dest, item: Item, line: int, bad: Bool, size: int) -> None:
        """A stride passes the end."""
        l1, c, p, m = (int(axis[0]) for axis in np.nonzero(bad))
        spot = Spot(MEMORY[place.mem], (*self._l1b(l1), m, p), place.addr[c])
        what = f"walks past the end ({size} words) and goes on at 0: in cycle {c} it touches {{spot}}"
        hint = "choose a smaller start or stride"
        self._report(Finding("address/wrap", line, item.text, what, hint, spot, int(any_of(bad, 1).sum()) - 1))

    def _l1b(self, l1: int) -> tuple[int, int, int]:
        q, b = divmod(l1, self._size.l1b_per_l2b)
        return (*divmod(q, self._size.l2b_per_group), b)

    def _found(self, place: Source | Dest, item: Item, line: int, rule: str, bad: Bool, found: Lanes, why: str) -> None:
        l1, c, p, m = (int(axis[0]) for axis in np.nonzero(bad))
        where = (*self._l1b(l1), m, p)
        raw = int(np.broadcast_to(found.raw, bad.shape)[l1, c, p, m])
        parts = [f"{place.addr[c]}"]
        if found.index is not None:
            parts.append(f"T {int(found.index[l1, c, p, m])}")
        if place.j is not None and p <= place.j:
            parts.append(f"j {place.width}")
        rest = raw - place.addr[c] - (int(found.index[l1, c, p, m]) if found.index is not None else 0)
        rest -= place.width if place.j is not None and p <= place.j else 0
        if rest:
            parts.append(f"base address {rest}")
        touched = int(np.broadcast_to(found.address, bad.shape)[l1, c, p, m])
        verb = "writes" if isinstance(place, Dest) else "reads"
        what = f"{verb} word {raw} ({' + '.join(parts)}) in cycle {c}, {why}, to {{spot}}"
        hint = "check the address that the program computes"
        spot, others = Spot(MEMORY[place.mem], where, touched), int(any_of(bad, 1).sum()) - 1
        self._report(Finding(f"address/{rule}", line, item.text, what, hint, spot, others))

    # --- L1BM and L2BM ------------------------------------------------------------------------------------------

    def _banks(self, item: Item, line: int) -> None:
        if isinstance(item, PeLoad | PeStore) and item.addr is not None:
            last = item.addr + int(l1_offsets(item.map).max())
            if last >= self._size.l1bm:
                self._past_end(line, item.text, Store.L1BM, last, self._size.l1bm)
        elif isinstance(item, L2Move) and item.kind is L2Kind.DARW:
            last = max(int(dar_drain(self._board, n)[-1]) for n in range(self._size.groups))
            if last >= self._size.dar:
                self._past_end(line, item.text, Store.DAR, last, self._size.dar)
        elif isinstance(item, L2Move) and item.kind is not L2Kind.DARS:
            for region in l2_regions(item, self._size):
                size = size_of(region.store, self._board)
                if len(region.addresses) and region.addresses[-1] >= size:
                    self._past_end(line, item.text, region.store, int(region.addresses[-1]), size)


def _outside(found: Lanes) -> Bool:
    """Addresses that wrap.  An index in T may be a negative number: then the sum counts (isa.md 3.5 adds it modulo)."""
    outside = found.raw >= found.size
    if found.index is not None:
        negative = found.index >= _T_WRAP >> 1
        signed = np.where(negative, found.raw - _T_WRAP, found.raw)
        outside = (signed < 0) | (signed >= found.size)
    return outside


def _stride_wraps(place: Source | Dest, size: int, text: str) -> bool:
    """Does an operand with `v` pass the end?  Its addresses are stored wrapped; a list may go anywhere."""
    steps = {(after - before) % size for before, after in zip(place.addr, place.addr[1:], strict=False)}
    if len(steps) != 1:
        return False
    step = steps.pop()
    if f"[{','.join(map(str, place.addr))}]" in text:
        return False
    return 0 < step <= size // 2 and place.addr[0] + 3 * step >= size
