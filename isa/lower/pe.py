"""PE operands become `Source` and `Dest` records (isa.md 3.2, 3.3, 9.2)."""

from __future__ import annotations

from hw.kernels.abi import Kernel
from hw.program import PER_CYCLE, Dest, MaskRef, Mem, Source
from isa.literals import long_words
from isa.lower import kernels
from isa.operand import PE_KINDS, Kind, Literal, MaskExpr, PeOperand
from isa.operand_grammar import SIZES
from isa.record import Slot

ELEMENT_BITS = {"l": 64, "d": 64, "i": 32, "f": 32, "g": 32, "s": 16, "h": 16}

_MEMS = {kind: Mem(int(kind)) for kind in (*PE_KINDS, Kind.IMM)}
_OMR = Mem.OMR
_SIZES = {kind: SIZES.get(kind, 1 << 30) for kind in _MEMS}


def _wrapped(operand: PeOperand) -> PER_CYCLE:
    """Addresses modulo the memory; only a stride can leave it."""
    a0, a1, a2, a3 = addr = operand.addr
    size = _SIZES[operand.kind]
    return addr if a3 < size or operand.flat else (a0, a1 % size, a2 % size, a3 % size)


def _transforms(operand: PeOperand, slot: Slot, prec: str) -> tuple[Kernel, ...]:
    """Width changes first, then the sign inversion of the elements the unit sees."""
    found: list[Kernel] = []
    single = prec in ("f", "g") or (prec == "h" and slot.accumulator)
    if operand.modifier == "r":
        found.append(kernels.narrow_raw())
    elif operand.modifier == "e":
        found.append(kernels.widen("f" if prec == "d" else "h2" if prec in ("f", "g") else "h4", slot.rule))
    if operand.negate:
        found.append(kernels.negate("f" if single else prec))
    return tuple(found)


def source(operand: PeOperand, slot: Slot, prec: str) -> Source:
    """The machine's view of a PE operand that is read in precision `prec`."""
    return Source(
        _MEMS[operand.kind],
        operand.width,
        _wrapped(operand),
        operand.j,
        operand.via_t,
        operand.value,
        ELEMENT_BITS.get(prec, 64),
        (0, 0),
        _transforms(operand, slot, prec) if operand.modifier or operand.negate else (),
    )


def immediate(literal: Literal, *, upper: bool) -> Source:
    """The source that carries a literal's two long words."""
    return Source(mem=Mem.IMM, imm=long_words(literal.bits, upper=upper))


def mask_ref(mask: MaskExpr | None) -> MaskRef | None:
    """A mask expression as the machine sees it."""
    return None if mask is None else MaskRef(mask.entry, mask.words)


def dest(operand: PeOperand) -> Dest:
    """The machine's view of a PE operand that is written, with its one-time mask."""
    mem = _MEMS[operand.kind]
    addr = (operand.value,) * 4 if mem is _OMR else _wrapped(operand)
    mask = None if operand.mask is None else mask_ref(operand.mask)
    return Dest(mem, operand.width, addr, operand.j, operand.via_t, mask)
