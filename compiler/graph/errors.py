"""Errors of the graph room."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from enum import StrEnum


class GraphError(ValueError):
    """A graph, node or value that contradicts itself; the message names it and says what was expected."""


class L3irError(GraphError):
    """An l3ir text that cannot be read, or a value that cannot be written as one; names the line."""


class DtypeError(GraphError):
    """Host data that an element type cannot hold, or a host type that has no element type."""


def nearest(wanted: str, known: Iterable[str]) -> str:
    """A sentence end such as `; did you mean 'Half'?`, or nothing when no known spelling is close."""
    by_folded = {name.lower(): name for name in known}
    found = difflib.get_close_matches(wanted.lower(), by_folded, n=1, cutoff=0.5)
    return f"; did you mean {by_folded[found[0]]!r}?" if found else ""


class Spelled(StrEnum):
    """An enumeration whose values are spellings; an unknown spelling is a GraphError with the nearest one."""

    @classmethod
    def _missing_(cls, value: object) -> Spelled:
        known = [member.value for member in cls]
        expected = f"expected one of {', '.join(known)}{nearest(str(value), known)}"
        raise GraphError(f"unknown {cls.__name__} {value!r}, {expected}")
