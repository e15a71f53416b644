"""Compiles kernel bodies and engine functions with Numba, on first use, into a content-addressed disk cache.

The cache folder is named by a hash of the sources that can end up in the machine code and of the library versions, so
an edit never meets stale code and no file is ever invalid.  `MNCORE2_CACHE` names the cache root (default
``~/.cache/mncore2``).  Numba's own index keys (bytecode and pickled closures) are replaced by the kernel's name: bodies
are made by factories, and pickles of closures differ from process to process.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import numba
from numba.core import compiler, registry, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.ccallback import CFunc, _CFuncCompiler  # type: ignore[attr-defined]
from numba.extending import register_jitable

from hw.kernels import lowering
from hw.kernels.abi import Kernel

_HW = Path(__file__).resolve().parent.parent
_OPTIONS = {"nopython": True, "error_model": "numpy"}
_SIGNATURE = types.void(
    *[types.CPointer(types.uint64)] * 4,
    types.CPointer(types.uint8),
    types.CPointer(types.uint64),
    types.CPointer(types.int64),
)

Function = TypeVar("Function", bound=Callable[..., Any])


def cache_root() -> Path:
    """Folder that holds all compiled code: `MNCORE2_CACHE`, or ``~/.cache/mncore2``."""
    return Path(os.environ.get("MNCORE2_CACHE") or Path.home() / ".cache" / "mncore2")


@lru_cache
def _process_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder of this process, for where the cache cannot be written; it goes with the process."""
    warnings.warn(f"{cache_root()} cannot be written; compiled kernels are kept for this process only", stacklevel=4)
    return tempfile.TemporaryDirectory(prefix="mncore2-kernels-")


def source_digest(*packages: Path) -> str:
    """Hash of all Python sources in `packages` (folders, not recursive) and of the compiler versions."""
    digest = hashlib.sha256(f"{sys.version_info[:3]} {numba.__version__} {compiler.__name__}".encode())
    for folder in packages:
        for path in sorted(folder.glob("*.py")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:20]


class _DiskCache(FunctionCache):
    """Numba's result cache with our folder, our file name and a key that is stable between processes."""

    def __init__(self, function: Callable[..., Any], name: str, *packages: Path) -> None:
        self._name = name
        self._py_func = function
        digest = source_digest(_HW / "kernels", _HW / "formats", *packages)
        folder = cache_root() / digest
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            folder = Path(_process_folder().name) / digest
            folder.mkdir(exist_ok=True)
        self._cache_path = str(folder)
        self._impl = _CacheImpl(str(folder), name)
        self._cache_file = IndexDataCacheFile(str(folder), self._impl.filename_base, digest)
        self.enable()

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return sig, codegen.magic_tuple(), self._name


class _CacheImpl(CompileResultCacheImpl):
    """How results are stored; the locator only ensures the folder, which exists already."""

    def __init__(self, folder: str, name: str) -> None:
        readable = re.sub(r"[^A-Za-z0-9_.]", "_", name)[:80]
        self._base = f"{readable}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
        self._folder = folder

    @property
    def filename_base(self) -> str:
        return self._base

    @property
    def locator(self) -> _CacheImpl:
        return self

    def ensure_cache_path(self) -> None:
        os.makedirs(self._folder, exist_ok=True)


class _BodyCompiler(_CFuncCompiler):
    """Compiles with `noalias` pointers: the ABI promises that `out` and `flags` overlap no input."""

    def _customize_flags(self, flags: Any) -> Any:
        flags = super()._customize_flags(flags)
        flags.noalias = True
        return flags


def _called_functions(function: FunctionType) -> Iterator[FunctionType]:
    """Plain Python functions of this package that the bytecode of `function` refers to."""
    names = [function.__globals__.get(name) for name in function.__code__.co_names]
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    for value in (*names, *cells):
        if isinstance(value, FunctionType) and value.__module__.startswith("hw.kernels"):
            yield value


def _make_callable(function: FunctionType, seen: set[FunctionType]) -> None:
    """Let compiled code call the helpers of `function`, recursively; primitives have their lowering already."""
    for helper in _called_functions(function):
        if helper in seen or helper in lowering.PRIMITIVES:
            continue
        seen.add(helper)
        _make_callable(helper, seen)
        if not getattr(helper, "compiled_helper", False):
            # Element functions must be inlined, otherwise the loops over lanes are not vectorised.
            register_jitable(**_OPTIONS, forceinline=not getattr(helper, "out_of_line", False))(helper)
            helper.compiled_helper = True  # type: ignore[attr-defined]


def compiled_address(kernel: Kernel) -> int:
    """Machine address of the kernel's body, a C function of the seven pointers of `hw.kernels.abi`."""
    done: Any = kernel._compiled.get("cfunc")
    if done is None:
        _make_callable(kernel.body, set())  # type: ignore[arg-type]
        done = CFunc(kernel.body, (_SIGNATURE.args, _SIGNATURE.return_type), {}, _OPTIONS)
        done._compiler = _BodyCompiler(kernel.body, registry.cpu_target, _OPTIONS, {}, compiler.Compiler)
        done._cache = _DiskCache(kernel.body, kernel.name)
        done.compile()
        kernel._compiled["cfunc"] = done
    return int(done.address)


def jit(function: Function) -> Function:
    """Compile an ordinary function with ``njit(nogil=True)`` and the same cache.

    The key also covers every source file in the function's own package, so helpers in neighbouring modules count.
    """
    package = Path(function.__code__.co_filename).resolve().parent
    dispatcher: Any = numba.njit(nogil=True, error_model="numpy")(function)
    dispatcher._cache = _DiskCache(function, f"{function.__module__}.{function.__qualname__}", package)
    return cast(Function, dispatcher)
