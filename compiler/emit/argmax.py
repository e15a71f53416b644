"""ArgMax and ArgMin: the extreme element is spread to all places that hold candidates; each candidate that equals it
offers its index, and the smallest offer wins, as torch and ONNX want it.

Both joins are reductions as in `emit.fold`; the index is made from where a PE stands.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.emit.asm import Asm, cycle_mask, flat
from compiler.emit.fold import FoldJob, chunks, emit_above, emit_steps, fold_constants, inside, inside_mab
from compiler.emit.padding import emit_constant, emit_index

OWN_INDEX, DIGIT, CONSTANT = "$lr48", "$lr50", "$ls510"
OWN_INDEX_WORD = 508
SHIFT_16 = "$lr52"
MASK_ENTRY = 3


@dataclass(frozen=True)
class ArgJob:
    """best: the extreme, left in registers.  offers: the smallest index, in the other bank of registers.

    lm, addr: where the result goes.  tile_index: index of the first element of each tile; word_index: steps along the
    long word; terms: what the levels add, as in `emit.padding.AxisIndex`.
    """

    best: FoldJob
    offers: FoldJob
    lm: str
    addr: int
    tile_index: tuple[int, ...]
    word_index: tuple[int, ...]
    terms: tuple[tuple[str, int, int, int], ...]


def emit_arg(asm: Asm, job: ArgJob) -> None:
    """Integer index in every 32-bit word of the result long words."""
    best, offers = job.best, job.offers
    halves = best.lanes == 4
    fold_constants(asm, best)
    if halves:
        asm.op(f'imm i"16" {SHIFT_16}')
    _own_index(asm, job)
    for first, count in chunks(best):
        groups = range(-(-count // 4))
        for group in groups:
            emit_steps(asm, inside(best, first + 4 * group, group), best.register(group))
        if best.above:
            emit_above(asm, best, first, count)
        for group in groups:
            register = offers.register(group)
            _offers(asm, job, first + 4 * group, group)
            emit_steps(asm, inside_mab(offers, group), register)
        if offers.above:
            emit_above(asm, offers, first, count)
        for group in groups:
            register = offers.register(group)
            move = f"uilsr {register} {SHIFT_16}" if halves else f"lpassa {register}"
            target = f"$l{job.lm}{job.addr + 2 * (first + 4 * group)}v{cycle_mask(count - 4 * group)}"
            asm.op(f"{move} {target}")


def _own_index(asm: Asm, job: ArgJob) -> None:
    """OWN_INDEX <- index of each lane inside a tile."""
    narrow, bits = ("s", 16) if job.best.lanes == 4 else ("i", 32)
    packed = 0
    for step in job.word_index:
        packed = packed << bits | step
    emit_constant(asm, OWN_INDEX_WORD, packed)
    asm.op(f"lpassa $ls{OWN_INDEX_WORD} {OWN_INDEX}")
    emit_index(asm, narrow, job.terms, OWN_INDEX, DIGIT, CONSTANT)


def _offers(asm: Asm, job: ArgJob, first: int, group: int) -> None:
    """Register of the offers <- smallest tile index at which the lane holds the extreme, or the largest integer.

    Floating-point elements are normalised as the extreme was, so that equal numbers have equal bits.
    """
    narrow, literal, most = ("s", "us", "0x7FFF") if job.best.lanes == 4 else ("i", "i", "0x7FFFFFFF")
    lm, addr = job.best.src
    tiles = job.best.folding.tiles
    rows = [tiles[min(first + c, len(tiles) - 1)] for c in range(4)]
    offer, normal = job.offers.register(group), job.best.op.normal
    asm.op(f'imm {literal}"{most}" {offer}')
    for number in reversed(range(len(job.tile_index))):
        element = f"$l{lm}{flat([addr + 2 * lws[number] for lws in rows])}"
        if normal:
            asm.op(f"{normal} {element} $nowrite")
            element = "$mauf"
        asm.op(f"{'l' if job.best.lanes == 1 else narrow}xor {element} {job.best.register(group)} $omr{MASK_ENTRY}")
        asm.op(f'imm {literal}"{job.tile_index[number]}" $nowrite')
        asm.op(f"{narrow}add $aluf {OWN_INDEX} {offer}/$imr{MASK_ENTRY}")
