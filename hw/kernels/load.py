"""Machine addresses of functions: from the disk cache without the compiler, else compiled first.

Only LLVM's loader is imported here; `hw.kernels.compile`, and with it Numba, when a function is in no cache.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm

from hw.kernels.cache import object_path, symbol_of, write_object

_LOCK = threading.RLock()


@cache
def _processor() -> str:
    features = llvm.get_host_cpu_features().flatten()
    return f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {features}"


class _Loader:
    """Links object files into this process; they stay until it ends."""

    def __init__(self) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        machine = llvm.Target.from_default_triple().create_target_machine()
        self._engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
        self._addresses: dict[str, int] = {}

    def address(self, symbol: str, package: Path | None, compiled: Callable[[], bytes]) -> int:
        known = self._addresses.get(symbol)
        if known is not None:
            return known
        path = object_path(symbol, package)
        try:
            code = path.read_bytes()
        except FileNotFoundError:
            code = compiled()
            write_object(path, code)
        self._engine.add_object_file(llvm.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        self._addresses[symbol] = int(self._engine.get_function_address(symbol))
        return self._addresses[symbol]


@cache
def _loader() -> _Loader:
    return _Loader()


def address_of(name: str, body: Callable[..., Any], package: Path | None = None, integers: int | None = None) -> int:
    """Machine address of a compiled function.

    name: stands for the function in the cache, together with the sources of hw.kernels, hw.formats and of the folder
    `package`.  integers: number of arguments of a function of int64s that returns int64; None for a kernel body (the
    seven pointers of `hw.kernels.abi`).
    """

    def compiled() -> bytes:
        from hw.kernels.compile import object_code

        return object_code(body, symbol, integers)

    with _LOCK:
        symbol = symbol_of(name, package, _processor())
        return _loader().address(symbol, package, compiled)
