"""Lowering of ALU, MAU, matrix write and matrix read items to `Compute`."""

from __future__ import annotations

from functools import lru_cache

from hw.kernels.abi import Kernel
from hw.program import Compute, Source, Unit
from isa.lower import kernels, pe
from isa.operand import Literal, MatrixOperand
from isa.record import Parsed, Record, Variant


@lru_cache(maxsize=4096)
def _kernel(record: Record, variant: Variant) -> Kernel:
    assert record.kernel is not None
    return record.kernel(variant)


def _sources(parsed: Parsed) -> tuple[Source, ...]:
    """The PE sources in order; a matrix or literal slot in front of them has no source of this kind."""
    read = parsed.record.slots[:-1]
    slots = read[len(read) - len(parsed.sources) :]
    prec = parsed.variant.prec
    return tuple([pe.source(operand, slot, prec) for slot, operand in zip(slots, parsed.sources, strict=True)])


def lower_alu(parsed: Parsed) -> Compute:
    """ALU operations, `zero`, `imm`, `msl`, `msr`."""
    first = parsed.operands[0]
    return Compute(
        Unit.ALU,
        _kernel(parsed.record, parsed.variant),
        (pe.immediate(first, upper=parsed.variant.half == "u"),) if isinstance(first, Literal) else _sources(parsed),
        tuple([pe.dest(operand) for operand in parsed.dests]),
        flush=pe.mask_ref(parsed.flush),
        text=parsed.text,
    )


def lower_block(parsed: Parsed) -> Compute:
    """Block-float conversions: the suffix selects the kernel."""
    length = parsed.suffix if isinstance(parsed.suffix, int) else 0
    return Compute(
        Unit.ALU,
        kernels.table_entry("bfn", "BFN", (parsed.variant.prec, length, parsed.record.name == "bfe")),
        _sources(parsed),
        tuple([pe.dest(operand) for operand in parsed.dests]),
        flush=pe.mask_ref(parsed.flush),
        text=parsed.text,
    )


def lower_mau(parsed: Parsed) -> Compute:
    """MAU vector and matrix-vector operations."""
    first = parsed.operands[0]
    return Compute(
        Unit.MAU,
        _kernel(parsed.record, parsed.variant),
        _sources(parsed),
        tuple([pe.dest(operand) for operand in parsed.dests]),
        plane=first.plane if isinstance(first, MatrixOperand) else None,
        flush=pe.mask_ref(parsed.flush),
        text=parsed.text,
    )


def lower_mwrite(parsed: Parsed) -> Compute:
    """Matrix register writes: parameter is the start row."""
    matrix = parsed.operands[1]
    assert isinstance(matrix, MatrixOperand)
    return Compute(
        Unit.MWRITE,
        kernels.table_entry("matrix_move", "MWRITE", (parsed.variant.prec, matrix.lws)),
        _sources(parsed),
        (),
        params=(matrix.start or 0,),
        plane=matrix.plane,
        text=parsed.text,
    )


def lower_mread(parsed: Parsed) -> Compute:
    """Transposed matrix register reads: parameter is the start column."""
    matrix = parsed.operands[0]
    assert isinstance(matrix, MatrixOperand)
    return Compute(
        Unit.MREAD,
        kernels.table_entry("matrix_move", "MREAD", (parsed.variant.prec, matrix.lws)),
        (),
        tuple([pe.dest(operand) for operand in parsed.dests]),
        params=(matrix.start or 0,),
        plane=matrix.plane,
        flush=pe.mask_ref(parsed.flush),
        text=parsed.text,
    )
