"""All instruction records and the lookup by mnemonic."""

from __future__ import annotations

from isa.instructions import (
    alu_float,
    alu_int,
    alu_misc,
    bfn,
    control,
    l1bm,
    l2bm,
    matrix_move,
    mau_matrix,
    mau_vector,
    mv,
)
from isa.record import Record, Variant

MODULES = (alu_int, alu_float, alu_misc, bfn, mau_vector, mau_matrix, matrix_move, l1bm, l2bm, mv, control)

RECORDS: tuple[Record, ...] = tuple(record for module in MODULES for record in module.RECORDS)


def _table() -> dict[str, tuple[tuple[Record, Variant], ...]]:
    table: dict[str, tuple[tuple[Record, Variant], ...]] = {}
    for record in RECORDS:
        for text, variant in record.mnemonics.items():
            table[text] = (*table.get(text, ()), (record, variant))
    return table


MNEMONICS: dict[str, tuple[tuple[Record, Variant], ...]] = _table()
"""Spelling -> candidates; several where operands decide (`l1bmd`, `l2bmd`, `mvp`, `mvb`, `mvd`, `mvr`)."""
