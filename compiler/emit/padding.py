"""RefillPadding: write a defined value into the padding of a value that lies in local memory.

Whether an element is padding depends on its index along each axis, and that on where the PE stands.  Per axis the
PE computes the part of the index that comes from L2B, L1B, MAB and PE (`base`); the part from the address and the
word inside the long word is a constant, so element (a, w) is padding where base >= extent - addr_index[a] -
word_index[w].
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from compiler.emit.asm import Asm, flat
from compiler.emit.elementwise import Stream
from compiler.errors import UnsupportedOperator

MASK_ENTRY = 2
#: Registers that few others use, so that indices can be made before the value is there.
BASE = "$lr504"
DIGIT = "$lr508"
CONSTANT = "$ls472"
THRESHOLD = 474
PAD = "$ls476"
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
        asm.op(f"zero {BASE}")
        emit_index(asm, prec, axis.terms, BASE, DIGIT, CONSTANT)
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


def emit_index(
    asm: Asm, prec: str, terms: Sequence[tuple[str, int, int, int]], base: str, digit: str, constant: str
) -> None:
    """Add the level part of an index to every lane of register `base` (terms as in AxisIndex).

    digit, constant: registers to use, `constant` in the other GRF than the two.
    """
    for level, stride, extent, weight in terms:
        source, members = FIXED[level]
        if stride > 1:
            asm.op(f'imm us"{stride.bit_length() - 1}" {constant}')
            asm.op(f"u{prec}lsr {source} {constant} {digit}")
            source = digit
        if stride * extent < members:
            asm.op(f'imm us"{extent - 1}" {constant}')
            asm.op(f"{prec}and {source} {constant} {digit}")
            source = digit
        for bit in range(weight.bit_length()):
            if weight >> bit & 1:
                asm.op(f'imm us"{bit}" {constant}')
                asm.op(f"{prec}lsl {source} {constant} $nowrite")
                asm.op(f"{prec}add $aluf {base} {base}")
