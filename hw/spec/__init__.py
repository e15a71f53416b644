"""The chip in numbers: `ChipSpec`, each number with unit, source and rank."""

from hw.spec.chip import BYTES_PER_LW, ChipSpec, default_spec, parse_assignments
from hw.spec.errors import SpecError
from hw.spec.quantity import UNITS, Quantity, Rank, Role
from hw.spec.table import text_table

__all__ = [
    "BYTES_PER_LW",
    "UNITS",
    "ChipSpec",
    "Quantity",
    "Rank",
    "Role",
    "SpecError",
    "default_spec",
    "parse_assignments",
    "text_table",
]
