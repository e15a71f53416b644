"""Filling a target from streams: chunks of the streams pass through LM0, and every PE picks its units from them.

A PE addresses LM0 through T: `$mt[..]` adds its own pattern to the constant offsets of four units.  A unit that all
PEs find in one chunk is copied; of one that they find in different chunks every chunk gives a part: positions outside
the chunk are clamped to a zero word, and the parts are joined by OR.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from compiler.emit.asm import Asm, flat
from compiler.emit.exchange import FeedEmitter
from compiler.emit.padding import emit_constant
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

    chunk: slots in a chunk, a multiple of UNIT.
    """

    sources: tuple[tuple[str, int], ...]
    target: tuple[str, int]
    table: tuple[str, int] | None
    scratch: int
    chunk: int


def emit_selection(asm: Asm, selection: Selection, places: Places) -> None:
    """Write the whole move."""
    _Emitter(asm, selection, places).run()


class _Emitter:
    def __init__(self, asm: Asm, selection: Selection, places: Places) -> None:
        self._asm, self._selection, self._places = asm, selection, places
        self._feeds = [
            FeedEmitter(asm, feed, source, granules)
            for feed, source, granules in zip(selection.feeds, places.sources, selection.granules, strict=True)
        ]
        self._row = {number: row for row, number in enumerate(selection.varying)}
        self._indexed: tuple[int, ...] | None = None
        self._counted: tuple[int, ...] | None = None
        self._constants: dict[int, int] = {}

    def run(self) -> None:
        """Chunk by chunk: load, then pick."""
        selection, chunk = self._selection, self._places.chunk
        chunks = {b * UNIT // chunk for unit in selection.units for b in unit.blocks}
        by_chunk: dict[int, list[tuple[Unit, bool, bool]]] = defaultdict(list)
        mixed = False
        for unit in selection.units:
            where = sorted({b * UNIT // chunk for b in unit.blocks})
            for number in where:
                by_chunk[number].append((unit, len(where) > 1, number != where[0]))
            mixed |= len(where) > 1
        self._prepare(mixed)
        for number in sorted(chunks):
            self._load(number)
            self._pick(number, by_chunk[number])

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

    def _load(self, number: int) -> None:
        selection, chunk, scratch = self._selection, self._places.chunk, self._places.scratch
        first, last = number * chunk, (number + 1) * chunk
        for emitter, feed, start, granules in zip(
            self._feeds, selection.feeds, selection.starts, selection.granules, strict=True
        ):
            for granule in granules:
                slot = start + granule * feed.load.granule
                if first <= slot < last:
                    emitter.load(granule, scratch + 2 * (slot - first))
        if selection.has_fill and first <= selection.outside < last:
            emit_constant(self._asm, HALF_FLAGS, selection.fill_lw)
            self._asm.op(f"lpassa $ls{HALF_FLAGS} $lm{scratch + 2 * (selection.outside - first)}")

    def _pick(self, number: int, units: Iterable[tuple[Unit, bool, bool]]) -> None:
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
                source = self._source(number, four, uniform=uniform, mixed=mixed, counted=turn == 2)
                self._store(source, four, turn, half, later=later)

    def _source(self, number: int, units: Sequence[Unit], *, uniform: bool, mixed: bool, counted: bool) -> str:
        """The operand that reads four units, with T and the counts of halves set for it."""
        places, patterns = self._places, self._selection.patterns
        letter = "$lm" if self._selection.words == 2 else "$m"
        shift = places.scratch - 2 * number * places.chunk
        if uniform:
            return letter + flat([shift + unit.offset + int(patterns[unit.pattern].base.item()) for unit in units])
        assert places.table is not None
        rows = tuple(self._row[unit.pattern] for unit in units)
        table = f"$l{places.table[0]}{flat([places.table[1] + 2 * row for row in rows])}"
        if mixed:
            if counted and self._counted != rows:
                self._asm.op(f"lpassa {table} {COUNTS}")
                self._counted = rows
            constants = self._constant_slots([unit.offset - 2 * number * places.chunk for unit in units])
            self._asm.op(f"iadd {table} $ls{flat(constants)} $nowrite")
            self._asm.op(f"uimin $aluf $ls{LIMIT} $lt")
            self._indexed = None
            return f"{letter}t{places.scratch}"
        if self._indexed != rows or (counted and self._counted != rows):
            self._asm.op(f"lpassa {table} $lt{' ' + COUNTS if counted else ''}")
            self._indexed = rows
            self._counted = rows if counted else self._counted
        return f"{letter}t{flat([(shift + unit.offset) % LM_WORDS for unit in units])}"

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

    def _store(self, source: str, units: Sequence[Unit], turn: int, half: int, *, later: bool) -> None:
        """Write four units; `later`: OR them to what earlier chunks left."""
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
        if lm == "m" and (later or source.startswith("$")):
            asm.op(f"{read} $nowrite")
            read = f"{prec}passa $aluf"
            source = "$aluf"
        if later:
            asm.op(f"{prec}or {source} {target} {target}")
        else:
            asm.op(f"{read} {target}{mask}")
