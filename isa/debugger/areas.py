"""What debug statements touch, for the sanitizers (which do not read text)."""

from __future__ import annotations

from hw.lockstep import Store
from hw.program import Debug
from hw.sanitizer.runtime import Area, DebugAreas
from hw.state.memory import Memory
from isa.dump import Get, Set, parse_debug

STORES = {
    Memory.LM0: Store.LM0,
    Memory.LM1: Store.LM1,
    Memory.GRF0: Store.GRF0,
    Memory.GRF1: Store.GRF1,
    Memory.T: Store.T,
    Memory.L1BM: Store.L1BM,
    Memory.L2BM: Store.L2BM,
    Memory.PDM: Store.PDM,
    Memory.DRAM: Store.DRAM,
}


def debug_areas(debug: Debug) -> DebugAreas | None:
    """Areas of a `d get` or `d set`; None where the sanitizers keep no state (mask and matrix registers)."""
    statement = parse_debug(debug.text)
    location = statement.location
    store = STORES.get(location.memory)
    if store is None:
        return None
    return DebugAreas(
        isinstance(statement, Set),
        tuple(Area(store, start, count, location.indices) for start, count in _runs(statement, store)),
    )


def _runs(statement: Get | Set, store: Store) -> list[tuple[int, int]]:
    """(start, count) in the units of `Area`; `d set` puts 2LWs where `isa.dump` does."""
    location, count = statement.location, max(0, statement.count)
    at, lws = location.address, location.lws
    if store is Store.T:
        return [(0, min(count, 4))]
    if not store.in_words:
        if lws == 1 or isinstance(statement, Get):
            return [(at, count)]
        return [(at + 2 * i + second, 1) for i in range(count) for second in (0, 4)]
    if lws == 0:
        return [(at, count)]
    first = at & ~1
    if lws == 1 or isinstance(statement, Get):
        return [(first, 2 * lws * count)]
    return [(first + 8 * i, 4) for i in range(count)]
