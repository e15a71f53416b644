"""A tape computed on NumPy arrays: the reference of every element-wise layer, bit for bit.

Single precision and 32-bit integers follow `floatmath`, double precision and 64-bit integers `doublemath`; half
precision has the few operations that half tapes use.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.emit.tape import Step, Tape, Val
from compiler.layers import doublemath as dm
from compiler.layers import floatmath as fm
from compiler.layers.halfmath import float_to_half, half_to_float

Raw = NDArray[Any]
Operation = Callable[..., Raw]


def _pick(choose: fm.Mask, x: Raw, y: Raw) -> Raw:
    return np.asarray(np.where(choose, x, y))


def _signed(x: Raw) -> Raw:
    return np.ascontiguousarray(x).view(np.dtype(f"int{8 * x.dtype.itemsize}"))


_BITS: Mapping[str, Operation] = {
    "lpassa": lambda x: x,
    "iand": lambda x, y: x & y,
    "ior": lambda x, y: x | y,
    "ixor": lambda x, y: x ^ y,
    "land": lambda x, y: x & y,
    "lxor": lambda x, y: x ^ y,
    "iadd": lambda x, y: x + y,
    "isub": lambda x, y: x - y,
    "imax": lambda x, y: _pick(_signed(x) >= _signed(y), x, y),
    "imin": lambda x, y: _pick(_signed(x) <= _signed(y), x, y),
    "ilnot": lambda x: (x == 0).astype(x.dtype),
    "ilsl": fm.shift_left,
    "uilsr": fm.shift_right,
    "ilsr": fm.shift_right_signed,
}

_SINGLE: Mapping[str, Operation] = {
    "vmul": fm.mul,
    "vadd": fm.add,
    "vfma": fm.fma,
    "vpassa": fm.normalise,
    "max": fm.maximum,
    "min": fm.minimum,
    "relu": fm.relu,
    "floor": fm.floor,
    "ftoi": fm.to_integer,
    "rsqrt": fm.rsqrt,
}

_DOUBLE: Mapping[str, Operation] = {
    **{name.replace("i", "l", 1): operation for name, operation in _BITS.items() if name.startswith("i")},
    "vmul": dm.mul,
    "vadd": dm.add,
    "vfma": dm.fma,
    "vpassa": dm.normalise,
    "max": dm.maximum,
    "min": dm.minimum,
    "relu": dm.relu,
    "floor": dm.floor,
    "ftoi": dm.to_integer,
    "rsqrt": dm.rsqrt,
    "llsl": dm.shift_left,
    "ullsr": dm.shift_right,
    "llsr": dm.shift_right_signed,
}


def _half_add(x: Raw, y: Raw) -> Raw:
    return float_to_half(_float_bits(fm.add(_single_bits(x), _single_bits(y))))


def _half_mul(x: Raw, y: Raw) -> Raw:
    return float_to_half(_float_bits(fm.mul(_single_bits(x), _single_bits(y))))


def _single_bits(x: Raw) -> NDArray[np.uint32]:
    return half_to_float(x).view(np.uint32)


def _float_bits(x: Raw) -> NDArray[np.float32]:
    return np.ascontiguousarray(x).view(np.float32)


def _half_choice(flag: Callable[[Raw, Raw], fm.Mask]) -> Operation:
    return lambda x, y: _pick(flag(_single_bits(x), _single_bits(y)), x, y)


_HALF: Mapping[str, Operation] = {
    "vmul": _half_mul,
    "vadd": _half_add,
    "max": _half_choice(fm.at_least),
    "min": _half_choice(fm.at_most),
    "relu": lambda x, y: np.where(x >> np.uint16(15) == 0, y, np.uint16(0x8000)),
}

_FLAGS: Mapping[str, Operation] = {
    "max": fm.at_least,
    "min": fm.at_most,
    "imax": lambda x, y: _signed(x) >= _signed(y),
    "imin": lambda x, y: _signed(x) <= _signed(y),
    "iand": lambda x, y: x & y == 0,
    "ixor": lambda x, y: x == y,
    "ipassa": lambda x: x == 0,
}
_DOUBLE_FLAGS: Mapping[str, Operation] = {
    "max": dm.at_least,
    "min": dm.at_most,
    **{name.replace("i", "l", 1): _FLAGS[name] for name in _FLAGS if name.startswith("i")},
}


@dataclass(frozen=True)
class _Model:
    """A precision: type of its raw elements, and what its operations and their flags are."""

    raw: type[np.unsignedinteger[Any]]
    operations: Mapping[str, Operation]
    flags: Mapping[str, Operation]


_MODELS = {
    "f": _Model(np.uint32, {**_BITS, **_SINGLE}, _FLAGS),
    "h": _Model(np.uint16, {**_BITS, **_HALF}, _FLAGS),
    "d": _Model(np.uint64, {**_BITS, **_DOUBLE}, _DOUBLE_FLAGS),
}


def evaluate(tape: Tape, inputs: Sequence[Raw]) -> Raw:
    """The first result of `evaluate_all`."""
    return evaluate_all(tape, inputs)[0]


def evaluate_all(tape: Tape, inputs: Sequence[Raw]) -> list[Raw]:
    """The results for raw element bits (uint32; uint16 for a half tape, uint64 for one of doubles).

    Inputs broadcast as NumPy does.  Integers of 32 bits on a tape of doubles fill both words of a long word.
    """
    model = _MODELS[tape.prec]
    raw, every = model.raw, (1 << 8 * model.raw().itemsize) - 1
    sign = raw(tape.form.sign & every)
    shape = np.broadcast_shapes(*(x.shape for x in inputs))
    values: dict[int, Raw] = {
        val.number: np.atleast_1d(np.broadcast_to(_spread(x, raw), shape))
        for val, x in zip(tape.inputs, inputs, strict=True)
    }
    values |= {n: np.array([bits & every], raw) for n, bits in tape.constants.items()}
    flags: dict[int, fm.Mask] = {}

    def read(val: Val) -> Raw:
        return values[val.number] ^ sign if val.negated else values[val.number]

    for step in tape.steps:
        _run(step, [read(val) for val in step.args], model, values, flags)
    return [np.broadcast_to(values[val.number], shape or (1,)).astype(raw).reshape(shape) for val in tape.results]


def _spread(x: Raw, raw: type[np.unsignedinteger[Any]]) -> Raw:
    return x * np.uint64(0x1_0000_0001) if raw is np.uint64 and x.dtype == np.uint32 else x


def _run(step: Step, args: list[Raw], model: _Model, values: dict[int, Raw], flags: dict[int, fm.Mask]) -> None:
    if step.sets is not None:
        made = model.flags[step.op](*args)
        flags[step.sets] = made & flags[step.masked] if step.masked is not None else made
        return
    result = model.operations[step.op](*args)
    if step.flush is not None:
        result = np.where(flags[step.flush], result, result.dtype.type(0))
    if step.masked is not None:
        assert step.kept is not None
        result = np.where(flags[step.masked], result, values[step.kept])
    assert step.target is not None
    values[step.target] = result
