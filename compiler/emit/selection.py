"""Filling a target from streams: chunks of the streams pass through LM0, and every PE picks its units from them.

A PE addresses LM0 through T: `$mt[..]` adds its own pattern to the constant offsets of four units.  A unit that all
PEs find in one chunk is copied; of one that they find in different chunks every chunk gives a part: positions outside
the chunk are clamped to a zero word, and the parts are joined by OR.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from compiler.emit.asm import Asm, flat
from compiler.emit.exchange import FeedEmitter
from compiler.emit.padding import emit_constant
from compiler.emit.transfer import Route
from compiler.graph.value import LM_WORDS
from compiler.switch.feeds import UNIT
from compiler.switch.selection import Selection, Unit

COUNTS = "$ls0v"
COUNT_WORDS = "$s0v2"
LIMIT = 8
KEEP_HALF = (10, 12)
SIXTEEN = 14
POOL = range(16, 144, 2)
HALF_FLAGS = 144
HALF_MASK = (5, 6)


@dataclass(frozen=True)
class Places:
    """Memory letters and word addresses: of the sources, the target, the table (None without) and the chunk in LM0.

    chunk: slots in a chunk, a multiple of every feed's granule.  routes: of sources in DRAM, else empty.
    """

    sources: tuple[tuple[str, int], ...]
    target: tuple[str, int]
    table: tuple[str, int] | None
    scratch: int
    chunk: int
    routes: tuple[Route, ...] = ()


def emit_selection(asm: Asm, selection: Selection, places: Places) -> None:
    """Write the whole move."""
    _Emitter(asm, selection, places).run()


@dataclass(frozen=True)
class _View:
    """A part of the streams in local memory: position w (in words) lies at word address w + shift of LM `letter`.

    chunk: its number, None for a source that is read where it lies.
    """

    letter: str
    shift: int
    chunk: int | None = None


class _Emitter:
    def __init__(self, asm: Asm, selection: Selection, places: Places) -> None:
        self._asm, self._selection, self._places = asm, selection, places
        self._row = {number: row for row, number in enumerate(selection.varying)}
        self._indexed: tuple[int, ...] | None = None
        self._counted: tuple[int, ...] | None = None
        self._constants: dict[int, int] = {}
        self._in_place: dict[int, list[Unit]] = defaultdict(list)
        self._in_chunks: list[Unit] = []
        for unit in selection.units:
            feed = selection.resident(unit, [letter for letter, _ in places.sources])
            if feed is None:
                self._in_chunks.append(unit)
            else:
                self._in_place[feed].append(unit)

    def run(self) -> None:
        """First what can be read where it lies, then chunk by chunk: load, pick."""
        chunk = self._places.chunk
        by_chunk: dict[int, list[tuple[Unit, bool, bool]]] = defaultdict(list)
        mixed = False
        for unit in self._in_chunks:
            where = sorted({b * UNIT // chunk for b in unit.blocks})
            for number in where:
                by_chunk[number].append((unit, len(where) > 1, number != where[0]))
            mixed |= len(where) > 1
        self._prepare(mixed)
        for feed, units in self._in_place.items():
            letter, addr = self._places.sources[feed]
            view = _View(letter, addr - 2 * self._selection.starts[feed])
            self._pick(view, [(unit, False, False) for unit in units])
        loader = self._loader()
        for number in sorted(by_chunk):
            loader(number)
            self._pick(_View("m", self._places.scratch - 2 * number * chunk, number), by_chunk[number])

    def _prepare(self, mixed: bool) -> None:
        asm = self._asm
        if mixed:
            asm.op(f'imm i"{2 * self._places.chunk}" $ls{LIMIT}')
            asm.op(f"zero $lm{self._places.scratch + 2 * self._places.chunk}")
        if any(unit.half is not None for unit in self._selection.units):
            asm.op(f'imm i"16" $ls{SIXTEEN}')
            for half, keep in enumerate((0xFFFF0000, 0x0000FFFF)):
                asm.op(f'imm ui"0x{keep:08X}" $ls{KEEP_HALF[half]}')
                emit_constant(asm, HALF_FLAGS, (keep ^ 0xFFFFFFFF) * 0x100000001)
                asm.op(f"spassa $ls{HALF_FLAGS} $omr{HALF_MASK[half]}")

    def _loader(self) -> Callable[[int], None]:
        """A function that loads a chunk by its number; only what units that are read from chunks need."""
        selection, chunk, scratch = self._selection, self._places.chunk, self._places.scratch
        blocks = {block for unit in self._in_chunks for block in unit.blocks}
        loads: list[tuple[int, int, FeedEmitter]] = []
        for number, (feed, start, source) in enumerate(
            zip(selection.feeds, selection.starts, self._places.sources, strict=True)
        ):
            size = feed.load.granule
            needed = [
                g
                for g in selection.granules[number]
                if not blocks.isdisjoint(range((start + g * size) // UNIT, -(-(start + (g + 1) * size) // UNIT)))
            ]
            route = self._places.routes[number] if self._places.routes else None
            emitter = FeedEmitter(self._asm, feed, source, needed, route)
            loads += [(start + granule * size, granule, emitter) for granule in needed]

        def load(number: int) -> None:
            first, last = number * chunk, (number + 1) * chunk
            for slot, granule, emitter in loads:
                if first <= slot < last:
                    emitter.load(granule, scratch + 2 * (slot - first))
            if selection.outside // UNIT in blocks and first <= selection.outside < last:
                emit_constant(self._asm, HALF_FLAGS, selection.fill_lw)
                self._asm.op(f"lpassa $ls{HALF_FLAGS} $lm{scratch + 2 * (selection.outside - first)}")

        return load

    def _pick(self, view: _View, units: Iterable[tuple[Unit, bool, bool]]) -> None:
        patterns = self._selection.patterns
        groups: dict[tuple[bool, bool, bool, int, int], list[Unit]] = defaultdict(list)
        for unit, mixed, later in units:
            pattern = patterns[unit.pattern]
            turn = 0
            if unit.half is not None:
                turn = int(pattern.turn.item()) if pattern.turn.size == 1 else 2
            half = -1 if unit.half is None else unit.half
            groups[pattern.uniform, mixed, later, turn, half].append(unit)
        for (uniform, mixed, later, turn, half), members in sorted(groups.items(), key=lambda item: item[0]):
            members.sort(key=lambda unit: (unit.pattern, unit.target))
            for k in range(0, len(members), 4):
                four = members[k : k + 4]
                four += [four[-1]] * (4 - len(four))
                source = self._source(view, four, uniform=uniform, mixed=mixed, counted=turn == 2)
                self._store(source, four, turn, half, later=later, through_latch=view.letter == self._places.target[0])

    def _source(self, view: _View, units: Sequence[Unit], *, uniform: bool, mixed: bool, counted: bool) -> str:
        """The operand that reads four units, with T and the counts of halves set for it."""
        places, patterns = self._places, self._selection.patterns
        letter = f"$l{view.letter}" if self._selection.words == 2 else f"${view.letter}"
        if uniform:
            return letter + flat([view.shift + unit.offset + int(patterns[unit.pattern].base.item()) for unit in units])
        assert places.table is not None
        rows = tuple(self._row[unit.pattern] for unit in units)
        table = f"$l{places.table[0]}{flat([places.table[1] + 2 * row for row in rows])}"
        if mixed:
            assert view.chunk is not None
            if counted and self._counted != rows:
                self._asm.op(f"lpassa {table} {COUNTS}")
                self._counted = rows
            constants = self._constant_slots([unit.offset - 2 * view.chunk * places.chunk for unit in units])
            self._asm.op(f"iadd {table} $ls{flat(constants)} $nowrite")
            self._asm.op(f"uimin $aluf $ls{LIMIT} $lt")
            self._indexed = None
            return f"{letter}t{places.scratch}"
        if self._indexed != rows or (counted and self._counted != rows):
            self._asm.op(f"lpassa {table} $lt{' ' + COUNTS if counted else ''}")
            self._indexed = rows
            self._counted = rows if counted else self._counted
        return f"{letter}t{flat([(view.shift + unit.offset) % LM_WORDS for unit in units])}"

    def _constant_slots(self, values: Sequence[int]) -> list[int]:
        """Registers of GRF1 that hold the values."""
        if len(self._constants.keys() | set(values)) > len(POOL):
            self._constants.clear()
        for value in values:
            if value not in self._constants:
                register = POOL[len(self._constants)]
                self._constants[value] = register
                self._asm.op(f'imm i"{value}" $ls{register}')
        return [self._constants[value] for value in values]

    def _store(
        self, source: str, units: Sequence[Unit], turn: int, half: int, *, later: bool, through_latch: bool
    ) -> None:
        """Write four units; `later`: OR them to what earlier chunks left; `through_latch`: source and target share a
        local memory, which reads or writes one address in a step.
        """
        asm, (lm, addr) = self._asm, self._places.target
        wide = self._selection.words == 2
        prec = "l" if wide else "i"
        target = f"${'l' if wide else ''}{lm}{flat([addr + unit.target for unit in units])}"
        read = f"{prec}passa {source}"
        if turn:
            read = f"ibsl {source} {COUNT_WORDS if turn == 2 else f'$s{SIXTEEN}'}"
        if later and half >= 0:
            asm.op(f"{read} $nowrite")
            asm.op(f"iand $aluf $s{KEEP_HALF[half]} $nowrite")
            asm.op(f"ior $aluf {target} {target}")
            return
        mask = f"/$imr{HALF_MASK[half]}" if half >= 0 else ""
        if through_latch:
            asm.op(f"{read} $nowrite")
            read = f"{prec}passa $aluf"
            source = "$aluf"
        if later:
            asm.op(f"{prec}or {source} {target} {target}")
        else:
            asm.op(f"{read} {target}{mask}")
