"""Vector code for the fast kernels: LLVM values with Python operators, and the body of a row kernel.

A *row kernel* is a kernel of `hw.kernels.abi` that finds its operands in a table of row addresses instead of in tiles:
its first pointer is ``int64[32]``, entry ``operand * 8 + lw * 4 + cycle`` with operands 0..2 the sources and 3 the
result.  A row is 64 long words, ``[p][m]``.  Addresses come from memory, so the compiler assumes nothing about overlap;
every row kernel says which overlaps it allows.  Row kernels never write flags.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from hw.kernels.abi import Kernel, Kind

I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))
F32, F64 = ir.FloatType(), ir.DoubleType()
ROW_BYTES = 512
OUT = 3


@dataclass(frozen=True, slots=True)
class RowKernel:
    """A fast kernel and what the engine must know of it.

    long_words: how many long words it reads of each source.  The result may lie exactly on rows of a source, cycle by
    cycle and long word by long word; sources in `free` are read before anything is written, so they may overlap the
    result in any way.  decoder: kernel that prepares the matrix plane; the row kernel then gets the decoded plane as
    `mat` and may refuse (par[7] = 1, nothing written).
    """

    kernel: Kernel
    long_words: tuple[int, ...]
    free: frozenset[int] = frozenset()
    decoder: Kernel | None = None


class Vec:
    """An LLVM vector (or scalar) value; operators emit instructions.  `>>` is logical."""

    __slots__ = ("code", "value")

    def __init__(self, code: Code, value: Any) -> None:
        self.code = code
        self.value = value

    @property
    def type(self) -> Any:
        """The LLVM type."""
        return self.value.type

    @property
    def element(self) -> Any:
        """The LLVM type of a lane."""
        return self.type.element if isinstance(self.type, ir.VectorType) else self.type

    def _other(self, other: Vec | float) -> Any:
        return other.value if isinstance(other, Vec) else self.code.constant(self.type, other)

    def _emit(self, name: str, other: Vec | float) -> Vec:
        prefix = "f" if isinstance(self.element, ir.FloatType | ir.DoubleType) else ""
        return Vec(self.code, getattr(self.code.builder, prefix + name)(self.value, self._other(other)))

    def __add__(self, other: Vec | float) -> Vec:
        return self._emit("add", other)

    def plus(self, other: Vec | int) -> Vec:
        """Sum of signed integers that does not leave their range; constants then move into comparisons."""
        return Vec(self.code, self.code.builder.add(self.value, self._other(other), flags=("nsw",)))

    def __sub__(self, other: Vec | float) -> Vec:
        return self._emit("sub", other)

    def __mul__(self, other: Vec | float) -> Vec:
        return self._emit("mul", other)

    def _integer(self, name: str, other: Vec | float) -> Vec:
        return Vec(self.code, getattr(self.code.builder, name)(self.value, self._other(other)))

    def __and__(self, other: Vec | int) -> Vec:
        return self._integer("and_", other)

    def __or__(self, other: Vec | int) -> Vec:
        return self._integer("or_", other)

    def __xor__(self, other: Vec | int) -> Vec:
        return self._integer("xor", other)

    def __lshift__(self, other: Vec | int) -> Vec:
        return self._integer("shl", other)

    def __rshift__(self, other: Vec | int) -> Vec:
        return self._integer("lshr", other)

    def ashr(self, other: Vec | int) -> Vec:
        """Arithmetic shift right."""
        return self._integer("ashr", other)

    def constant(self, value: float) -> Vec:
        """A constant of this type."""
        return Vec(self.code, self.code.constant(self.type, value))

    def compare(self, how: str, other: Vec | float) -> Vec:
        """Mask of signed integer (or ordered float) comparison `how`."""
        floating = isinstance(self.element, ir.FloatType | ir.DoubleType)
        emit = self.code.builder.fcmp_ordered if floating else self.code.builder.icmp_signed
        return Vec(self.code, emit(how, self.value, self._other(other)))

    def below(self, other: Vec | int) -> Vec:
        """Mask of the unsigned comparison <."""
        return Vec(self.code, self.code.builder.icmp_unsigned("<", self.value, self._other(other)))

    def select(self, yes: Vec, no: Vec | float) -> Vec:
        """`yes` where this mask is set, else `no`."""
        return Vec(self.code, self.code.builder.select(self.value, yes.value, yes._other(no)))

    def any(self) -> Any:
        """Is a lane of this mask set?  (i1 value)"""
        count = self.type.count
        bits = self.code.builder.bitcast(self.value, ir.IntType(count))
        return self.code.builder.icmp_unsigned("!=", bits, ir.Constant(ir.IntType(count), 0))

    def nonzero(self) -> Any:
        """Is a bit of this vector set?  (i1 value)  As one wide comparison, which LLVM does not take apart again."""
        whole = ir.IntType(self.type.count * _width(self.element))
        bits = self.code.builder.bitcast(self.value, whole)
        return self.code.builder.icmp_unsigned("!=", bits, ir.Constant(whole, 0))

    def max(self, other: Vec | int) -> Vec:
        """Signed maximum."""
        bound = Vec(self.code, self._other(other))
        return self.compare(">", bound).select(self, bound)

    def min(self, other: Vec | int) -> Vec:
        """Signed minimum."""
        bound = Vec(self.code, self._other(other))
        return self.compare("<", bound).select(self, bound)

    def cast(self, how: str, element: Any) -> Vec:
        """sext, zext, trunc, sitofp, uitofp, fpext or fptrunc to elements of another type."""
        return Vec(self.code, getattr(self.code.builder, how)(self.value, self.code.like(self.type, element)))

    def bits(self, element: Any) -> Vec:
        """The same bits as elements of another type."""
        vector, width = self.type, self.type.count * _width(self.element)
        target = ir.VectorType(element, width // _width(element))
        return self if vector == target else Vec(self.code, self.code.builder.bitcast(self.value, target))

    def lanes(self, order: Sequence[int], other: Vec | None = None) -> Vec:
        """Shuffle of this vector (and of `other`, whose lanes count on)."""
        mask = ir.Constant(ir.VectorType(I32, len(order)), list(order))
        second = other.value if other is not None else ir.Constant(self.type, ir.Undefined)
        return Vec(self.code, self.code.builder.shuffle_vector(self.value, second, mask))


def _width(element: Any) -> int:
    if isinstance(element, ir.IntType):
        return int(element.width)
    return 32 if isinstance(element, ir.FloatType) else 64


class Code:
    """What a row kernel's builder function needs of LLVM."""

    def __init__(self, builder: Any, table: Any, features: str = "") -> None:
        self.builder = builder
        self._table = table
        self._features = frozenset(features.split(","))

    def has_feature(self, name: str) -> bool:
        """Does the processor that the code is made for (it is part of the cache key) have this LLVM feature?"""
        return f"+{name}" in self._features

    def call(self, name: str, result: Any, *arguments: Vec) -> Vec:
        """Call an LLVM intrinsic."""
        from numba.core import cgutils

        kind = ir.FunctionType(result, [argument.type for argument in arguments])
        function = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return Vec(self, self.builder.call(function, [argument.value for argument in arguments]))

    def constant(self, kind: Any, value: float) -> Any:
        """A constant, the same in all lanes."""
        if isinstance(kind, ir.VectorType):
            return ir.Constant(kind, [self._scalar(kind.element, value)] * kind.count)
        return ir.Constant(kind, self._scalar(kind, value))

    @staticmethod
    def _scalar(kind: Any, value: float) -> Any:
        return value & (1 << kind.width) - 1 if isinstance(kind, ir.IntType) and isinstance(value, int) else value

    def vector(self, element: Any, count: int, value: float) -> Vec:
        """A constant vector."""
        return Vec(self, self.constant(ir.VectorType(element, count), value))

    @staticmethod
    def like(kind: Any, element: Any) -> Any:
        """The type of as many elements of another kind."""
        return ir.VectorType(element, kind.count) if isinstance(kind, ir.VectorType) else element

    def int64(self, value: int) -> Any:
        """A scalar constant."""
        return ir.Constant(I64, value)

    def row(self, operand: int, lw: int, cycle: Any) -> Any:
        """Address (i64) of a row; `cycle` is an int or an i64 value."""
        index = operand * 8 + lw * 4
        place = self.int64(index + cycle) if isinstance(cycle, int) else self.builder.add(cycle, self.int64(index))
        return self.builder.load(self.builder.gep(self._table, [place]), align=8)

    def _pointer(self, address: Any, offset: Any, kind: Any) -> Any:
        where = self.int64(offset) if isinstance(offset, int) else offset
        return self.builder.inttoptr(self.builder.add(address, where), kind.as_pointer())

    def load(self, address: Any, offset: Any, element: Any, count: int) -> Vec:
        """`count` elements at address + offset bytes (i64 values or ints)."""
        kind = ir.VectorType(element, count)
        return Vec(self, self.builder.load(self._pointer(address, offset, kind), align=8))

    def store(self, value: Vec, address: Any, offset: Any) -> None:
        """Store a vector at address + offset bytes."""
        self.builder.store(value.value, self._pointer(address, offset, value.type), align=8)

    def branch(self, condition: Any, yes: Callable[[], Vec], no: Callable[[], Vec]) -> Vec:
        """The value of `yes` or `no`; only one of them runs.  `condition` is an i1 value."""
        with self.builder.if_else(condition, likely=False) as (then, otherwise):
            with then:
                first = yes().value
                first_end = self.builder.block
            with otherwise:
                second = no().value
                second_end = self.builder.block
        joined = self.builder.phi(first.type)
        joined.add_incoming(first, first_end)
        joined.add_incoming(second, second_end)
        return Vec(self, joined)

    def stack(self, size: int) -> Any:
        """Address (i64) of `size` uninitialised bytes on the stack, 64-byte aligned."""
        from numba.core import cgutils

        array = cgutils.alloca_once(self.builder, ir.ArrayType(I8, size))
        array.align = 64
        return self.builder.ptrtoint(array, I64)

    def loop(self, count: int) -> Any:
        """Context manager: a loop whose target has `.index` (i64)."""
        from numba.core import cgutils

        return cgutils.for_range(self.builder, self.int64(count))


Build = Callable[[Code, Sequence[Any]], None]


def row_body(build: Build) -> Callable[..., None]:
    """Kernel body from a builder function (code, the seven pointers of the calling convention)."""

    def body(s0: Any, s1: Any, s2: Any, out: Any, flags: Any, mat: Any, par: Any) -> None:
        raise RuntimeError("row kernels exist in compiled form only")

    body.build = build  # type: ignore[attr-defined]
    return body


def row_kernel(
    general: Kernel,
    build: Build,
    long_words: tuple[int, ...],
    free: frozenset[int] = frozenset(),
    decoder: Kernel | None = None,
) -> tuple[Kernel, RowKernel]:
    """An entry of `hw.kernels.fast.FAST`: the stand-in of `general`."""
    kernel = Kernel(f"fast.{general.name}", Kind.LANES, row_body(build), general.reference)
    return general, RowKernel(kernel, long_words, free, decoder)
