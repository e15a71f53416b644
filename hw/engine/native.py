"""Machine-level primitives of the interpreter: pointers from addresses, block copies, calls by address.

All addresses are int64.  They are compiled in only; nothing here checks bounds, `hw.engine.lower` guarantees them.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

_I1, _I8, _I64 = ir.IntType(1), ir.IntType(8), ir.IntType(64)
_I8P = _I8.as_pointer()


def _pointer(element: types.Type) -> Any:
    """An intrinsic that turns an address into a pointer to `element`."""

    def typing(context: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.inttoptr(args[0], context.get_value_type(signature.return_type))

        return types.CPointer(element)(types.int64), codegen

    return intrinsic(typing)


def _copy(context: Any, target: Any, source: Any, count: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [_I8P, _I8P, _I64, _I1]),
            "llvm.memcpy.p0.p0.i64",
        )
        pointers = [builder.inttoptr(arg, _I8P) for arg in args[:2]]
        builder.call(function, [*pointers, args[2], ir.Constant(_I1, 0)])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


def _zero(context: Any, target: Any, count: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [_I8P, _I8, _I64, _I1]),
            "llvm.memset.p0.i64",
        )
        pointer = builder.inttoptr(args[0], _I8P)
        builder.call(function, [pointer, ir.Constant(_I8, 0), args[1], ir.Constant(_I1, 0)])
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


def _call(context: Any, function: Any, s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kernel = ir.FunctionType(ir.VoidType(), [_I8P] * 7)
        pointers = [builder.inttoptr(arg, _I8P) for arg in args[1:]]
        builder.call(builder.inttoptr(args[0], kernel.as_pointer()), pointers)
        return context.get_dummy_value()

    return types.void(*[types.int64] * 8), codegen


def _take(context: Any, counter: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        counter = builder.inttoptr(args[0], _I64.as_pointer())
        return builder.atomic_rmw("add", counter, ir.Constant(_I64, 1), "monotonic")

    return types.int64(types.int64), codegen


u64_at: Any = _pointer(types.uint64)
"""u64_at(address): pointer to uint64."""
i64_at: Any = _pointer(types.int64)
"""i64_at(address): pointer to int64."""
u8_at: Any = _pointer(types.uint8)
"""u8_at(address): pointer to uint8."""
copy_bytes: Any = intrinsic(_copy)
"""copy_bytes(target, source, count): memcpy; the areas do not overlap.  A constant count is copied in line."""
zero_bytes: Any = intrinsic(_zero)
"""zero_bytes(target, count): memset to 0."""
call_kernel: Any = intrinsic(_call)
"""call_kernel(function, s0, s1, s2, out, flags, mat, par): call the kernel at an address with seven pointers."""
take_number: Any = intrinsic(_take)
"""take_number(address): the int64 there, which becomes one more; every thread gets another number."""
