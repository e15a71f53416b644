"""Compiles kernel bodies and engine functions with Numba to object code; imported when the cache has none.

A compiled function is a plain C function under a name of ours.  It calls nothing of Python or Numba, so its object file
can be loaded without them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from types import FunctionType
from typing import Any

from llvmlite import ir
from numba.core import compiler, registry, types
from numba.core.ccallback import _CFuncCompiler  # type: ignore[attr-defined]
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import register_jitable

from hw.kernels.fast_lowering import vector_body

_OPTIONS = {"nopython": True, "error_model": "numpy"}
_KERNEL = types.void(
    *[types.CPointer(types.uint64)] * 4,
    types.CPointer(types.uint8),
    types.CPointer(types.uint64),
    types.CPointer(types.int64),
)


class CompileError(RuntimeError):
    """A function cannot be plain machine code."""


class _BodyCompiler(_CFuncCompiler):
    """Compiles with `noalias` pointers: the ABI promises that `out` and `flags` overlap no input."""

    def _customize_flags(self, flags: Any) -> Any:
        flags = super()._customize_flags(flags)
        flags.noalias = True
        flags.no_cfunc_wrapper = True
        return flags


def _called_functions(function: FunctionType) -> Iterator[FunctionType]:
    """Plain Python functions of this package that the bytecode of `function` refers to."""
    names = [function.__globals__.get(name) for name in function.__code__.co_names]
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    for value in (*names, *cells):
        if isinstance(value, FunctionType) and value.__module__.startswith("hw."):
            yield value


def _make_callable(function: FunctionType, seen: set[FunctionType]) -> None:
    """Let compiled code call the helpers of `function`, recursively; primitives get their lowering."""
    for helper in _called_functions(function):
        if helper in seen:
            continue
        seen.add(helper)
        lowering = getattr(helper, "lowering", None)
        if lowering is not None:
            import_module(lowering)
            continue
        _make_callable(helper, seen)
        if not getattr(helper, "compiled_helper", False):
            # Element functions must be inlined, otherwise the loops over lanes are not vectorised.
            inline = helper.__module__.startswith("hw.kernels") and not getattr(helper, "out_of_line", False)
            register_jitable(**_OPTIONS, forceinline=inline)(helper)
            helper.compiled_helper = True  # type: ignore[attr-defined]


def _add_entry(context: Any, library: Any, function: Any, symbol: str) -> None:
    """A C function `symbol` around the native one.  A body that raises is a mistake here, so that stops the process."""
    module = context.create_module("entry")
    kind = context.call_conv.get_function_type(function.restype, function.argtypes)
    callee = ir.Function(module, kind, function.llvm_func_name)
    result = ir.VoidType() if function.restype == types.void else context.get_value_type(function.restype)
    arguments = [context.get_value_type(argument) for argument in function.argtypes]
    entry = ir.Function(module, ir.FunctionType(result, arguments), symbol)
    builder = ir.IRBuilder(entry.append_basic_block("entry"))
    status, out = context.call_conv.call_function(
        builder, callee, function.restype, function.argtypes, entry.args, attrs=("noinline",)
    )
    with builder.if_then(status.is_error, likely=False):
        builder.call(ir.Function(module, ir.FunctionType(ir.VoidType(), []), "llvm.trap"), [])
        builder.unreachable()
    if function.restype == types.void:
        builder.ret_void()
    else:
        builder.ret(out)
    library.add_ir_module(module)


def _keep_private(module: Any, symbol: str) -> None:
    """Nothing but the entry is visible to other object files."""
    for function in module.functions:
        if not function.is_declaration and function.name != symbol:
            function.linkage = "internal"
        elif function.is_declaration and not function.name.startswith("llvm."):
            raise CompileError(f"{symbol} calls {function.name}; expected machine code that stands alone")
    for variable in module.global_variables:
        variable.linkage = "internal"


def object_code(body: Callable[..., Any], symbol: str, integers: int | None) -> bytes:
    """Object file with the C function `symbol`: a kernel body, or a function of `integers` int64s.

    CompileError when the code would need Python or Numba at run time; what Numba refuses raises its own errors.
    """
    build = getattr(body, "build", None)
    if build is not None:
        body = vector_body(build)
    signature = _KERNEL if integers is None else types.int64(*[types.int64] * integers)
    with global_compiler_lock:
        _make_callable(body, set())  # type: ignore[arg-type]
        make = _BodyCompiler(body, registry.cpu_target, _OPTIONS, {}, compiler.Compiler)
        result = make.compile(signature.args, signature.return_type)
        library = result.library
        _add_entry(result.target_context, library, result.fndesc, symbol)
        library.finalize()
        module = library._final_module
        _keep_private(module, symbol)
        return bytes(library._codegen._tm.emit_object(module))
