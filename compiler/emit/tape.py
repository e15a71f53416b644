"""A tape: the straight-line program of one element-wise operator or a chain of them, written once and read twice.

A formula records MAU and ALU operations on abstract values.  `compiler.emit.tape_code` turns the tape into VSM;
`compiler.layers.tape_eval` computes it on NumPy arrays with `floatmath`, which shares nothing with emitter and kernels.
Values are long words of one element type; flags (one bit per element) are kept in mask registers.  Operations on
integers are written as those of words of 32 bits (`iand`); on a tape of doubles they become those of 64 bits (`land`).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import dataclass, field

from compiler.errors import CompilerError

#: Operations of the MAU; all others here are the ALU's.  Float operations stand on a tape without their precision.
MAU = frozenset({"vmul", "vmulu", "vadd", "vfma", "vfmau", "vfmad", "vpassa"})
FLOAT_ALU = frozenset({"max", "min", "floor", "ftoi", "rsqrt", "relu"})


@dataclass(frozen=True)
class Form:
    """The elements of a precision, as formulas see them.

    pack: code of `struct` for a constant.  width: bits of a constant.  sign, exponent: the sign bit and the exponent
    field of a constant.  one: the number 1.  truth: the integer 1, in both words of a long word of doubles.  whole:
    from this number on none has a fraction.
    """

    pack: str
    width: int
    sign: int
    exponent: int
    one: int
    truth: int
    whole: float

    @property
    def magnitude(self) -> int:
        """All bits but the sign."""
        return (1 << self.width) - 1 ^ self.sign

    @property
    def smallest(self) -> int:
        """The smallest positive number: the lowest bit of the exponent field."""
        return self.exponent & -self.exponent


FORMS = {
    "f": Form("<f", 32, 0x80000000, 0x7F800000, 0x3F800000, 1, 2.0**23),
    "h": Form("<f", 32, 0x80008000, 0x7E007E00, 0x3E003E00, 1, 2.0**9),
    "d": Form("<d", 64, 1 << 63, 0x7FF << 52, 0x3FF << 52, 0x1_0000_0001, 2.0**52),
}


@dataclass(frozen=True)
class Val:
    """A value on the tape: an input, a constant or the result of a step; `negated` flips its sign as a MAU operand."""

    number: int
    negated: bool = False

    def __neg__(self) -> Val:
        return Val(self.number, not self.negated)


@dataclass(frozen=True)
class Flag:
    """One bit per element, in a mask register."""

    number: int


@dataclass(frozen=True)
class Step:
    """One item: `op` on `args`.

    target: the value it makes, None when only its flag is wanted.  sets: flag it makes.  masked: flag that limits what
    is written (of a value: elsewhere `kept` stays; of a flag: elsewhere it becomes 0).  flush: flag outside of which
    the result is 0.
    """

    op: str
    args: tuple[Val, ...]
    target: int | None = None
    sets: int | None = None
    masked: int | None = None
    flush: int | None = None
    kept: int | None = None


@dataclass
class Tape:
    """The record.  prec: "f" single, "h" half, "d" double.

    held: values kept in T.  true: bits that a comparison gives where it holds, if not those of a truth value.
    shared: values that other formulas on the same tape read too.
    """

    prec: str = "f"
    true: int | None = None
    inputs: list[Val] = field(default_factory=list)
    constants: dict[int, int] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    results: tuple[Val, ...] = ()
    held: set[int] = field(default_factory=set)
    shared: set[int] = field(default_factory=set)
    _values: int = 0
    _flags: int = 0

    def input(self) -> Val:
        """The next operand."""
        self.inputs.append(self._value())
        return self.inputs[-1]

    def operand(self, pattern: int | None) -> Val:
        """The next operand, or a constant in its place."""
        return self.input() if pattern is None else self.bits(pattern)

    def bits(self, pattern: int) -> Val:
        """A constant by its bits, the same in every element; equal constants are one value."""
        for number, known in self.constants.items():
            if known == pattern:
                return Val(number)
        made = self._value()
        self.constants[made.number] = pattern
        return made

    @property
    def form(self) -> Form:
        """The elements of this tape."""
        return FORMS[self.prec]

    @property
    def holds(self) -> int:
        """What a comparison gives where it holds."""
        return self.form.truth if self.true is None else self.true

    def number(self, value: float) -> Val:
        """A constant by its value, which must be a number of the tape's precision (of single precision for halves)."""
        packed = struct.pack(self.form.pack, value)
        if struct.unpack(self.form.pack, packed)[0] != value:
            raise CompilerError(f"the constant {value!r} of a formula is no single-precision number")
        return self.bits(int.from_bytes(packed, "little"))

    def nearest(self, value: float) -> Val:
        """The constant nearest to a number that a user gave."""
        return self.bits(int.from_bytes(struct.pack(self.form.pack, value), "little"))

    def _value(self) -> Val:
        self._values += 1
        return Val(self._values - 1)

    def op(
        self,
        name: str,
        *args: Val,
        flush: Flag | None = None,
        where: Flag | None = None,
        otherwise: Val | None = None,
    ) -> Val:
        """An operation of MAU or FLOAT_ALU, or an integer one by its mnemonic for words of 32 bits.

        flush: 0 where the flag is clear.  where: `otherwise` where the flag is clear; nothing else may read that
        value, unless it is an input or a constant.
        """
        if otherwise is not None and self._stays(otherwise):
            otherwise = self.op("lpassa", otherwise)
        made = self._value()
        mask = (flush.number if flush else None, where.number if where else None)
        kept = otherwise.number if otherwise is not None else None
        self.steps.append(Step(self._wide(name), args, made.number, flush=mask[0], masked=mask[1], kept=kept))
        return made

    def flag(self, name: str, *args: Val, where: Flag | None = None) -> Flag:
        """The flag of an operation (isa.md 4.5); with `where`, both must be set."""
        self._flags += 1
        self.steps.append(Step(self._wide(name), args, sets=self._flags - 1, masked=where.number if where else None))
        return Flag(self._flags - 1)

    def _stays(self, value: Val) -> bool:
        """Whether a value must not be written over: others read it, or it is no temporary."""
        return value in self.inputs or value.number in self.constants or value.number in self.shared

    def _wide(self, name: str) -> str:
        """An integer operation in the width of the elements."""
        return name.replace("i", "l", 1) if self.prec == "d" and name.startswith(("i", "ui")) else name

    def where(self, flag: Flag, value: Val, otherwise: Val) -> Val:
        """`value` where the flag is set, else `otherwise`, which only this may read unless it is input or constant."""
        return self.op("lpassa", value, where=flag, otherwise=otherwise)

    def hold(self, value: Val) -> Val:
        """Keep a result in T, which leaves both GRFs to others; T holds one value at a time, up to its last reader."""
        self.held.add(value.number)
        return value

    # -- arithmetic by name ---------------------------------------------------------------------------------

    def mul(self, x: Val, y: Val) -> Val:
        """x * y."""
        return self.op("vmul", x, y)

    def add(self, x: Val, y: Val) -> Val:
        """x + y."""
        return self.op("vadd", x, y)

    def fma(self, x: Val, y: Val, z: Val) -> Val:
        """x * y + z."""
        return self.op("vfma", x, y, z)

    def plain(self, result: Val) -> Val:
        """What a formula gives as a value that has its own sign."""
        return self.op("vpassa", result) if result.negated else result

    def share(self, result: Val) -> Val:
        """The result of one formula of several, `plain` and for any number of readers."""
        made = self.plain(result)
        self.shared.add(made.number)
        return made

    def finish(self, *results: Val) -> None:
        """Set the results, each another one; a copy is made of one that no step makes."""
        plain = [self.plain(result) for result in results]
        made = {step.target for step in self.steps}
        self.results = tuple(result if result.number in made else self.op("lpassa", result) for result in plain)


Formula = Callable[..., Val]
