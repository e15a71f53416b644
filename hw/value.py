"""`@value`: immutable plain data, made five times faster than by a frozen dataclass.

`dataclass(frozen=True)` guards its fields at run time, by storing each one through `object.__setattr__` (0.9 us for
eight fields, 0.2 us without).  Decoding a program makes some ten records a line.  Here the type checker is the guard:
to it the fields are frozen, and the hash rests on that.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

T = TypeVar("T")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(cls: type[T]) -> type[T]:
    """Class decorator: slots, equality and hash by fields; assigning to a field is an error of the type checker."""
    return dataclass(slots=True, unsafe_hash=True)(cls)
