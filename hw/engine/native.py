"""Machine-level primitives of the interpreter: pointers from addresses, block copies, calls by address.

All addresses are int64.  They exist in compiled code only (`hw.engine.native_lowering`); nothing here checks bounds,
`hw.engine.lower` guarantees them.
"""

from __future__ import annotations

from typing import Any

from hw.kernels.bits import primitive

_here = primitive("hw.engine.native_lowering")


def _only_compiled() -> RuntimeError:
    return RuntimeError("primitives of the interpreter exist in compiled code only")


@_here
def u64_at(address: Any) -> Any:
    """Pointer to uint64."""
    raise _only_compiled()


@_here
def i64_at(address: Any) -> Any:
    """Pointer to int64."""
    raise _only_compiled()


@_here
def u8_at(address: Any) -> Any:
    """Pointer to uint8."""
    raise _only_compiled()


@_here
def copy_bytes(target: Any, source: Any, count: Any) -> None:
    """memcpy; the areas do not overlap.  A constant count is copied in line."""
    raise _only_compiled()


@_here
def zero_bytes(target: Any, count: Any) -> None:
    """memset to 0."""
    raise _only_compiled()


@_here
def call_kernel(function: Any, s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
    """Call the kernel at an address with seven pointers."""
    raise _only_compiled()


@_here
def take_number(address: Any) -> Any:
    """The int64 there, which becomes one more; every thread gets another number."""
    raise _only_compiled()
