"""Which rules of the hazard table an item can take part in, from what it accesses but not where.

`roles` is the cheap question before the footprint: most pairs of neighbouring lines have no rule in common, and then
no address has to be looked at.  It may name rules that the footprint (masks, reads without effect) does not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from hw.program import Compute, Dest, Item, L2Kind, Mem, Mv, PeLoad, PeStore, Source, Space
from hw.sanitizer.resources import Actor, Res
from hw.sanitizer.rules import RULES, Check, Rule

MEMORY = {Mem.LM0: Res.LM0, Mem.LM1: Res.LM1, Mem.GRF0: Res.GRF0, Mem.GRF1: Res.GRF1}
BASE_REGISTER = {Mem.BAR0: Res.BAR0, Mem.BAR1: Res.BAR1}

Roles = dict[tuple[Actor, Res], tuple[tuple[int, bool], ...]]


def _table(pick: Callable[[Rule], tuple[Actor, Res] | None]) -> Roles:
    """Which rules an access of (actor, resource) can take part in, and whether they are about ports."""
    table: Roles = {}
    for index, rule in enumerate(RULES):
        key = pick(rule)
        if key is not None:
            table[key] = (*table.get(key, ()), (index, rule.check is Check.PORT))
    return table


EARLIER = _table(lambda rule: rule.earlier)
LATER_READ = _table(lambda rule: None if rule.later_writes else rule.later)
LATER_WRITE = _table(lambda rule: rule.later if rule.later_writes else None)


def _bits(table: Roles, *accesses: tuple[Actor, Res]) -> int:
    bits = 0
    for access in accesses:
        for index, _ in table.get(access, ()):
            bits |= 1 << index
    return bits


_RES = {**MEMORY, **BASE_REGISTER, Mem.T: Res.T}
_WRITTEN = {mem: _bits(EARLIER, (Actor.PE, res)) for mem, res in _RES.items()}
_READ = {mem: _bits(LATER_READ, (Actor.PE, res)) for mem, res in MEMORY.items()} | {
    Mem.T: _bits(LATER_READ, (Actor.PE, Res.T))
}
_INDEX = _READ[Mem.T]
_LOADED = _bits(LATER_READ, (Actor.LOAD, Res.L1BM))
_STORED = _bits(EARLIER, (Actor.STORE, Res.L1BM))
_FETCHED = _bits(LATER_READ, (Actor.MV, Res.L2BM))
_L2 = {
    L2Kind.DOWN: (
        _bits(EARLIER, (Actor.DOWN, Res.L1BM)),
        _bits(LATER_READ, (Actor.DOWN, Res.L2BM)) | _bits(LATER_WRITE, (Actor.DOWN, Res.L1BM)),
    ),
    L2Kind.INNER: (
        _bits(EARLIER, (Actor.INNER, Res.L1BM)),
        _bits(LATER_READ, (Actor.INNER, Res.L1BM)) | _bits(LATER_WRITE, (Actor.INNER, Res.L1BM)),
    ),
    L2Kind.DARS: (0, _bits(LATER_READ, (Actor.DAR, Res.L2BM))),
    L2Kind.DARW: (0, 0),
}
_L2_UP = (
    _bits(EARLIER, (Actor.UP, Res.L2BM)),
    _bits(LATER_READ, (Actor.UP, Res.L1BM)) | _bits(LATER_WRITE, (Actor.UP, Res.L2BM)),
)


_GRF = (Mem.GRF0, Mem.GRF1)
GRF_RULES = _WRITTEN[Mem.GRF0] | _WRITTEN[Mem.GRF1]


def share_grf(first: Iterable[Item | Mv], second: Iterable[Item | Mv]) -> bool:
    """Whether a later item reads a block of four GRF words that an earlier one writes, in any cycle.

    Accesses are aligned to their width of at most four words: without a common block there is no common word.
    """
    written = {
        (dest.mem, address >> 2)
        for item in first
        if isinstance(item, (Compute, PeLoad))
        for dest in item.dests
        if dest.mem in _GRF
        for address in dest.addr
    }
    for item in second:
        sources = item.sources if isinstance(item, Compute) else (item.source,) if isinstance(item, PeStore) else ()
        for source in sources:
            if source.mem in _GRF:
                for address in source.addr:
                    if (source.mem, address >> 2) in written:
                        return True
    return False


def roles(item: Item | Mv) -> tuple[int, int]:
    """(rules in which the item can be the earlier partner, ... the later one) as bit sets over `RULES`."""
    if isinstance(item, Compute):
        return _pe_roles(item.sources, item.dests)
    if isinstance(item, Mv):
        return 0, _FETCHED if item.src.space is Space.L2BM else 0
    if isinstance(item, PeLoad):
        earlier, later = _pe_roles((), item.dests)
        return earlier, later if item.addr is None else later | _LOADED
    if isinstance(item, PeStore):
        earlier, later = _pe_roles((item.source,), ())
        return earlier if item.addr is None else earlier | _STORED, later
    return _L2.get(item.kind, _L2_UP)


def _pe_roles(sources: Iterable[Source], dests: Iterable[Dest]) -> tuple[int, int]:
    earlier = later = 0
    for source in sources:
        later |= _READ.get(source.mem, 0)
        if source.via_t:
            later |= _INDEX
    for dest in dests:
        earlier |= _WRITTEN.get(dest.mem, 0)
        if dest.via_t:
            later |= _INDEX
    return earlier, later
