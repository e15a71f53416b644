"""A tape as VSM: four long words a step, temporaries in GRF0 and GRF1, results of the step before by forwarding.

Each memory can be read at one address in a step, so operands that meet in an item must lie in different memories:
temporaries are two-coloured over the GRFs, constants are loaded into the banks that need them, and of two operands in
the same local memory one is copied first.  Groups of four long words rotate through sets of registers, so that
`isa.pack` can overlap them.  A value that ends inside a group of four is finished by writing its last long words twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

from compiler.emit.asm import Asm
from compiler.emit.tape import FLOAT_ALU, MAU, Step, Tape, Val
from compiler.errors import CompilerError

GRF_WORDS = 512
QUAD = 8
MASKS = 15
MOST_SETS = 8
BANKS = "rs"
#: From this many groups on, an operand that is the same for all of them is loaded into a register once.
FEW_GROUPS = 3
MSB = 0x80000000


@dataclass(frozen=True)
class Place:
    """An operand in local memory: letter, word address, and the long word that each long word of the result reads."""

    lm: str
    addr: int
    lws: tuple[int, ...]

    @property
    def invariant(self) -> bool:
        """The same long word for every element of the result."""
        return len(set(self.lws)) == 1

    def text(self, cycles: Sequence[int]) -> str:
        """Operand for the long words `cycles` of the result."""
        return f"$l{self.lm}{address([self.addr + 2 * self.lws[lw] for lw in cycles])}"


def address(words: Sequence[int]) -> str:
    """The shortest spelling of four word addresses of long words."""
    first, step = words[0], words[1] - words[0]
    if step == 0 and len(set(words)) == 1:
        return str(first)
    if step > 0 and list(words) == [first + step * c for c in range(4)]:
        return f"{first}v" if step == 2 else f"{first}v{step}"
    return "[" + ",".join(map(str, words)) + "]"


def groups(num_lw: int) -> Iterator[list[int]]:
    """The long words of every step; the last ones repeat where fewer than four are left."""
    for first in range(0, num_lw, 4):
        yield [min(first + c, num_lw - 1) for c in range(4)]


def emit_tape(asm: Asm, tape: Tape, operands: Sequence[Place], result: Place) -> None:
    """Code of `tape` for every long word of `result`."""
    steps, places, loads = _bind(tape, operands, result)
    homes = _Homes(tape, steps, places, loads)
    for bank, register, pattern in homes.constants():
        asm.op(f'imm ui"{pattern:#010x}" $l{bank}{register}')
    for number, place in loads.items():
        for bank in homes.of[number]:
            asm.op(f"lpassa $l{place.lm}{place.addr + 2 * place.lws[0]} $l{bank}{homes.fixed[bank, number]}")
    for turn, cycles in enumerate(groups(len(result.lws))):
        for position in range(len(steps)):
            asm.op(homes.item(position, turn, cycles, result))


def _bind(
    tape: Tape, operands: Sequence[Place], result: Place
) -> tuple[list[Step], dict[int, Place], dict[int, Place]]:
    """Steps with copies for operands that share a memory with another or with the result of the step; operands read
    in place; operands loaded once.
    """
    places = {val.number: place for val, place in zip(tape.inputs, operands, strict=True)}
    loads = {}
    if -(-len(result.lws) // 4) >= FEW_GROUPS:
        loads = {number: place for number, place in places.items() if place.invariant}
    renamed: dict[int, int] = {}
    copies: list[Step] = []
    fresh = 1 + max([s.target or 0 for s in tape.steps] + [v.number for v in tape.inputs] + list(tape.constants))
    finals = _finals(tape)
    for step in tape.steps:
        seen = {result.lm: result} if step.target in finals else {}
        for val in step.args:
            place = places.get(val.number)
            if place is None or val.number in loads or val.number in renamed:
                continue
            if seen.setdefault(place.lm, place) != place:
                renamed[val.number] = fresh
                copies.append(Step("lpassa", (Val(val.number),), fresh))
                fresh += 1
    steps = [
        replace(step, args=tuple(replace(val, number=renamed.get(val.number, val.number)) for val in step.args))
        for step in tape.steps
    ]
    return copies + steps, {n: p for n, p in places.items() if n not in loads}, loads


def _finals(tape: Tape) -> set[int | None]:
    """The result and the values that masked writes complete to it."""
    assert tape.result is not None
    found: set[int | None] = {tape.result.number}
    for step in reversed(tape.steps):
        if step.target in found and step.kept is not None:
            found.add(step.kept)
    return found


class _Homes:
    """Where every value of a tape is while a group is computed."""

    def __init__(self, tape: Tape, steps: list[Step], places: dict[int, Place], loads: dict[int, Place]) -> None:
        self._tape, self._steps, self._places = tape, steps, places
        self._fixed_values = {*tape.constants, *loads}
        assert tape.result is not None
        self._result = tape.result.number
        self._merged = {step.kept: step.target for step in steps if step.kept is not None}
        self._made = {step.target: step for step in steps if step.target is not None}
        self.of: dict[int, set[str]] = {}
        self._colour(self._stored())
        for position in range(len(steps)):
            self._place_fixed(position)
        self.fixed: dict[tuple[str, int], int] = {}
        self._quads: dict[tuple[str, int], int] = {}
        self._first: dict[str, int] = {}
        self._size: dict[str, int] = {}
        for bank in BANKS:
            fixed = [n for n in self.of if n in self._fixed_values and bank in self.of[n]]
            self.fixed |= {(bank, n): 2 * k for k, n in enumerate(fixed)}
            quads = [n for n in self.of if n not in self._fixed_values and bank in self.of[n]]
            self._quads |= {(bank, n): QUAD * k for k, n in enumerate(quads)}
            self._first[bank] = -(-2 * len(fixed) // QUAD) * QUAD
            self._size[bank] = QUAD * len(quads)
        flags = sum(step.sets is not None for step in steps)
        rooms = [(GRF_WORDS - self._first[b]) // self._size[b] for b in BANKS if self._size[b]]
        self._sets = min([MOST_SETS, *rooms, *([MASKS // flags] if flags else [])])
        self._flags = flags
        if self._sets < 1:
            raise CompilerError(f"a tape of {len(steps)} steps needs more registers than the PE has")

    def constants(self) -> Iterator[tuple[str, int, int]]:
        """(bank, register, pattern of 32 bits) of every constant."""
        for (bank, number), register in self.fixed.items():
            if number in self._tape.constants:
                yield bank, register, self._tape.constants[number]

    def _owner(self, number: int) -> int:
        """The value whose register holds `number`: a masked write shares that of what it is written over."""
        while number in self._merged:
            number = self._merged[number]  # type: ignore[assignment]
        return number

    def _latched(self, number: int, position: int) -> bool:
        """Whether step `position` finds the value in the forwarding latch of the step before."""
        if position == 0:
            return False
        before = self._steps[position - 1]
        return before.target == number and before.masked is None

    def _stored(self) -> set[int]:
        """Values that are read later than in the next step, and those that are completed by masked writes."""
        stored = {self._owner(number) for number in self._merged if number is not None}
        for position, step in enumerate(self._steps):
            for val in step.args:
                if val.number in self._made and not self._latched(val.number, position):
                    stored.add(self._owner(val.number))
        return stored - {self._result}

    def _read(self, position: int) -> list[int]:
        """Owners of the values that a step reads from the GRFs."""
        found: list[int] = []
        for val in self._steps[position].args:
            if val.number in self._places or self._latched(val.number, position) or self._is_msb(position, val):
                continue
            owner = self._owner(val.number)
            if owner not in found:
                found.append(owner)
        return found

    def _is_msb(self, position: int, val: Val) -> bool:
        """Whether the fixed input `$msb1` serves: the first source of an ALU operation on words."""
        step = self._steps[position]
        return self._tape.constants.get(val.number) == MSB and step.op.startswith("i") and step.args[0] is val

    def _colour(self, stored: set[int]) -> None:
        pairs = {n: set[int]() for n in stored}
        for position in range(len(self._steps)):
            read = [n for n in self._read(position) if n in stored]
            for a in read:
                pairs[a] |= {b for b in read if b != a}
        for start in sorted(stored):
            queue = [start]
            while queue:
                number = queue.pop()
                if number in self.of:
                    continue
                taken = [self.of[n] for n in pairs[number] if n in self.of]
                free = [bank for bank in BANKS if all(banks != {bank} for banks in taken)]
                self.of[number] = {free[0]} if free else set(BANKS)
                queue += sorted(pairs[number])

    def _place_fixed(self, position: int) -> None:
        """Load the constants of a step into banks that its other operands leave free."""
        read = self._read(position)
        if self._banks(read) is not None:
            return
        for wanted in permutations(BANKS, len(read)):
            if all(bank in self.of.get(n, ()) or n in self._fixed_values for n, bank in zip(read, wanted, strict=True)):
                for n, bank in zip(read, wanted, strict=True):
                    self.of.setdefault(n, set()).add(bank)
                return
        step = self._steps[position]
        raise CompilerError(f"step {position} of a tape reads {len(read)} values from the GRFs: {step}")

    def _banks(self, read: Sequence[int]) -> dict[int, str] | None:
        """A different bank for every value, if their homes allow it."""
        for wanted in permutations(BANKS, len(read)):
            if all(bank in self.of.get(n, ()) for n, bank in zip(read, wanted, strict=True)):
                return dict(zip(read, wanted, strict=True))
        return None

    def item(self, position: int, turn: int, cycles: Sequence[int], result: Place) -> str:
        """Text of a step for one group of long words."""
        step, tape = self._steps[position], self._tape
        rotation = turn % self._sets
        banks = self._banks(self._read(position))
        assert banks is not None
        sources = []
        for index, val in enumerate(step.args):
            text = self._source(position, val, banks, rotation, cycles)
            sources.append(("-" if val.negated else "") + text + _widening(tape.prec, step.op, index))
        name = _mnemonic(tape.prec, step.op)
        if step.flush is not None:
            name += f"/$imr{self._mask(step.flush, rotation)}"
        mask = "" if step.masked is None else f"/$imr{self._mask(step.masked, rotation)}"
        if step.sets is not None:
            targets = [f"$omr{self._mask(step.sets, rotation)}"]
        elif self._owner(step.target or 0) == self._result:
            targets = [result.text(cycles)]
        else:
            owner = self._owner(step.target or 0)
            targets = [f"$l{bank}{self._register(bank, owner, rotation)}v" for bank in sorted(self.of.get(owner, ()))]
        return " ".join([name, *sources, *(target + mask for target in targets or ["$nowrite"])])

    def _source(self, position: int, val: Val, banks: dict[int, str], rotation: int, cycles: Sequence[int]) -> str:
        if self._latched(val.number, position):
            return "$mauf" if self._steps[position - 1].op in MAU else "$aluf"
        if val.number in self._places:
            return self._places[val.number].text(cycles)
        if self._is_msb(position, val):
            return "$msb1"
        owner = self._owner(val.number)
        bank = banks[owner]
        if owner in self._fixed_values:
            return f"$l{bank}{self.fixed[bank, owner]}"
        return f"$l{bank}{self._register(bank, owner, rotation)}v"

    def _register(self, bank: str, number: int, rotation: int) -> int:
        return self._first[bank] + rotation * self._size[bank] + self._quads[bank, number]

    def _mask(self, flag: int, rotation: int) -> int:
        return 1 + rotation * self._flags + flag


def _mnemonic(prec: str, op: str) -> str:
    if op in MAU:
        return prec + op + ("r" if prec == "h" else "")
    return prec + op if op in FLOAT_ALU else op


def _widening(prec: str, op: str, index: int) -> str:
    """Half operands of the single-precision adder are widened."""
    return "e" if prec == "h" and (op, index) in (("vadd", 1), ("vfma", 2)) else ""

