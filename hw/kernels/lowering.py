"""Machine meaning of the primitives in `hw.kernels.bits`; imported only when something is compiled."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing import signature
from numba.core.typing.templates import AbstractTemplate, infer_global
from numba.extending import lower_builtin, type_callable

from hw.kernels import bits

_I64 = ir.IntType(64)
_I128 = ir.IntType(128)


def _declare(function: Any, result: Any, arity: int) -> None:
    """Give `function` of 1, 2 or 4 arguments the result type `result`."""
    typing = {1: lambda a: result, 2: lambda a, b: result, 4: lambda a, b, c, d: result}[arity]

    @type_callable(function)
    def _typing(context: Any) -> Any:
        return typing


_declare(bits.double_of_bits, types.float64, 1)
_declare(bits.bits_of_double, types.uint64, 1)
_declare(bits.multiply_high, types.uint64, 2)
_declare(bits.leading_zeros, types.uint64, 1)
_declare(bits.as_halfwords, types.CPointer(types.uint16), 1)
_declare(bits.dot_halves, types.void, 4)


def _declare_stack(function: Any, element: Any) -> None:
    """Stack buffers need their size as a literal."""

    class Template(AbstractTemplate):
        prefer_literal = True

        def generic(self, args: Any, kws: Any) -> Any:
            return signature(types.CPointer(element), *args)

    infer_global(function)(Template)


_declare_stack(bits.stack_words, types.uint64)
_declare_stack(bits.stack_halfwords, types.int16)


@lower_builtin(bits.double_of_bits, types.uint64)
def _double_of_bits(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.bitcast(args[0], ir.DoubleType())


@lower_builtin(bits.bits_of_double, types.float64)
def _bits_of_double(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.bitcast(args[0], _I64)


@lower_builtin(bits.multiply_high, types.uint64, types.uint64)
def _multiply_high(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    product = builder.mul(builder.zext(args[0], _I128), builder.zext(args[1], _I128))
    return builder.trunc(builder.lshr(product, ir.Constant(_I128, 64)), _I64)


@lower_builtin(bits.leading_zeros, types.uint64)
def _leading_zeros(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.ctlz(args[0], ir.Constant(ir.IntType(1), 0))


def _stack(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    element = context.get_value_type(sig.return_type.dtype)
    array = cgutils.alloca_once(builder, ir.ArrayType(element, sig.args[0].literal_value))
    array.align = 64
    return builder.bitcast(array, element.as_pointer())


lower_builtin(bits.stack_words, types.IntegerLiteral)(_stack)
lower_builtin(bits.stack_halfwords, types.IntegerLiteral)(_stack)


@lower_builtin(bits.as_halfwords, types.CPointer(types.uint64))
def _as_halfwords(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.bitcast(args[0], ir.IntType(16).as_pointer())


def _load(builder: Any, pointer: Any, index: Any, vector: ir.VectorType) -> Any:
    """Load a vector of half words from an element index (a 64-byte aligned place)."""
    address = builder.bitcast(builder.gep(pointer, [index]), vector.as_pointer())
    return builder.load(address, align=64)


def _lanes(builder: Any, vector: Any, first: int) -> Any:
    """Every second lane of a vector, from lane `first` on."""
    count = vector.type.count // 2
    mask = ir.Constant(ir.VectorType(ir.IntType(32), count), [first + 2 * k for k in range(count)])
    return builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), mask)


@lower_builtin(
    bits.dot_halves,
    types.CPointer(types.int16),
    types.CPointer(types.int16),
    types.CPointer(types.uint64),
    types.int64,
)
def _dot_halves(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    """Products of neighbouring halves are added in pairs, the shape of the hosts' 16-bit multiply-add instructions."""
    matrix, vector, sums, row = args
    halves, products = ir.VectorType(ir.IntType(16), 64), ir.VectorType(ir.IntType(32), 32)
    totals = ir.VectorType(_I64, 16)

    def constant(value: int) -> Any:
        return ir.Constant(_I64, value)

    def split(value: Any) -> tuple[Any, Any]:
        return tuple(builder.sext(_lanes(builder, value, first), products) for first in (0, 1))

    base = builder.mul(row, constant(256))
    rows = [split(_load(builder, matrix, builder.add(base, constant(64 * p)), halves)) for p in range(4)]
    place = builder.add(
        builder.mul(builder.and_(row, constant(3)), constant(256)),
        builder.mul(builder.lshr(row, constant(2)), constant(16)),
    )
    for cycle in range(4):
        total = ir.Constant(products, None)
        for p, (even, odd) in enumerate(rows):
            x_even, x_odd = split(_load(builder, vector, constant(256 * cycle + 64 * p), halves))
            total = builder.add(total, builder.add(builder.mul(even, x_even), builder.mul(odd, x_odd)))
        pairs = builder.add(_lanes(builder, total, 0), _lanes(builder, total, 1))
        target = builder.gep(sums, [builder.add(place, constant(64 * cycle))])
        builder.store(builder.sext(pairs, totals), builder.bitcast(target, totals.as_pointer()), align=64)
    return context.get_dummy_value()
