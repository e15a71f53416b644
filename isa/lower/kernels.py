"""Lookups in the kernel tables of `hw.kernels`, imported on first use so that parsing alone needs no kernels."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from importlib import import_module
from typing import cast

from hw.kernels.abi import Kernel


@lru_cache(maxsize=4096)
def table_entry(module: str, table: str, key: Hashable = None) -> Kernel:
    """`hw.kernels.<module>.<table>[key]`, or the object itself when `key` is None."""
    found = getattr(import_module(f"hw.kernels.{module}"), table)
    return cast(Kernel, found if key is None else found[key])


def negate(element: str) -> Kernel:
    """Sign inversion of every element (`d`, `f` or `h`) of the 2LW."""
    return table_entry("modifiers", "NEG", element)


def widen(form: str, rule: str) -> Kernel:
    """The `e` modifier: `form` is "f" (single to double), "h2" (two halves of w0) or "h4" (four halves of LW0)."""
    return table_entry("modifiers", "WIDEN", (form, rule))


def narrow_raw() -> Kernel:
    """The `r` modifier: four singles of the 2LW become the four halves of LW0."""
    return table_entry("modifiers", "NARROW_RAW")


def reduction(rrn: tuple[str, str]) -> Kernel:
    """One reduction circuit for (precision, operator)."""
    return table_entry("rrn", "RRN", rrn)


def narrow_reduction(op: str) -> Kernel:
    """A last reduction stage from singles to halves."""
    return table_entry("rrn", "RRN_NARROW", op)
