"""ArgMax and Max over an axis that lies in addresses, words of the long word and PEs (all MABs alike).

Four rows go through together, one a cycle.  The row maximum is formed over the address tiles in place, over the
four PEs by two rotations (`msl`) and over the elements of a long word by rotating it; every element that equals it
offers its index, and the smallest offer wins, as torch and ONNX want it.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.emit.asm import Asm, cycle_mask, flat
from compiler.emit.padding import emit_constant

BEST = "$ls0v"
SHIFT = {32: "$lr8", 16: "$lr10"}
OFFER = "$ls8v"
OWN_INDEX = "$lr0"
OWN_INDEX_WORD = 20
MASK_ENTRY = 3


@dataclass(frozen=True)
class RowReduce:
    """One reduction.  lanes: 4 (half) or 2 (single).

    rows[r][t] is the word address of tile t of row r in `src_lm`; tile_index[t] the index of its first element,
    word_index[w] and pe_weight the steps along the long word and the PEs.  out[r] is the word address of the result
    in `out_lm`; `scratch` are 8 words per tile in `out_lm`.
    """

    lanes: int
    src_lm: str
    rows: tuple[tuple[int, ...], ...]
    tile_index: tuple[int, ...]
    word_index: tuple[int, ...]
    pe_weight: int
    out_lm: str
    out: tuple[int, ...]
    scratch: int = 0

    @property
    def word_split(self) -> bool:
        """Whether elements of one row share a long word."""
        return any(self.word_index)


def emit_argmax(asm: Asm, job: RowReduce) -> None:
    """Index of the first largest element of each row; integer in every 32-bit word of the result long word."""
    narrow = "s" if job.lanes == 4 else "i"
    _shift_constants(asm, job)
    _own_index(asm, job, narrow)
    for first in range(0, len(job.rows), 4):
        group = _group(job, first)
        _row_max(asm, job, group, keep=True)
        _offers(asm, job, narrow)
        _spread(asm, job, f"{narrow}min", OFFER)
        mask = cycle_mask(len(job.rows) - first)
        target = f"$l{job.out_lm}{flat([job.out[r] for r in group])}{mask}"
        if job.lanes == 4:
            asm.op(f"uilsr {OFFER} {SHIFT[16]} {target}")
        else:
            asm.op(f"lpassa {OFFER} {target}")


def emit_row_max(asm: Asm, job: RowReduce) -> None:
    """Largest element of each row, in every element of the result long word."""
    _shift_constants(asm, job)
    for first in range(0, len(job.rows), 4):
        group = _group(job, first)
        _row_max(asm, job, group, keep=False)
        mask = cycle_mask(len(job.rows) - first)
        asm.op(f"lpassa {BEST} $l{job.out_lm}{flat([job.out[r] for r in group])}{mask}")


def _group(job: RowReduce, first: int) -> list[int]:
    return [min(first + c, len(job.rows) - 1) for c in range(4)]


def _shift_constants(asm: Asm, job: RowReduce) -> None:
    for count, register in SHIFT.items():
        asm.op(f'imm i"{count}" {register}')


def _own_index(asm: Asm, job: RowReduce, narrow: str) -> None:
    """OWN_INDEX <- index of each lane inside a tile."""
    bits = 64 // job.lanes
    packed = 0
    for step in job.word_index:
        packed = packed << bits | step
    emit_constant(asm, OWN_INDEX_WORD, packed)
    asm.op(f"lpassa $ls{OWN_INDEX_WORD} {OWN_INDEX}")
    for bit in range(job.pe_weight.bit_length()):
        if job.pe_weight >> bit & 1:
            asm.op(f'imm us"{bit}" $ls22' if narrow == "s" else f'imm i"{bit}" $ls22')
            asm.op(f"{narrow}lsl $subpeid $ls22 $nowrite")
            asm.op(f"{narrow}add $aluf {OWN_INDEX} {OWN_INDEX}")


def _row_max(asm: Asm, job: RowReduce, group: list[int], *, keep: bool) -> None:
    """BEST <- row maximum in every lane and PE; with `keep` the normalised elements go to the scratch.

    The MAU pass turns -0 into +0, so that equal numbers have equal bits below.
    """
    prec = "h" if job.lanes == 4 else "f"
    passa = "hvpassar" if job.lanes == 4 else "fvpassa"
    for tile in range(len(job.tile_index)):
        source = f"$l{job.src_lm}{flat([job.rows[r][tile] for r in group])}"
        kept = f" $l{job.out_lm}{job.scratch + 8 * tile}v" if keep else ""
        if tile == 0:
            asm.op(f"{passa} {source} {BEST}{kept}")
        else:
            asm.op(f"{passa} {source}{kept or ' $nowrite'}")
            asm.op(f"{prec}max $mauf {BEST} {BEST}")
    _spread(asm, job, f"{prec}max", BEST)


def _offers(asm: Asm, job: RowReduce, narrow: str) -> None:
    """OFFER <- smallest tile index at which the lane holds the maximum, or the largest integer."""
    asm.op(f'imm us"0x7FFF" {OFFER}' if narrow == "s" else f'imm i"0x7FFFFFFF" {OFFER}')
    for tile in reversed(range(len(job.tile_index))):
        asm.op(f"{narrow}xor $l{job.out_lm}{job.scratch + 8 * tile}v {BEST} $omr{MASK_ENTRY}")
        literal = "us" if narrow == "s" else "i"
        asm.op(f'imm {literal}"{job.tile_index[tile]}" $nowrite')
        asm.op(f"{narrow}add $aluf {OWN_INDEX} {OFFER}/$imr{MASK_ENTRY}")


def _spread(asm: Asm, job: RowReduce, op: str, register: str) -> None:
    """Combine `register` over the PEs and over the lanes of the long word."""
    if job.pe_weight:
        asm.op(f"msl {register} $nowrite")
        asm.op(f"{op} $aluf {register} {register}")
        asm.op(f"msl {register} $nowrite")
        asm.op("msl $aluf $nowrite")
        asm.op(f"{op} $aluf {register} {register}")
    if job.word_split:
        for count in (32, 16) if job.lanes == 4 else (32,):
            asm.op(f"lbsl {register} {SHIFT[count]} $nowrite")
            asm.op(f"{op} $aluf {register} {register}")
