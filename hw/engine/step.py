"""Lowering of one step: decoded items -> op records, in the order of effects of isa.md 5.1.

Phase 0 gathers all sources and applies their transforms, phase 1 runs kernels and L1BM->PE loads into the latches (or
into scratch when the step holds them), phase 2 clears flushed parts and writes: LM and GRF, L1BM, then BAR, T and mask
registers, which other writes of the same step still need unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from hw.engine import layout as L
from hw.engine.errors import LoweringError
from hw.engine.liveness import LATCHES, read_latches
from hw.engine.rowplan import BAR, ROWS, RowPlan, Rows, tile_rows
from hw.engine.tables import Pool
from hw.kernels.abi import Kernel
from hw.kernels.fast import FAST
from hw.kernels.rrn import RRN_NARROW
from hw.program import Compute, Dest, Fixed, Item, L2Kind, L2Move, MaskRef, Mem, PeLoad, PeStore, Source, Step, Unit
from hw.state.topology import Topology

_WIDTHS: Final = (1, 2, 4)
_OUTPUT: Final = {  # unit: latch, scratch when the step holds its latches, flags
    Unit.ALU: (L.LATCH_ALU, L.OUT_ALU, L.FLAGS_ALU),
    Unit.MAU: (L.LATCH_MAU, L.OUT_MAU, L.FLAGS_MAU),
    Unit.MREAD: (L.LATCH_MREAD, L.OUT_MREAD, L.ZERO),
    Unit.MWRITE: (L.OUT_NONE, L.OUT_NONE, L.ZERO),
}
_FORWARDED: Final = frozenset((Unit.ALU, Unit.MAU, Unit.MREAD))
_NARROWING: Final = frozenset(RRN_NARROW.values())
_SIGN: Final = {16: 0x8000800080008000, 32: 0x8000000080000000, 64: 0x8000000000000000}
_REPLICATE: Final = {16: 0x0001000100010001, 32: 0x0000000100000001, 64: 1}

Op = list[int]


@dataclass(slots=True)
class LoweredStep:
    """Ops of a step: `before` and `after` involve several L1Bs, `local` runs in each."""

    before: list[Op] = field(default_factory=list)
    local: list[Op] = field(default_factory=list)
    after: list[Op] = field(default_factory=list)


@dataclass(slots=True)
class _Phases:
    gather: list[Op] = field(default_factory=list)
    compute: list[Op] = field(default_factory=list)
    write: list[Op] = field(default_factory=list)
    write_last: list[Op] = field(default_factory=list)  # BAR
    write_t: list[Op] = field(default_factory=list)
    write_mask: list[Op] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class StepState:
    """What lowering knows of the steps around one.

    stale_t: the step before wrote T, so this one reads its old content (isa.md 3.5).  keep_t: the next step may read
    the content from before this one.  bars_zero: all base address registers are 0.  live: latches whose new content may
    be seen.  latch_at: where the content of a latch lies, if not in the latch.  fast: row kernels may be used.
    """

    stale_t: bool
    keep_t: bool
    bars_zero: bool
    live: frozenset[int]
    latch_at: dict[int, int]
    fast: bool = True


class StepLowering:
    """Lowers one step.

    After `lower`, `latch_at` says where the latches lie now, `writes_t` and `writes_bar` what the step wrote.
    """

    def __init__(self, step: Step, index: int, pool: Pool, size: Topology, state: StepState) -> None:
        self._step, self._index, self._pool, self._size, self._state = step, index, pool, size, state
        self._t = L.T_PREVIOUS if state.stale_t else L.T
        self._plan = RowPlan.of(step, size, state.bars_zero)
        self._read_latches = read_latches(step)
        self.latch_at = dict(state.latch_at)
        self._phases = _Phases()
        self._result = LoweredStep()
        self._narrow = self._wide = 0
        self._gathered: dict[Source, int] = {}
        self.writes_t = False
        self.writes_bar = False

    def lower(self) -> LoweredStep:
        """The ops.  LoweringError when the line cannot be a step."""
        self._check_units()
        try:
            for number, item in enumerate(self._step.items):
                self._item(item, number)
        except ValueError as error:
            raise self._error(str(error)) from error
        phases = self._phases
        if self.writes_t and self._state.keep_t:
            phases.write_t.insert(0, [L.COPY, L.T, L.T_PREVIOUS])
        self._result.local = [
            self._record(op)
            for part in (
                phases.gather,
                phases.compute,
                phases.write,
                phases.write_last,
                phases.write_t,
                phases.write_mask,
            )
            for op in part
        ]
        return self._result

    def _item(self, item: Item, number: int) -> None:
        if isinstance(item, L2Move):
            self._l2_move(item)
        elif isinstance(item, PeLoad):
            self._load(item, number)
        elif isinstance(item, PeStore):
            self._store(item)
        else:
            self._compute(item, number)

    # --- checks -----------------------------------------------------------------------------------------------

    def _error(self, message: str) -> LoweringError:
        return LoweringError(message, self._step.line, self._step.text)

    def _check_units(self) -> None:
        seen: set[object] = set()
        for item in self._step.items:
            keys: list[object] = [item.unit]
            if isinstance(item, PeLoad | PeStore):
                keys.append(type(item))
            if isinstance(item, L2Move) and item.kind is not L2Kind.DARW:
                keys.append("l2bm")
            for key in keys:
                if key in seen:
                    name = getattr(key, "name", getattr(key, "__name__", key))
                    raise self._error(f"two items for {name}; expected at most one in a step")
                seen.add(key)
            if isinstance(item, Compute) and item.unit not in _OUTPUT:
                raise self._error(f"unit {item.unit.name} cannot run a kernel; expected ALU, MAU, MWRITE or MREAD")

    def _record(self, op: Op) -> Op:
        return op + [0] * (L.LINE - len(op)) + [self._index]

    # --- sources ----------------------------------------------------------------------------------------------

    def _new_tile(self, narrow: bool) -> int:
        if narrow and self._narrow < L.NARROW_COUNT:
            self._narrow += 1
            return L.NARROW + self._narrow - 1
        if self._wide == L.WIDE_COUNT:
            raise self._error(f"the sources of the step need more than {L.WIDE_COUNT} intermediate tiles")
        self._wide += 1
        return L.WIDE + self._wide - 1

    def _source(self, source: Source) -> int:
        """Buffer that holds the operand, transforms applied."""
        buffer = self._gathered.get(source)
        if buffer is None:
            buffer = self._plain(source)
            for kernel in source.transforms:
                changed = self._new_tile(narrow=False)
                call = [L.KERNEL, self._pool.kernel(kernel), buffer, L.ZERO, L.ZERO, changed, L.FLAGS_ALU, L.ZERO, 0]
                self._phases.gather.append(call)
                buffer = changed
            self._gathered[source] = buffer
        return buffer

    def _plain(self, source: Source) -> int:
        gather = self._phases.gather
        if source.mem is Mem.T:
            return self._t
        if source.mem in LATCHES:
            latch = LATCHES[source.mem]
            return self._state.latch_at.get(latch, latch)
        if source.mem is Mem.IMM:
            target = self._new_tile(narrow=False)
            gather.append([L.FILL, target, *(_signed(x) for x in source.imm)])
            return target
        if source.mem is Mem.FIXED:
            return self._fixed(source)
        if source.mem not in ROWS:
            raise self._error(f"{source.mem.name} cannot be read")
        self._check_width(source.width)
        narrow = source.width < 4 and self._narrow < L.NARROW_COUNT
        if source.width < 4 and not narrow:
            raise self._error(f"the step reads more than {L.NARROW_COUNT} operands of at most one long word")
        target = self._new_tile(narrow)
        gather.append([L.GATHER, ROWS[source.mem], target, source.width, *self._addresses(source)])
        return target

    def _fixed(self, source: Source) -> int:
        target = self._new_tile(narrow=False)
        if source.element_bits not in _SIGN:
            raise self._error(f"element_bits {source.element_bits}; expected 16, 32 or 64")
        if source.value == Fixed.MSB1:
            value = _signed(_SIGN[source.element_bits])
            self._phases.gather.append([L.FILL, target, value, value])
        else:
            self._phases.gather.append([L.FIXED, target, int(source.value), _REPLICATE[source.element_bits]])
        return target

    def _check_width(self, width: int) -> None:
        if width not in _WIDTHS:
            raise self._error(f"access width of {width} words; expected 1, 2 or 4")

    def _addresses(self, place: Source | Dest) -> list[int]:
        """a0..a3, size in words, j, T buffer, BAR (record fields 4..11)."""
        words = 2 * (self._size.lm if place.mem in BAR else self._size.grf)
        t = self._t if place.via_t else -1
        j = -1 if place.j is None else place.j
        return [*(a % words for a in place.addr), words, j, t, BAR.get(place.mem, -1)]

    # --- items ------------------------------------------------------------------------------------------------

    def _output(self, latch: int, scratch: int) -> int:
        """Where the result of a unit goes: the latch; scratch when it is held, or when nobody will read it."""
        if self._step.hold or latch not in self._state.live:
            return scratch
        now = self._state.latch_at.get(latch, latch)
        if latch in self._read_latches:
            now = L.OTHER[latch] if now == latch else latch
        self.latch_at[latch] = now
        return now

    def _direct(self, item: Compute | PeLoad, number: int, out: int, latch: int, rows: list[Rows]) -> Rows | None:
        """Rows that the result may be written to at once instead of to `out`."""
        if out == self.latch_at.get(latch, latch) or _mask(item.flush)[0] != L.UNMASKED:
            return None
        fast = FAST[item.kernel] if isinstance(item, Compute) else None
        return self._plan.direct(number, item.dests, rows, fast)

    def _compute(self, item: Compute, number: int) -> None:
        latch, scratch, flags = _OUTPUT[item.unit]
        if len(item.sources) > 3:
            raise self._error(f"{len(item.sources)} sources; expected at most 3")
        if item.plane not in (None, 0, 1):
            raise self._error(f"matrix plane {item.plane}; expected 0 (x) or 1 (y)")
        out = self._output(latch, scratch) if item.unit in _FORWARDED else scratch
        if self._state.fast and item.kernel in FAST and not any(dest.mem is Mem.OMR for dest in item.dests):
            self._row_compute(item, number, out, latch)
            return
        tiles = [self._source(source) for source in item.sources]
        tiles += [L.ZERO] * (3 - len(tiles))
        matrix = L.ZERO if item.plane is None else L.MATRIX_X + item.plane
        parameters = self._pool.parameters(item.params)
        kernel = self._pool.kernel(item.kernel)
        self._phases.compute.append([L.KERNEL, kernel, *tiles, out, flags, matrix, parameters])
        if item.unit is Unit.MWRITE and item.plane is not None:
            self._phases.compute.append([L.FORGET, item.plane])
        self._finish(out, item.dests, item.flush, flags if item.kernel.has_flags else L.ZERO)

    def _row_compute(self, item: Compute, number: int, out: int, latch: int) -> None:
        """An item with a fast stand-in, which needs no flags."""
        fast, pool = FAST[item.kernel], self._pool
        rows = [self._plan.source(source) or tile_rows(self._source(source)) for source in item.sources]
        rows = rows[: len(fast.long_words)]
        direct = self._direct(item, number, out, latch, rows)
        operands = [(8 * k, rows[k][: 4 * count]) for k, count in enumerate(fast.long_words)]
        table = pool.rows([*operands, (24, direct or tile_rows(out))])
        kernel = pool.kernel(fast.kernel)
        if fast.decoder is None:
            op = [L.ROWS, kernel, *table, pool.parameters(item.params)]
        else:
            if item.plane is None:
                raise self._error(f"{item.kernel.name} needs a matrix plane; expected 0 (x) or 1 (y)")
            op = [L.MATRIX, kernel, *table, pool.kernel(fast.decoder), item.plane, pool.kernel(item.kernel)]
        self._phases.compute.append(op)
        if direct is None:
            self._finish(out, item.dests, item.flush, L.ZERO)

    def _load(self, item: PeLoad, number: int) -> None:
        out = self._output(L.LATCH_LBF, L.OUT_LBF)
        memory, address, wrap = (L.TURN, 0, 256) if item.addr is None else (L.L1BM, item.addr, self._size.l1bm)
        broadcast = self._pool.broadcast(item.map) if self._state.fast else None
        if broadcast is not None:
            direct = self._direct(item, number, out, L.LATCH_LBF, [])
            table = self._pool.rows([(0, direct or tile_rows(out))])
            self._phases.compute.append([L.LOAD_ROWS, memory, address, wrap, broadcast, item.map.lws, *table])
            if direct is not None:
                return
        else:
            table_at = self._pool.load(item.map)
            self._phases.compute.append([L.LOAD, memory, address, wrap, table_at, item.map.lws, out])
        self._finish(out, item.dests, item.flush, L.ZERO)

    def _store(self, item: PeStore) -> None:
        source = self._source(item.source)
        if item.map.stages:
            first, last, narrow = self._reduction(item)
            lws = 2 if narrow else item.map.lws
            self._phases.write.append([L.REDUCE, source, lws, first, last, int(narrow)])
            source = L.REDUCE_OUT
        table = self._pool.store(item, self._step.hold)
        address = -1 if item.addr is None else item.addr % self._size.l1bm
        op = [L.STORE, source, address, self._size.l1bm, table.count, table.lanes, table.offsets, table.turn]
        self._phases.write.append(op)

    def _reduction(self, item: PeStore) -> tuple[int, int, bool]:
        """Kernel numbers of the first stage (-1 without one) and of the last, and whether that narrows."""
        last: Kernel | None = item.last or item.first
        if last is None:
            raise self._error(f"{item.map.name} reduces; expected a REDUCE kernel")
        if item.map.stages == 1:
            return -1, self._pool.kernel(last), last in _NARROWING
        if item.map.stages != 2:
            raise self._error(f"{item.map.stages} reduction stages; expected 1 or 2")
        if item.first is None:
            raise self._error(f"{item.map.name} reduces in two stages; expected a kernel for the first")
        return self._pool.kernel(item.first), self._pool.kernel(last), last in _NARROWING

    # --- L2BM -------------------------------------------------------------------------------------------------

    def _l2_move(self, item: L2Move) -> None:
        if item.kind in (L2Kind.DARS, L2Kind.DARW):
            return  # DAR registers belong to groups: hw.engine.dar
        if item.map is None:
            raise self._error(f"an L2BM item of kind {item.kind.name} needs a map")
        size, pool = self._size, self._pool
        table = pool.l2(item.map, size.l1b_per_l2b)
        for b in (*item.members, *(b for pair in item.inner for b in pair)):
            if not 0 <= b < size.l1b_per_l2b:
                raise self._error(f"L1B {b} does not exist; expected 0..{size.l1b_per_l2b - 1}")
        if item.kind is L2Kind.INNER:
            pairs = pool.table([b for pair in item.inner for b in pair])
            read = [L.INNER_READ, item.lb, table.count, table.lb, size.l1bm]
            self._result.before.append(self._record(read))
            write = [L.INNER_WRITE, item.lb2, table.count, table.lb, size.l1bm, pairs, len(item.inner)]
            self._result.after.append(self._record(write))
            return
        members = sum(1 << b for b in item.members)
        ends = [item.lc, item.lb, table.count, table.lc, table.lb, members, size.l2bm, size.l1bm]
        if item.kind is L2Kind.DOWN:
            self._phases.write.append([L.DOWN, *ends])
        elif item.kind is L2Kind.UP:
            self._result.before.append(self._record([L.UP, *ends]))
        else:
            if item.kernel is None:
                raise self._error("an L2BM reduction needs a REDUCE kernel")
            circuits, count = pool.circuits(item.map, size.l1b_per_l2b)
            unit = _signed(item.kernel.unit_value)
            op = [L.COMBINE, *ends, pool.kernel(item.kernel), circuits, count, unit]
            self._result.before.append(self._record(op))

    # --- destinations -----------------------------------------------------------------------------------------

    def _finish(self, out: int, dests: tuple[Dest, ...], flush: MaskRef | None, flags: int) -> None:
        kind, value, words = _mask(flush)
        if kind != L.UNMASKED:
            self._phases.compute.append([L.FLUSH, out, kind, value, words])
        for dest in dests:
            self._dest(dest, out, flags)

    def _dest(self, dest: Dest, out: int, flags: int) -> None:
        kind, value, words = _mask(dest.mask)
        phases = self._phases
        if dest.mem in ROWS:
            self._check_width(dest.width)
            where = [ROWS[dest.mem], out, dest.width, *self._addresses(dest)]
            phases.write.append([L.WRITE, *where, kind, value | words << 8])
        elif dest.mem is Mem.T:
            self.writes_t = True
            phases.write_t.append([L.WRITE_T, out, kind, value, words])
        elif dest.mem in (Mem.BAR0, Mem.BAR1):
            if dest.width not in (1, 2):
                raise self._error(f"base address register written with {dest.width} words; expected 1 or 2")
            self.writes_bar = True
            number = int(dest.mem is Mem.BAR1)
            phases.write_last.append([L.WRITE_BAR, number, out, dest.width, kind, value, words])
        elif dest.mem is Mem.OMR:
            entry = dest.addr[0]
            if not 1 <= entry <= 15:
                raise self._error(f"mask register entry {entry} cannot be written; expected 1..15")
            phases.write_mask.append([L.WRITE_MASK, entry, flags, kind, value])
        elif dest.mem is not Mem.NOWRITE:
            raise self._error(f"{dest.mem.name} cannot be written")


def _signed(value: int) -> int:
    """A uint64 pattern as the int64 of a record."""
    value &= 0xFFFFFFFFFFFFFFFF
    return value - (1 << 64) if value >> 63 else value


def _mask(mask: MaskRef | None) -> tuple[int, int, int]:
    """Kind, value and words flag; entries 0 and 16..31 never change and are resolved here (isa.md 3.7)."""
    if mask is None or mask.entry in (0, 31):
        return L.UNMASKED, 0, 0
    if not 0 < mask.entry < 32:
        raise ValueError(f"mask register entry {mask.entry} does not exist; expected 0..31")
    words = int(mask.words)
    if mask.entry < 16:
        return L.BY_ENTRY, mask.entry, words
    pattern = mask.entry - 16  # its most significant bit is cycle 0
    return L.BY_CYCLE, sum(1 << c for c in range(4) if pattern >> (3 - c) & 1), words
