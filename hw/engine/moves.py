"""MV transfers: the 18 forms of isa.md 6.2 as numpy block moves (no Python loop over long words).

A transfer reads everything before it writes.  Addresses wrap at the end of a memory.  Words used below: *blocks* are 16
LW, the interleave of all forms between one memory and several.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hw.engine.dar import indirect_read, indirect_write
from hw.engine.errors import LoweringError
from hw.engine.reduce import run_circuit
from hw.kernels.abi import Kernel
from hw.program import Mv, MvForm, MvPlace, Space
from hw.state.board import Board
from hw.state.topology import Topology

U64 = NDArray[np.uint64]
BLOCK = 16
_UNIT = 64


def ring_read(memory: U64, start: int, count: int) -> U64:
    """`count` LW from address `start` on along the last axis, wrapping; a view where no wrap happens."""
    size = memory.shape[-1]
    start %= size
    if start + count <= size:
        return memory[..., start : start + count]
    return memory.take(np.arange(start, start + count), axis=-1, mode="wrap")


def ring_write(memory: U64, start: int, data: U64) -> None:
    """Store `data` (last axis: LW) from address `start` on, wrapping; the last LW written to an address stays."""
    size, done, count = memory.shape[-1], 0, data.shape[-1]
    while done < count:
        at = (start + done) % size
        part = min(size - at, count - done)
        memory[..., at : at + part] = data[..., done : done + part]
        done += part


class Transfer:
    """One MV line against one board."""

    def __init__(self, mv: Mv, board: Board) -> None:
        self.mv, self.board = mv, board
        self.groups = board.topology.groups
        self.banks = board.topology.l2b_per_group

    def run(self) -> None:
        """Move the data."""
        _FORMS[self.mv.form](self)

    # --- ends of a transfer -----------------------------------------------------------------------------------

    def _group(self, place: MvPlace) -> int:
        group = place.group
        if group is None:
            raise LoweringError(f"MV form {self.mv.form.name} needs a group", self.mv.line, self.mv.text)
        return group

    def read(self, place: MvPlace, group: int, count: int) -> U64:
        """`count` LW of one memory."""
        if place.space is Space.DRAM:
            if place.indirect:
                return indirect_read(self.board, group, place.addr, count, self.mv.nd)
            return ring_read(self.board.dram[group], place.addr, count)
        if place.space is Space.PDM:
            return ring_read(self.board.pdm[group], place.addr, count)
        return ring_read(self.board.l2bm[group * self.banks + (place.bank or 0)], place.addr, count)

    def write(self, place: MvPlace, group: int, data: U64) -> None:
        """Store into one memory."""
        if place.space is Space.DRAM:
            if place.indirect:
                indirect_write(self.board, group, place.addr, data, self.mv.nd)
            else:
                ring_write(self.board.dram[group], place.addr, data)
        elif place.space is Space.PDM:
            ring_write(self.board.pdm[group], place.addr, data)
        else:
            ring_write(self.board.l2bm[group * self.banks + (place.bank or 0)], place.addr, data)

    def read_l2bms(self, count: int) -> U64:
        """`count` LW of every L2BM, [q][count]."""
        return ring_read(self.board.l2bm, self.mv.src.addr, count)

    def write_l2bms(self, data: U64) -> None:
        """Store [q][count] or, for all alike, [count]."""
        ring_write(self.board.l2bm, self.mv.dst.addr, data)

    def read_drams(self, count: int) -> U64:
        """`count` LW of every DRAM, [n][count]."""
        return np.stack([self.read(self.mv.src, n, count) for n in range(self.groups)])

    # --- mvp --------------------------------------------------------------------------------------------------

    def copy(self) -> None:
        """Forms 1-5: one memory to one memory."""
        data = self.read(self.mv.src, self._group(self.mv.src), self.mv.size)
        if self.mv.form is MvForm.P_P:
            data = data.copy()
        self.write(self.mv.dst, self._group(self.mv.dst), data)

    def parallel(self) -> None:
        """Form 6: the same copy inside every group."""
        for n in range(self.groups):
            self.write(self.mv.dst, n, self.read(self.mv.src, n, self.mv.size))

    # --- mvb --------------------------------------------------------------------------------------------------

    def broadcast_pdm(self) -> None:
        """Form 7: a PDM to all L2BMs."""
        self.write_l2bms(self.read(self.mv.src, self._group(self.mv.src), self.mv.size))

    def broadcast_dram(self) -> None:
        """Form 8: blocks of the four DRAMs in turn to all L2BMs: 64i+16g+k <- DRAM_g 16i+k."""
        self.write_l2bms(_interleave(self.read_drams(self.mv.size // self.groups)))

    def broadcast_2(self) -> None:
        """Form 9: each DRAM to both L2BMs of its group."""
        self.write_l2bms(self.read_drams(self.mv.size).repeat(self.banks, axis=0))

    def broadcast_4(self) -> None:
        """Form 10: bank l of every group: 64i+16g+k <- DRAM_g 32i+16l+k."""
        drams = self.read_drams(self.mv.size // self.groups * self.banks)
        by_bank = drams.reshape(self.groups, -1, self.banks, BLOCK)
        banks = np.stack([_interleave(by_bank[:, :, bank].reshape(self.groups, -1)) for bank in range(self.banks)])
        self.write_l2bms(np.tile(banks, (self.groups, 1)))

    # --- mvr --------------------------------------------------------------------------------------------------

    def _circuit(self, kernel: Kernel | None, inputs: U64) -> U64:
        """Reduce axis 0 (inputs) of [inputs][...]."""
        if kernel is None:
            raise LoweringError(f"MV form {self.mv.form.name} needs a REDUCE kernel", self.mv.line, self.mv.text)
        flat = np.ascontiguousarray(inputs).reshape(len(inputs), -1)
        return run_circuit(kernel, flat).reshape(inputs.shape[1:])

    def _reduce_all(self) -> U64:
        """Over the L2BMs: stage 1 the banks of a group, stage 2 the groups (numerics.md 4.1)."""
        inputs = self.read_l2bms(self.mv.size).reshape(self.groups, self.banks, -1)
        partial = self._circuit(self.mv.first, inputs.swapaxes(0, 1))
        return self._circuit(self.mv.last or self.mv.first, partial)

    def reduce_to_pdm(self) -> None:
        """Form 11."""
        self.write(self.mv.dst, self._group(self.mv.dst), self._reduce_all())

    def reduce_to_dram(self) -> None:
        """Form 12: DRAM_g 16i+k <- 64i+16g+k."""
        for n, data in enumerate(_separate(self._reduce_all(), self.groups)):
            self.write(self.mv.dst, n, data)

    def reduce_2(self) -> None:
        """Form 13: over the banks, into the DRAM of each group."""
        inputs = self.read_l2bms(self.mv.size).reshape(self.groups, self.banks, -1)
        sums = self._circuit(self.mv.last or self.mv.first, inputs.swapaxes(0, 1))
        for n in range(self.groups):
            self.write(self.mv.dst, n, sums[n])

    def reduce_4(self) -> None:
        """Form 14: over the groups; DRAM_g 32i+16l+k <- bank l 64i+16g+k."""
        inputs = self.read_l2bms(self.mv.size).reshape(self.groups, self.banks, -1)
        sums = self._circuit(self.mv.last or self.mv.first, inputs)  # [bank][size]
        blocks = sums.reshape(self.banks, -1, self.groups, BLOCK).transpose(2, 1, 0, 3)
        for n in range(self.groups):
            self.write(self.mv.dst, n, blocks[n].reshape(-1))

    # --- mvd --------------------------------------------------------------------------------------------------

    def distribute_l2bm(self) -> None:
        """Form 15: L2BM(q) 16i+k <- PDM 128i+16q+k."""
        count = len(self.board.l2bm)
        data = self.read(self.mv.src, self._group(self.mv.src), self.mv.size * count)
        self.write_l2bms(_separate(data, count))

    def collect_l2bm(self) -> None:
        """Form 16: the reverse."""
        self.write(self.mv.dst, self._group(self.mv.dst), _interleave(self.read_l2bms(self.mv.size)))

    def distribute_dram(self) -> None:
        """Form 17: DRAM_h 16i+k <- PDM 64i+16h+k; the size counts LW of the PDM (isa.md 19.6)."""
        data = self.read(self.mv.src, self._group(self.mv.src), self.mv.size)
        for n, part in enumerate(_separate(data, self.groups)):
            self.write(self.mv.dst, n, part)

    def collect_dram(self) -> None:
        """Form 18: the reverse."""
        drams = self.read_drams(self.mv.size // self.groups)
        self.write(self.mv.dst, self._group(self.mv.dst), _interleave(drams))


def _interleave(parts: U64) -> U64:
    """[parts][n] -> [parts * n], taking blocks from the parts in turn."""
    return parts.reshape(len(parts), -1, BLOCK).swapaxes(0, 1).reshape(-1)


def _separate(data: U64, parts: int) -> U64:
    """The reverse of `_interleave`: [parts * n] -> [parts][n]."""
    return data.reshape(-1, parts, BLOCK).swapaxes(0, 1).reshape(parts, -1)


_FORMS: dict[MvForm, Callable[[Transfer], None]] = {
    MvForm.P_L: Transfer.copy,
    MvForm.L_P: Transfer.copy,
    MvForm.D_L: Transfer.copy,
    MvForm.P_D: Transfer.copy,
    MvForm.P_P: Transfer.copy,
    MvForm.PARALLEL: Transfer.parallel,
    MvForm.B_PDM: Transfer.broadcast_pdm,
    MvForm.B_DRAM: Transfer.broadcast_dram,
    MvForm.B2: Transfer.broadcast_2,
    MvForm.B4: Transfer.broadcast_4,
    MvForm.R_PDM: Transfer.reduce_to_pdm,
    MvForm.R_DRAM: Transfer.reduce_to_dram,
    MvForm.R2: Transfer.reduce_2,
    MvForm.R4: Transfer.reduce_4,
    MvForm.D_PDM_L: Transfer.distribute_l2bm,
    MvForm.D_L_PDM: Transfer.collect_l2bm,
    MvForm.D_PDM_DRAM: Transfer.distribute_dram,
    MvForm.D_DRAM_PDM: Transfer.collect_dram,
}


def check_mv(mv: Mv, size: Topology) -> None:
    """LoweringError for a size that is no multiple of 64 LW (isa.md 6.1) or a place that does not exist."""
    if mv.size % _UNIT or mv.size < 0:
        raise LoweringError(f"MV size {mv.size}; expected a multiple of {_UNIT}", mv.line, mv.text)
    for place in (mv.src, mv.dst):
        for name, index, count in (("group", place.group, size.groups), ("L2B", place.bank, size.l2b_per_group)):
            if index is not None and not 0 <= index < count:
                raise LoweringError(f"{name} {index} does not exist; expected 0..{count - 1}", mv.line, mv.text)
        if place.indirect and place.space is not Space.DRAM:
            raise LoweringError(f"{place.space.name} cannot be addressed through the DAR", mv.line, mv.text)
