"""PE operands become `Source` and `Dest` records (isa.md 3.2, 3.3, 9.2)."""

from __future__ import annotations

from functools import lru_cache

from hw.kernels.abi import Kernel
from hw.program import PER_CYCLE, Dest, MaskRef, Mem, Source
from isa.literals import long_words
from isa.lower import kernels
from isa.operand import MEMORIES, Kind, Literal, MaskExpr, PeOperand
from isa.operand_grammar import SIZES
from isa.record import Slot

ELEMENT_BITS = {"l": 64, "d": 64, "i": 32, "f": 32, "g": 32, "s": 16, "h": 16}


def _wrapped(operand: PeOperand) -> PER_CYCLE:
    if operand.flat or operand.kind not in MEMORIES:
        return operand.addr
    size = SIZES[operand.kind]
    a0, a1, a2, a3 = operand.addr
    return a0, a1 % size, a2 % size, a3 % size


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


@lru_cache(maxsize=65536)
def source(operand: PeOperand, slot: Slot, prec: str) -> Source:
    """The machine's view of a PE operand that is read in precision `prec`."""
    return Source(
        mem=Mem(operand.kind),
        width=operand.width,
        addr=_wrapped(operand),
        j=operand.j,
        via_t=operand.via_t,
        value=operand.value,
        element_bits=ELEMENT_BITS.get(prec, 64),
        transforms=_transforms(operand, slot, prec),
    )


def immediate(literal: Literal, *, upper: bool) -> Source:
    """The source that carries a literal's two long words."""
    return Source(mem=Mem.IMM, imm=long_words(literal.bits, upper=upper))


def mask_ref(mask: MaskExpr | None) -> MaskRef | None:
    """A mask expression as the machine sees it."""
    return None if mask is None else MaskRef(mask.entry, mask.words)


@lru_cache(maxsize=65536)
def dest(operand: PeOperand) -> Dest:
    """The machine's view of a PE operand that is written, with its one-time mask."""
    addr = (operand.value,) * 4 if operand.kind == Kind.OMR else _wrapped(operand)
    return Dest(Mem(operand.kind), operand.width, addr, operand.j, operand.via_t, mask_ref(operand.mask))
