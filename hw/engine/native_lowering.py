"""Machine meaning of the primitives in `hw.engine.native`; imported only when something is compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing import signature
from numba.extending import lower_builtin, type_callable

from hw.engine import native

_I1, _I8, _I64 = ir.IntType(1), ir.IntType(8), ir.IntType(64)
_I8P = _I8.as_pointer()
Emit = Callable[[Any, list[Any]], Any]


def _define(function: Any, result: types.Type, arity: int) -> Callable[[Emit], Emit]:
    """Declare `function` of `arity` int64s; the decorated function emits it (None: there is no result)."""
    whole = signature(result, *[types.int64] * arity)
    typings = {
        1: lambda a: whole,
        2: lambda a, b: whole,
        3: lambda a, b, c: whole,
        8: lambda a, b, c, d, e, f, g, h: whole,
    }

    @type_callable(function)
    def _typing(context: Any) -> Any:
        return typings[arity]

    def decorate(emit: Emit) -> Emit:
        @lower_builtin(function, *[types.int64] * arity)
        def _lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            value = emit(builder, args)
            return context.get_dummy_value() if value is None else value

        return emit

    return decorate


@_define(native.u64_at, types.CPointer(types.uint64), 1)
@_define(native.i64_at, types.CPointer(types.int64), 1)
def _long_words(builder: Any, args: Any) -> Any:
    return builder.inttoptr(args[0], _I64.as_pointer())


@_define(native.u8_at, types.CPointer(types.uint8), 1)
def _bytes(builder: Any, args: Any) -> Any:
    return builder.inttoptr(args[0], _I8P)


@_define(native.copy_bytes, types.void, 3)
def _copy(builder: Any, args: Any) -> None:
    kind = ir.FunctionType(ir.VoidType(), [_I8P, _I8P, _I64, _I1])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.memcpy.p0.p0.i64")
    pointers = [builder.inttoptr(arg, _I8P) for arg in args[:2]]
    builder.call(function, [*pointers, args[2], ir.Constant(_I1, 0)])


@_define(native.zero_bytes, types.void, 2)
def _zero(builder: Any, args: Any) -> None:
    kind = ir.FunctionType(ir.VoidType(), [_I8P, _I8, _I64, _I1])
    function = cgutils.get_or_insert_function(builder.module, kind, "llvm.memset.p0.i64")
    pointer = builder.inttoptr(args[0], _I8P)
    builder.call(function, [pointer, ir.Constant(_I8, 0), args[1], ir.Constant(_I1, 0)])


@_define(native.call_kernel, types.void, 8)
def _call(builder: Any, args: Any) -> None:
    kernel = ir.FunctionType(ir.VoidType(), [_I8P] * 7)
    pointers = [builder.inttoptr(arg, _I8P) for arg in args[1:]]
    builder.call(builder.inttoptr(args[0], kernel.as_pointer()), pointers)


@_define(native.take_number, types.int64, 1)
def _take(builder: Any, args: Any) -> Any:
    counter = builder.inttoptr(args[0], _I64.as_pointer())
    return builder.atomic_rmw("add", counter, ir.Constant(_I64, 1), "monotonic")
