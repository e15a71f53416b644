"""RefillPadding: write a defined value into the padding of a value that lies in local memory.

Whether an element is padding depends on its index along each axis, and that on where the PE stands.  Per axis the
PE computes the part of the index that comes from L2B, L1B, MAB and PE (`base`); the part from the address and the
word inside the long word is a constant, so element (a, w) is padding where base >= extent - addr_index[a] -
word_index[w].
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from compiler.emit.asm import Asm, flat
from compiler.emit.elementwise import Stream
from compiler.errors import UnsupportedOperator

MASK_ENTRY = 2
BASE = "$lr0"
DIGIT = "$lr4"
CONSTANT = "$ls0"
THRESHOLD = 4
PAD = "$ls8"
FIXED = {"L2B": ("$l2bid", 8), "L1B": ("$l1bid", 8), "MAB": ("$mabid", 16), "PE": ("$subpeid", 4)}
LANE_PREC = {4: "s", 2: "i", 1: "l"}


@dataclass(frozen=True)
class AxisIndex:
    """Index along one padded axis: sum over terms of ((position // stride) mod extent) * weight, plus the constant
    parts.

    terms: (level, stride, extent, weight) of the split levels; addresses: index part of each long word; words: of
    each lane.
    """

    extent: int
    terms: tuple[tuple[str, int, int, int], ...]
    addresses: tuple[int, ...]
    words: tuple[int, ...]

    @property
    def max_base(self) -> int:
        """Largest value of the level part."""
        return sum((extent - 1) * weight for _, _, extent, weight in self.terms)


def emit_refill(asm: Asm, place: Stream, pad_lw: int, axes: list[AxisIndex]) -> None:
    """Overwrite the padding with the long word `pad_lw` (one element repeated).

    Raises UnsupportedOperator when an index exceeds what the element width can compare (32,767 for halves).
    """
    emit_constant(asm, int(PAD[3:]), pad_lw)
    for axis in axes:
        _refill_axis(asm, place, axis)


def emit_constant(asm: Asm, register: int, lw: int) -> None:
    """Put a 64-bit constant into the long word of GRF1 at word address `register`."""
    high, low = lw >> 32, lw & 0xFFFFFFFF
    if high == low:
        asm.op(f'imm ui"0x{high:08X}" $ls{register}')
    else:
        asm.op(f'imm ui"0x{high:08X}" $s{register}')
        asm.op(f'imm ui"0x{low:08X}" $s{register + 1}')


def _refill_axis(asm: Asm, place: Stream, axis: AxisIndex) -> None:
    lanes = len(axis.words)
    bits = 64 // lanes
    if max(axis.max_base + 1, axis.extent) >= 1 << (bits - 1):
        raise UnsupportedOperator(f"RefillPadding: an axis of {axis.extent} exceeds {bits}-bit indices")
    by_threshold: dict[tuple[int, ...], list[int]] = defaultdict(list)
    for address in range(place.num_lw):
        limits = [axis.extent - axis.addresses[address] - word for word in axis.words]
        threshold = tuple(min(max(limit, 0), axis.max_base + 1) for limit in limits)
        if min(threshold) <= axis.max_base:
            by_threshold[threshold].append(address)
    if not by_threshold:
        return
    prec = LANE_PREC[lanes]
    if any(max(threshold) > 0 for threshold in by_threshold):
        _emit_base(asm, prec, axis)
    for threshold, addresses in by_threshold.items():
        mask = ""
        if max(threshold) > 0:
            packed = 0
            for limit in threshold:
                packed = packed << bits | limit
            emit_constant(asm, THRESHOLD, packed)
            asm.op(f"{prec}sub {BASE} $ls{THRESHOLD} $omr{MASK_ENTRY}")
            mask = f"/$imr{MASK_ENTRY}"
        for k in range(0, len(addresses), 4):
            group = addresses[k : k + 4]
            group += [group[-1]] * (4 - len(group))
            asm.op(f"lpassa {PAD} $l{place.lm}{flat([place.addr + 2 * a for a in group])}{mask}")


def _emit_base(asm: Asm, prec: str, axis: AxisIndex) -> None:
    """BASE <- the level part of the index, the same in every lane."""
    asm.op(f"zero {BASE}")
    for level, stride, extent, weight in axis.terms:
        fixed, members = FIXED[level]
        digit = fixed
        if stride > 1:
            _imm(asm, stride.bit_length() - 1)
            asm.op(f"u{prec}lsr {digit} {CONSTANT} {DIGIT}")
            digit = DIGIT
        if stride * extent < members:
            _imm(asm, extent - 1)
            asm.op(f"{prec}and {digit} {CONSTANT} {DIGIT}")
        elif digit == fixed:
            asm.op(f"{prec}passa {fixed} {DIGIT}")
        for bit in range(weight.bit_length()):
            if weight >> bit & 1:
                _imm(asm, bit)
                asm.op(f"{prec}lsl {DIGIT} {CONSTANT} $nowrite")
                asm.op(f"{prec}add $aluf {BASE} {BASE}")


def _imm(asm: Asm, value: int) -> None:
    """CONSTANT <- a small count or bit mask, in every half word (so in every element of any width as a shift count)."""
    asm.op(f'imm us"{value}" {CONSTANT}')
