"""The footprint of a decoded item or MV: what it reads and writes, cycle by cycle (hazards.md 4, isa.md 3-10).

Literal masks remove cycles that are never written; variable masks count as writing and read the mask register.
Run-time addresses (`j`) count with both possibilities, T-indirect ones with the whole memory.  Base addresses are
taken as a multiple of four words that does not change; who cannot know that looks at `Footprint` accesses of BAR0/BAR1.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from hw.program import (
    Compute,
    Dest,
    Item,
    L1Map,
    L2Kind,
    L2Map,
    L2Move,
    MaskRef,
    Mem,
    Mv,
    PeLoad,
    PeStore,
    Source,
    Unit,
)
from hw.sanitizer.mv_regions import mv_footprint
from hw.sanitizer.resources import LATCHES, Access, Actor, Footprint, OffChip, Res
from hw.sanitizer.roles import BASE_REGISTER, EARLIER, LATER_READ, LATER_WRITE, MEMORY

WORDS = {Mem.LM0: 4096, Mem.LM1: 4096, Mem.GRF0: 512, Mem.GRF1: 512}
L1BM_SIZE = 8192
L2BM_SIZE = 32768
ALL = 0xFF
EACH_CYCLE = (1, 2, 4, 8)
ONE = (1, 1, 1, 1)
DARS_SPAN = 256  # isa.md 19: the address buffer takes 512 entries, two per long word

_LATCH = {Mem.MAUF: Res.MAUF, Mem.ALUF: Res.ALUF, Mem.LBF: Res.LBF, Mem.MREADF: Res.MREADF}
_BASE = {Mem.LM0: Res.BAR0, Mem.LM1: Res.BAR1}
_UNIT_LATCH = {Unit.ALU: Res.ALUF, Unit.MAU: Res.MAUF, Unit.MREAD: Res.MREADF}
_PLANES = (Res.MATRIX_X, Res.MATRIX_Y)


def footprint(item: Item | Mv) -> Footprint:
    """All accesses of one item or MV line, with the hazard rules it takes part in."""
    if isinstance(item, Mv):
        reads, writes, off_chip = mv_footprint(item)
        return finish(reads, writes, off_chip)
    accesses: list[Access] = []
    if isinstance(item, Compute):
        _compute(item, accesses)
    elif isinstance(item, PeLoad):
        _load(item, accesses)
    elif isinstance(item, PeStore):
        _store(item, accesses)
    else:
        _l2(item, accesses)
    return finish([a for a in accesses if not a.write], [a for a in accesses if a.write])


def without_latches(item: Footprint) -> Footprint:
    """The same item on a `noforward` line: latches and turnaround register keep their content (isa.md 12)."""
    kept = [a for a in item.writes if a.res not in LATCHES and a.res is not Res.TURN]
    return finish(list(item.reads), kept, item.off_chip)


def finish(reads: list[Access], writes: list[Access], off_chip: tuple[OffChip, ...] = ()) -> Footprint:
    """A footprint with the roles its accesses play in the hazard rules."""
    earlier = later = 0
    earlier_ports: list[tuple[int, int]] = []
    later_ports: list[tuple[int, int]] = []
    for access in writes:
        for index, port in EARLIER.get((access.actor, access.res), ()):
            earlier |= 1 << index
            if port:
                earlier_ports.append((index, access.places))
    for roles, accesses in ((LATER_READ, reads), (LATER_WRITE, writes)):
        for access in accesses:
            for index, port in roles.get((access.actor, access.res), ()):
                later |= 1 << index
                if port:
                    later_ports.append((index, access.places))
    return Footprint(tuple(reads), tuple(writes), off_chip, earlier, later, tuple(earlier_ports), tuple(later_ports))


def _run(start: int, count: int, size: int) -> int:
    """Bits of `count` consecutive addresses from `start`, wrapped modulo `size`."""
    start %= size
    bits = ((1 << count) - 1) << start
    return (bits | bits >> size) & ((1 << size) - 1)


@lru_cache(maxsize=65536)
def _words(mem: Mem, width: int, addr: tuple[int, int, int, int], j: bool) -> tuple[int, int, int, int]:
    """Words touched per cycle; computed addresses are cut down to the access width, `j` may add one width."""
    size = WORDS[mem]

    def of(a: int) -> int:
        bits = _run(a - a % width, width, size)
        return bits | _run(a - a % width + width, width, size) if j else bits

    a, b, c, d = addr
    return of(a), of(b), of(c), of(d)


def _single(res: Res, write: bool, cycles: tuple[int, int, int, int] = ONE) -> Access:
    return Access.of(res, write, Actor.PE, cycles)


# Accesses without an address are made once.
_READ_BASE = {mem: _single(res, False) for mem, res in _BASE.items()}
_WRITE_BASE = {mem: _single(res, True) for mem, res in BASE_REGISTER.items()}
_READ_T = _single(Res.T, False, EACH_CYCLE)
_READ_LATCH = {mem: _single(res, False) for mem, res in _LATCH.items()}
_WRITE_LATCH = {unit: _single(res, True) for unit, res in _UNIT_LATCH.items()}
_WRITE_LBF = _single(Res.LBF, True)
_READ_TURN, _WRITE_TURN = (_single(Res.TURN, write) for write in (False, True))
_ENTRY = [[_single(Res.OMR, write, (1 << e,) * 4) for e in range(16)] for write in (False, True)]


def _pe_address(mem: Mem, place: Source | Dest, out: list[Access]) -> None:
    """What forming an LM address reads: the base address register and, for `$mt`, the T register."""
    if mem in _READ_BASE:
        out.append(_READ_BASE[mem])
    if place.via_t:
        out.append(_READ_T)


def _everything(mem: Mem) -> tuple[int, int, int, int]:
    bits = (1 << WORDS[mem]) - 1
    return bits, bits, bits, bits


def _source(source: Source, out: list[Access]) -> None:
    mem = source.mem
    if mem in MEMORY:
        _pe_address(mem, source, out)
        cycles = _everything(mem) if source.via_t else _words(mem, source.width, source.addr, source.j is not None)
        out.append(Access.of(MEMORY[mem], False, Actor.PE, cycles, unknown=source.via_t))
    elif mem is Mem.T:
        out.append(_READ_T)
    elif mem in _READ_LATCH:
        out.append(_READ_LATCH[mem])


def written_cycles(mask: MaskRef | None) -> tuple[bool, bool, bool, bool]:
    """Cycles a mask can let through: entries 16..31 are fixed patterns, others may pass every cycle (isa.md 3.7)."""
    if mask is None or mask.entry < 16:
        return True, True, True, True
    k = mask.entry - 16
    return bool(k & 8), bool(k & 4), bool(k & 2), bool(k & 1)


def _mask(mask: MaskRef | None, out: list[Access]) -> None:
    if mask is not None and 1 <= mask.entry <= 15:
        out.append(_ENTRY[False][mask.entry])


def _masked(dest: Dest, cycles: tuple[int, int, int, int]) -> tuple[int, int, int, int]:
    """Drop what a literal mask never writes.  A default mask on a 2LW access leaves LW1 unmasked (isa.md 19)."""
    kept = list(cycles)
    for c, written in enumerate(written_cycles(dest.mask)):
        if not written:
            half = dest.width == 4 and dest.mask is not None and not dest.mask.words and dest.mem in MEMORY
            kept[c] = _words(dest.mem, 2, (dest.addr[c] + 2,) * 4, dest.j is not None)[0] if half else 0
    return kept[0], kept[1], kept[2], kept[3]


def _dest(dest: Dest, out: list[Access]) -> None:
    mem = dest.mem
    if mem is Mem.NOWRITE:
        return
    _mask(dest.mask, out)
    if mem in MEMORY:
        _pe_address(mem, dest, out)
        if dest.via_t:
            cycles = _everything(mem)
        else:
            cycles = _masked(dest, _words(mem, dest.width, dest.addr, dest.j is not None))
        out.append(Access.of(MEMORY[mem], True, Actor.PE, cycles, unknown=dest.via_t))
    elif mem is Mem.T:
        out.append(Access.of(Res.T, True, Actor.PE, _masked(dest, EACH_CYCLE)))
    elif mem is Mem.OMR:
        # a masked flag write stores flag AND mask, so every cycle of the entry changes (isa.md 19)
        out.append(_ENTRY[True][dest.addr[0]])
    elif mem in _WRITE_BASE:
        out.append(_WRITE_BASE[mem])


def _sides(sources: Iterable[Source], dests: Iterable[Dest], flush: MaskRef | None, out: list[Access]) -> None:
    for source in sources:
        _source(source, out)
    for dest in dests:
        _dest(dest, out)
    _mask(flush, out)


def _compute(item: Compute, out: list[Access]) -> None:
    _sides(item.sources, item.dests, item.flush, out)
    if item.plane is not None:
        out.append(Access.of(_PLANES[item.plane], item.unit is Unit.MWRITE, Actor.PE, ONE))
    if item.unit in _WRITE_LATCH:
        out.append(_WRITE_LATCH[item.unit])


@lru_cache(maxsize=1024)
def _l1_offsets(map_: L1Map) -> tuple[int, int, int, int]:
    """L1BM offsets of one step as bit sets per cycle, over the MABs that take part."""
    cycles = [0, 0, 0, 0]
    for m in range(16):
        if map_.writes(m):
            for c in range(4):
                for w in range(map_.lws):
                    for p in range(4):
                        cycles[c] |= 1 << map_.offset(c, w, m, p)
    return cycles[0], cycles[1], cycles[2], cycles[3]


@lru_cache(maxsize=65536)
def _shifted(offsets: tuple[int, int, int, int], start: int, size: int) -> tuple[int, int, int, int]:
    full = (1 << size) - 1
    a, b, c, d = (bits << start % size for bits in offsets)
    return (a | a >> size) & full, (b | b >> size) & full, (c | c >> size) & full, (d | d >> size) & full


def _load(item: PeLoad, out: list[Access]) -> None:
    _sides((), item.dests, item.flush, out)
    if item.addr is None:
        out.append(_READ_TURN)
    else:
        words = _shifted(_l1_offsets(item.map), item.addr, L1BM_SIZE)
        out.append(Access.of(Res.L1BM, False, Actor.LOAD, words, ALL))
    out.append(_WRITE_LBF)


def _store(item: PeStore, out: list[Access]) -> None:
    _source(item.source, out)
    if item.addr is not None:
        words = _shifted(_l1_offsets(item.map), item.addr, L1BM_SIZE)
        out.append(Access.of(Res.L1BM, True, Actor.STORE, words, ALL))
    out.append(_WRITE_TURN)


@lru_cache(maxsize=4096)
def _l2_offsets(map_: L2Map, members: tuple[int, ...]) -> tuple[tuple[int, int, int, int], tuple[int, int, int, int]]:
    """Offsets on the L2BM side (of these L1Bs) and on the L1BM side, as bit sets per cycle."""
    lc, lb = [0, 0, 0, 0], [0, 0, 0, 0]
    for c in range(4):
        for k in range(map_.width):
            lb[c] |= 1 << map_.lb(c, k)
            for b in members:
                lc[c] |= 1 << map_.lc(b, c, k)
    return (lc[0], lc[1], lc[2], lc[3]), (lb[0], lb[1], lb[2], lb[3])


INNER_OFFSETS = tuple(0xFFFF << 16 * c for c in range(4))  # l2bmi moves A+16c .. A+16c+15 (hazards.md 4)


def _set(members: Iterable[int]) -> int:
    bits = 0
    for b in members:
        bits |= 1 << b
    return bits


def _l2(item: L2Move, out: list[Access]) -> None:
    if item.kind is L2Kind.DARW:
        out.append(Access.of(Res.DARBUF, False, Actor.DAR, ONE, ALL))
        out.append(Access.of(Res.DARBUF, True, Actor.DAR, ONE, ALL))
        out.append(Access.of(Res.DAR, True, Actor.DAR, ONE, ALL))
    elif item.kind is L2Kind.DARS:
        bits = _run(item.lc, DARS_SPAN, L2BM_SIZE)
        banks = 0x55 << item.bank
        out.append(Access.of(Res.L2BM, False, Actor.DAR, (bits, bits, bits, bits), banks))
        out.append(Access.of(Res.DARBUF, True, Actor.DAR, ONE, ALL))
    elif item.kind is L2Kind.INNER:
        a, b, c, d = INNER_OFFSETS
        read = _shifted((a, b, c, d), item.lb, L1BM_SIZE)
        written = _shifted((a, b, c, d), item.lb2, L1BM_SIZE)
        pairs = [(s, t) for s, t in item.inner if s != t]
        out.append(Access.of(Res.L1BM, False, Actor.INNER, read, _set(s for s, _ in pairs)))
        out.append(Access.of(Res.L1BM, True, Actor.INNER, written, _set(t for _, t in pairs)))
    else:
        assert item.map is not None, "an L2BM transfer without a map"
        down = item.kind is L2Kind.DOWN
        actor = Actor.DOWN if down else Actor.UP
        lc, lb = _l2_offsets(item.map, item.members)
        out.append(Access.of(Res.L1BM, down, actor, _shifted(lb, item.lb, L1BM_SIZE), _set(item.members)))
        out.append(Access.of(Res.L2BM, not down, actor, _shifted(lc, item.lc, L2BM_SIZE), ALL))
