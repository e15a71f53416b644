"""What an item occupies in the instruction word of its line: the input of the one-line rules (isa.md 5.2, 5.3).

Two facts are not in the decoded fields and come from the item's text: the precision letter of MAU items (`f` and `g`
run the same matrix write but may not meet) and whether an operand was written as a list of four addresses, which is
encoded in other fields than `v` and so never shares a port with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from hw.program import Compute, Dest, Item, MaskRef, Mem, PeLoad, PeStore, Source, Unit

PORTED = (Mem.LM0, Mem.LM1, Mem.GRF0, Mem.GRF1)
MAU_UNITS = (Unit.MAU, Unit.MWRITE, Unit.MREAD)
_LETTERS = {"m": Mem.LM0, "n": Mem.LM1, "r": Mem.GRF0, "s": Mem.GRF1}
_LIST = re.compile(r"\$l{0,2}([mnrs])t?\[")
_OUT = {Mem.BAR0: Mem.LM0, Mem.BAR1: Mem.LM1}  # a base address register is written through the port of its memory
_BAR_KEY = ("base address register",)

_FOLLOWS_SOURCE = ("passa", "bfn", "bfe", "floor", "ftoi")
UNKNOWN_WIDTH = 3
"""Width of a masked T destination that depends on what a latch or T holds."""

PortKey = tuple[object, ...]


@dataclass(frozen=True, slots=True)
class Profile:
    """Ports and shared fields one item takes.

    out: bit set over `Mem` of written ports (base address registers count as their LM).
    ports: memory -> address key; for LM reads and writes alike, for GRF reads only.  Equal keys may share the port.
    own_conflict: why the item cannot stand on any line at all, or "".
    mask: the mask of its destinations and zero flush.  width: 1 or 2 for masked destinations of at most one LW or of
    two, UNKNOWN_WIDTH where that is not in the item, 0 without masked destination.
    """

    unit: Unit
    out: int
    ports: tuple[tuple[Mem, PortKey], ...]
    touches_lm0: bool
    is_imm: bool
    mask: MaskRef | None
    width: int
    flush: bool
    precision: str
    plane: int | None
    port_b: str
    loads: bool
    stores: bool
    own_conflict: str
    text: str


def _lists(text: str) -> frozenset[Mem]:
    return frozenset(_LETTERS[k] for k in _LIST.findall(text)) if "[" in text else frozenset()


def _key(place: Source | Dest, lists: frozenset[Mem]) -> PortKey:
    return place.addr, place.width, place.j, place.via_t, place.mem in lists


def _mnemonic(item: Item) -> str:
    return item.text.split(None, 1)[0].split("/", 1)[0] if item.text else ""


def _t_width(item: Item) -> int:
    """How wide a masked T destination of this item counts.  Observed on the official assembler (hazards.md 5)."""
    if not isinstance(item, Compute):
        return item.map.lws if isinstance(item, PeLoad) else 1
    op = _mnemonic(item)
    if item.unit is Unit.MREAD:
        return 2
    if item.unit is Unit.MAU:
        return 2 if op.startswith("h") and not op.endswith("r") else 1
    if not item.sources or not op.endswith(_FOLLOWS_SOURCE):
        return 1
    source = item.sources[0]
    if source.mem in PORTED:
        return 2 if source.width == 4 else 1
    return 1 if source.mem is Mem.FIXED else UNKNOWN_WIDTH


def _port_b(item: Item) -> str:
    """Operand text on the MAU input that vfma/vmul and mwrite share (isa.md 5.3 rule 5), "" for other items."""
    if not isinstance(item, Compute) or item.unit not in (Unit.MAU, Unit.MWRITE):
        return ""
    words = item.text.split()
    if item.unit is Unit.MWRITE:
        return words[1] if len(words) > 1 else "?"
    if _mnemonic(item)[1:].startswith(("vfma", "vmul")):
        return words[2] if len(words) > 2 else "?"
    return ""


def profile(item: Item) -> Profile:
    """The ports and shared fields of one item."""
    sources: tuple[Source, ...] = ()
    dests: tuple[Dest, ...] = ()
    flush: MaskRef | None = None
    plane: int | None = None
    if isinstance(item, Compute):
        sources, dests, flush, plane = item.sources, item.dests, item.flush, item.plane
    elif isinstance(item, PeLoad):
        dests, flush = item.dests, item.flush
    elif isinstance(item, PeStore):
        sources = (item.source,)
    lists = _lists(item.text)
    ports: dict[Mem, PortKey] = {}
    conflict = ""
    places: list[Source | Dest] = [*sources, *(d for d in dests if d.mem in (Mem.LM0, Mem.LM1))]
    for place in places:
        if place.mem in PORTED:
            key = _key(place, lists)
            if ports.setdefault(place.mem, key) != key:
                conflict = f"{place.mem.name} is accessed at two places by one item"
    out = 0
    masks = {flush} if flush is not None else set()
    width = 0
    for dest in dests:
        if dest.mem is Mem.NOWRITE:
            continue
        port = _OUT.get(dest.mem, dest.mem)
        if out >> port & 1:
            conflict = f"{port.name} is written twice by one item"
        out |= 1 << port
        if dest.mem in _OUT and ports.setdefault(port, _BAR_KEY) != _BAR_KEY:
            conflict = f"{port.name} and its base address register are accessed by one item"
        if dest.mask is not None:
            masks.add(dest.mask)
            if dest.mem is not Mem.OMR:
                own = _t_width(item) if dest.mem is Mem.T else 2 if dest.width == 4 else 1
                if UNKNOWN_WIDTH not in (width, own) and width not in (0, own):
                    conflict = "masked destinations of 2LW and of at most one LW in one item"
                width = own if width in (0, UNKNOWN_WIDTH) else width
    if len(masks) > 1:
        conflict = "different masks in one item"
    is_mau = isinstance(item, Compute) and item.unit in MAU_UNITS
    return Profile(
        unit=item.unit,
        out=out,
        ports=tuple(ports.items()),
        touches_lm0=Mem.LM0 in ports,
        is_imm=any(s.mem is Mem.IMM for s in sources) and _mnemonic(item).startswith("imm"),
        mask=next(iter(masks), None),
        width=width,
        flush=flush is not None,
        precision=(_mnemonic(item)[:1] or "?") if is_mau else "",
        plane=plane,
        port_b=_port_b(item),
        loads=isinstance(item, PeLoad) and item.addr is not None,
        stores=isinstance(item, PeStore),
        own_conflict=conflict,
        text=item.text,
    )
