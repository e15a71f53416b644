"""Bit fields of operands and mnemonic suffixes; `encoding` documents the whole line format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from hw.program import Fixed
from isa.bitfield import BitReader, BitWriter, EncodingError
from isa.mv_suffix import MvOptions
from isa.operand import MEMORIES, BankOperand, Kind, Literal, MaskExpr, MatrixOperand, Operand, PeOperand
from isa.operand_grammar import WIDTHS
from isa.suffix import Suffix, SuffixValue

_WIDTHS = tuple(WIDTHS.values())
_MODIFIERS = ("", "e", "r")
_ESCAPES = ("", "t", "p")
_OUTSIDE = frozenset({Kind.L1BM, Kind.TURN, Kind.L2BM, Kind.DAR, Kind.PDM, Kind.DRAM})
_KINDS = tuple(Kind)
_BARS = frozenset({Kind.BAR0, Kind.BAR1})
KIND_BITS = 5
WORD_BITS = 12
STRIDE_BITS = 16
ADDRESS_BITS = 30
SHIFT_BITS = 16
DRAM_LWS = 1 << 29
T = TypeVar("T")


def _one_of(data: BitReader, bits: int, values: Sequence[T], name: str) -> T:
    """The entry of a table that the next field numbers; EncodingError beyond its end."""
    number = data.get(bits)
    if number >= len(values):
        raise EncodingError(f"{name} is {number}: expected 0..{len(values) - 1}")
    return values[number]


def put_mask(out: BitWriter, mask: MaskExpr | None) -> None:
    """presence 1; entry 5, word length 1, escape 2."""
    out.put(mask is not None, 1, "mask")
    if mask is not None:
        out.put(mask.entry, 5, "mask entry")
        out.put(mask.words, 1, "mask word length")
        out.put(_ESCAPES.index(mask.escape), 2, "mask suffix")


def get_mask(data: BitReader) -> MaskExpr | None:
    """The mask written by `put_mask`."""
    if not data.get(1):
        return None
    return MaskExpr(data.get(5), bool(data.get(1)), _one_of(data, 2, _ESCAPES, "mask suffix"))


def put_suffix(out: BitWriter, kind: Suffix, value: SuffixValue) -> None:
    """The suffix of a mnemonic; its record says which fields there are."""
    if isinstance(value, MvOptions):
        out.put(value.size, 16, "size")
        out.put(value.tag, 8, "tag")
        out.optional(value.repeat, 5, "nd")
        out.put(value.priority, 2, "priority")
    elif kind in (Suffix.SET, Suffix.SET_REQUIRED):
        out.put(isinstance(value, tuple), 1, "L1B set")
        if isinstance(value, tuple):
            out.put(value[0], 3, "L1B set")
            out.put(value[1], 3, "L1B set")
    elif kind is Suffix.SHIFT:
        shift = value if isinstance(value, int) else 0
        out.put(shift < 0, 1, "shift")
        out.put(abs(shift), SHIFT_BITS, "shift")
    elif isinstance(value, int):
        out.put(value, 4, "suffix")


def get_suffix(data: BitReader, kind: Suffix) -> SuffixValue:
    """The suffix written by `put_suffix`."""
    if kind is Suffix.MV:
        return MvOptions(data.get(16), data.get(8), data.optional(5), data.get(2))
    if kind in (Suffix.SET, Suffix.SET_REQUIRED):
        return (data.get(3), data.get(3)) if data.get(1) else None
    if kind is Suffix.SHIFT:
        negative = data.get(1)
        return -data.get(SHIFT_BITS) if negative else data.get(SHIFT_BITS)
    return None if kind is Suffix.NONE else data.get(4)


def put_operand(out: BitWriter, operand: Operand) -> None:
    """kind 5, then the fields of the kind (see `encoding`)."""
    out.put(operand.kind, KIND_BITS, "operand kind")
    if isinstance(operand, PeOperand):
        _put_pe(out, operand)
    elif isinstance(operand, MatrixOperand):
        out.put(operand.plane, 1, "matrix plane")
        out.optional(operand.start, 4, "matrix row")
        out.put(operand.lws - 1, 1, "matrix width")
        out.put(operand.negate, 1, "sign")
        out.put(_MODIFIERS.index(operand.modifier), 2, "modifier")
    elif isinstance(operand, Literal):
        out.put(operand.bits, 32, "literal")
    else:
        address = operand.addr % DRAM_LWS if operand.kind == Kind.DRAM else operand.addr
        out.put(address, ADDRESS_BITS, "address")
        out.put(operand.lws - 1, 1, "width")
        out.optional(operand.group, 2, "group")
        out.optional(operand.bank, 1, "L2B")
        out.put(operand.indirect, 1, "indirect")


def _put_pe(out: BitWriter, operand: PeOperand) -> None:
    if operand.kind in MEMORIES:
        out.put(_WIDTHS.index(operand.width), 2, "width")
        out.put(operand.via_t, 1, "T-indirect")
        out.optional(operand.j, 2, "j")
        out.put(operand.flat, 1, "list")
        if operand.flat:
            for address in operand.addr:
                out.put(address, WORD_BITS, "address")
        else:
            out.put(operand.addr[0], WORD_BITS, "address")
            out.put(operand.addr[1] - operand.addr[0], STRIDE_BITS, "stride")
    elif operand.kind == Kind.FIXED:
        out.put(operand.value, 3, "fixed input")
    elif operand.kind == Kind.OMR:
        out.put(operand.value, 5, "mask register")
    elif operand.kind in _BARS:
        out.put(operand.width - 1, 1, "width")
    out.put(operand.negate, 1, "sign")
    out.put(_MODIFIERS.index(operand.modifier), 2, "modifier")
    put_mask(out, operand.mask)


def get_operand(data: BitReader) -> Operand:
    """The operand written by `put_operand`, with an empty text."""
    kind = _one_of(data, KIND_BITS, _KINDS, "operand kind")
    if kind == Kind.MATRIX:
        plane, start, lws = data.get(1), data.optional(4), data.get(1) + 1
        return MatrixOperand("", plane, start, lws, bool(data.get(1)), _one_of(data, 2, _MODIFIERS, "modifier"))
    if kind == Kind.IMM:
        return Literal("", data.get(32))
    if kind in _OUTSIDE:
        address, lws, group, bank = data.get(ADDRESS_BITS), data.get(1) + 1, data.optional(2), data.optional(1)
        return BankOperand("", kind, address, lws, group, bank, bool(data.get(1)))
    return _get_pe(data, kind)


def _get_pe(data: BitReader, kind: Kind) -> PeOperand:
    width, addr, flat, j, via_t, value = 4, (0, 0, 0, 0), False, None, False, 0
    if kind in MEMORIES:
        width, via_t, j, flat = (
            _one_of(data, 2, _WIDTHS, "width"),
            bool(data.get(1)),
            data.optional(2),
            bool(data.get(1)),
        )
        first = data.get(WORD_BITS)
        if flat:
            addr = (first, data.get(WORD_BITS), data.get(WORD_BITS), data.get(WORD_BITS))
        else:
            stride = data.get(STRIDE_BITS)
            addr = (first, first + stride, first + 2 * stride, first + 3 * stride)
    elif kind == Kind.FIXED:
        value = _one_of(data, 3, range(len(Fixed)), "fixed input")
    elif kind == Kind.OMR:
        width, value = 1, data.get(5)
    elif kind in _BARS:
        width = data.get(1) + 1
    negate, modifier = bool(data.get(1)), _one_of(data, 2, _MODIFIERS, "modifier")
    return PeOperand("", kind, width, addr, flat, j, via_t, value, negate, modifier, get_mask(data))
