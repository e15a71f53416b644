"""A tape as VSM: four long words a step, temporaries in GRF0 and GRF1, results of the step before by forwarding.

Each memory can be read at one address in a step, so operands that meet in an item must lie in different memories:
temporaries are two-coloured over the GRFs, or held in T where the formula says so; constants are loaded into the banks
that need them, those of the ALU into GRF0 and those of the MAU into GRF1 if there is a choice, so that both units can
work in one line.  The MAU multiplies doubles for two of the four PEs at a time, so that a product takes two items
(isa.md 9.3).  An operand that meets another one of its local memory in an item, or a result, is copied to a GRF
before, for several groups of four long words at a time.  Where an item reads three values from two GRFs, a copy in the
step before brings one of them by forwarding.  The groups rotate through sets of registers, so that `isa.pack` can
overlap them; in a long tape, values take over the registers of those that were read for the last time.  A value that
ends inside a group is finished by writing its last long words twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import permutations

from compiler.emit.asm import Asm, flat
from compiler.emit.tape import FLOAT_ALU, MAU, Step, Tape, Val
from compiler.emit.tape_binding import Bound, Place, address, bind
from compiler.errors import CompilerError

GRF_WORDS = 512
QUAD = 8
MASKS = 15
MOST_SETS = 8
#: With fewer sets, values share registers.
FEW_SETS = 2
BANKS = "rs"
MSB = 0x80000000


def groups(num_lw: int) -> Iterator[list[int]]:
    """The long words of every step; the last ones repeat where fewer than four are left."""
    for first in range(0, num_lw, 4):
        yield [min(first + c, num_lw - 1) for c in range(4)]


def emit_tape(asm: Asm, tape: Tape, operands: Sequence[Place], *results: Place) -> None:
    """Code of `tape` for every long word of `results`, which lie alike."""
    bound = bind(tape, operands, results)
    homes = _Homes(tape, bound)
    for bank, register, pattern in homes.constants():
        _load_constant(asm, f"{bank}{register}", f"{bank}{register + 1}", pattern, tape.form.width)
    for number, place in bound.loads.items():
        for bank in homes.of[number]:
            asm.op(f"lpassa $l{place.lm}{place.addr + 2 * place.lws[0]} $l{bank}{homes.fixed[bank, number]}")
    everything = list(groups(len(results[0].lws)))
    for first in range(0, len(everything), homes.sets):
        batch = everything[first : first + homes.sets]
        homes.put_together = {n: place.distinct(batch) for n, place in bound.copies.items() if place.words}
        for number, place in bound.copies.items():
            for bank in sorted(homes.of[number]):
                _copy(asm, place, batch, bank, homes.copied[bank, number])
        for turn, cycles in enumerate(batch):
            for position in range(homes.length):
                asm.op(homes.item(position, turn, cycles))


def _load_constant(asm: Asm, register: str, second: str, pattern: int, width: int) -> None:
    """A constant into a long word, whose words are `register` and `second`: one of 32 bits into both of them."""
    high, low = pattern >> 32, pattern & 0xFFFFFFFF
    if width == 32 or high == low:
        asm.op(f'imm ui"{low:#010x}" $l{register}')
    elif not low:
        asm.op(f'immu ui"{high:#010x}" $l{register}')
    else:
        asm.op(f'imm ui"{high:#010x}" ${register}')
        asm.op(f'imm ui"{low:#010x}" ${second}')


def _copy(asm: Asm, place: Place, batch: Sequence[Sequence[int]], bank: str, register: int) -> None:
    """The operand of a batch of groups into consecutive registers, two groups an item where their words follow on."""
    if place.words is not None:
        sources = [place.addr + word for lw in place.distinct(batch) for word in place.words[lw]]
        for k in range(0, len(sources), 4):
            four = [min(n, len(sources) - 1) for n in range(k, k + 4)]
            asm.op(f"ipassa ${place.lm}{flat([sources[n] for n in four])} ${bank}{flat([register + n for n in four])}")
        return
    turn = 0
    while turn < len(batch):
        words = [place.addr + 2 * place.lws[lw] for cycles in batch[turn : turn + 2] for lw in cycles]
        target = register + QUAD * turn
        if words[0] % 4 == 0 and words == list(range(words[0], words[0] + 16, 2)):
            asm.op(f"lpassa $ll{place.lm}{words[0]}v $ll{bank}{target}v")
            turn += 2
        else:
            asm.op(f"lpassa {place.text(batch[turn])} $l{bank}{target}v")
            turn += 1


class _Homes:
    """Where every value of a tape is while a group is computed."""

    def __init__(self, tape: Tape, bound: Bound) -> None:
        self._tape, self._steps, self._places = tape, list(bound.steps), bound.places
        self._fixed_values = {*tape.constants, *bound.loads}
        self._copied_places = bound.copies
        #: long words in the registers of the copies that were put together from words, for the present groups
        self.put_together: dict[int, list[int]] = {}
        self._results = bound.results
        self._merged = {step.kept: step.target for step in self._steps if step.kept is not None}
        self._made = {*(step.target for step in self._steps if step.target is not None), *bound.copies}
        self._forward_thirds()
        self._check_held()
        self.of: dict[int, set[str]] = {}
        self._colour(self._stored())
        for position in range(len(self._steps)):
            self._place_fixed(position)
        self.fixed: dict[tuple[str, int], int] = {}
        self._quads: dict[tuple[str, int], int] = {}
        self._first: dict[str, int] = {}
        self._size: dict[str, int] = {}
        self._copies: dict[str, list[int]] = {}
        self._flags = sum(step.sets is not None for step in self._steps)
        for bank in BANKS:
            fixed = [n for n in self.of if n in self._fixed_values and bank in self.of[n]]
            self.fixed |= {(bank, n): 2 * k for k, n in enumerate(fixed)}
            self._first[bank] = -(-2 * len(fixed) // QUAD) * QUAD
            self._copies[bank] = [n for n in bound.copies if bank in self.of.get(n, ())]
        self.sets = self._place_temporaries(reuse=False)
        if self.sets < FEW_SETS:
            self.sets = self._place_temporaries(reuse=True)
        if self.sets < 1:
            raise CompilerError(f"a tape of {len(self._steps)} steps needs more registers than the PE has")
        self.copied = {
            (bank, n): self._first[bank] + self.sets * (self._size[bank] + QUAD * k)
            for bank in BANKS
            for k, n in enumerate(self._copies[bank])
        }

    @property
    def length(self) -> int:
        """Items for one group of long words."""
        return len(self._steps)

    def _place_temporaries(self, *, reuse: bool) -> int:
        """Give every temporary registers, or with `reuse` those of one that nothing reads any more; returns how many
        sets of them there is room for.
        """
        ends = {self._owner(val.number): position for position, step in enumerate(self._steps) for val in step.args}
        rooms = [MOST_SETS, *([MASKS // self._flags] if self._flags else [])]
        for bank in BANKS:
            taken: list[int] = []  # by slot: the last step that reads it
            placed: set[int] = set()
            for position, step in enumerate(self._steps):
                owner = self._owner(step.target) if step.target is not None else None
                if owner is None or owner in placed or bank not in self.of.get(owner, ()):
                    continue
                slot = next((k for k, end in enumerate(taken) if reuse and end < position), len(taken))
                taken[slot : slot + 1] = [ends.get(owner, position)]
                self._quads[bank, owner] = QUAD * slot
                placed.add(owner)
            self._size[bank] = QUAD * len(taken)
            each = self._size[bank] + QUAD * len(self._copies[bank])
            rooms += [(GRF_WORDS - self._first[bank]) // each] if each else []
        return min(rooms)

    def constants(self) -> Iterator[tuple[str, int, int]]:
        """(bank, register, pattern) of every constant."""
        for (bank, number), register in self.fixed.items():
            if number in self._tape.constants:
                yield bank, register, self._tape.constants[number]

    def _forward_thirds(self) -> None:
        """Let no step read three values from the GRFs: the step before forwards one of them."""
        fresh = 1 + max([0, *self._made, *self._tape.constants, *(val.number for val in self._tape.inputs)])
        for position in reversed(range(len(self._steps))):
            read = self._read(position)
            if len(read) <= len(BANKS):
                continue
            step = self._steps[position]
            third = next(val.number for val in step.args if self._owner(val.number) == read[0])
            args = tuple(replace(val, number=fresh) if val.number == third else val for val in step.args)
            self._steps[position : position + 1] = [Step("lpassa", (Val(third),), fresh), replace(step, args=args)]
            self._made.add(fresh)
            fresh += 1

    def _check_held(self) -> None:
        """T holds one value at a time."""
        until = -1
        for position, step in enumerate(self._steps):
            if step.target in self._tape.held:
                if until > position:
                    raise CompilerError(f"step {position} of a tape overwrites what T holds: {step}")
                reads = [k for k, s in enumerate(self._steps) if any(v.number == step.target for v in s.args)]
                until = max(reads, default=position)

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
        stored = {self._owner(number) for number in self._merged if number is not None} - set(self._results)
        for position, step in enumerate(self._steps):
            for val in step.args:
                if val.number in self._made and not self._latched(val.number, position):
                    stored.add(self._owner(val.number))
        return stored - self._tape.held

    def _read(self, position: int) -> list[int]:
        """Owners of the values that a step reads from the GRFs."""
        found: list[int] = []
        for val in self._steps[position].args:
            if val.number in self._places or self._latched(val.number, position) or self._is_msb(position, val):
                continue
            owner = self._owner(val.number)
            if owner not in found and owner not in self._tape.held:
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
                free = [bank for bank in self._liked(number) if all(banks != {bank} for banks in taken)]
                self.of[number] = {free[0]} if free else set(BANKS)
                queue += sorted(pairs[number])

    def _liked(self, number: int) -> str:
        """The banks for a temporary, the better one first: GRF1 unless the ALU reads it."""
        steps = enumerate(self._steps)
        by_alu = any(number in self._read(position) for position, step in steps if step.op not in MAU)
        return BANKS if by_alu else BANKS[::-1]

    def _place_fixed(self, position: int) -> None:
        """Load the constants of a step into banks that its other operands leave free."""
        read = self._read(position)
        if self._banks(read) is not None:
            return
        preferred = BANKS[::-1] if self._steps[position].op in MAU else BANKS
        for wanted in permutations(preferred, len(read)):
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

    def item(self, position: int, rotation: int, cycles: Sequence[int]) -> str:
        """Text of a step for one group of long words."""
        step, tape = self._steps[position], self._tape
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
        else:
            owner = self._owner(step.target or 0)
            targets = [self._results[owner].text(cycles)] if owner in self._results else []
            targets += [f"$l{bank}{self._register(bank, owner, rotation)}v" for bank in sorted(self.of.get(owner, ()))]
            targets += ["$t"] if owner in tape.held else []
        return " ".join([name, *sources, *(target + mask for target in targets or ["$nowrite"])])

    def _source(self, position: int, val: Val, banks: dict[int, str], rotation: int, cycles: Sequence[int]) -> str:
        if self._latched(val.number, position):
            return "$mauf" if self._steps[position - 1].op in MAU else "$aluf"
        if val.number in self._places:
            return self._places[val.number].text(cycles)
        if self._is_msb(position, val):
            return "$msb1"
        owner = self._owner(val.number)
        if owner in self._tape.held:
            return "$t"
        bank = banks[owner]
        if owner in self._fixed_values:
            return f"$l{bank}{self.fixed[bank, owner]}"
        if owner in self.put_together:
            slots, place = self.put_together[owner], self._copied_places[owner]
            first = self.copied[bank, owner]
            return f"$l{bank}{address([first + 2 * slots.index(place.lws[lw]) for lw in cycles])}"
        return f"$l{bank}{self._register(bank, owner, rotation)}v"

    def _register(self, bank: str, number: int, rotation: int) -> int:
        if (bank, number) in self.copied:
            return self.copied[bank, number] + QUAD * rotation
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

