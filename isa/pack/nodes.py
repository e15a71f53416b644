"""Input lines as schedulable nodes.

A node is one MV, one `wait`, one debug line, or a *chain*: steps that must follow each other without other work of
their own between, because each reads a forwarding latch of the one before (isa.md 3.11).  Most chains have one step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from hw.program import Debug, Item, Line, Mv, MvNop
from hw.sanitizer.footprint import footprint, without_latches
from hw.sanitizer.hazards import hazard
from hw.sanitizer.order import value_distance
from hw.sanitizer.profile import Profile, profile
from hw.sanitizer.resources import Footprint, Res
from isa.pack.errors import PackError

_MV_SIDE = frozenset({Res.L2BM, Res.DAR, Res.DARBUF})  # what chains share with MVs


class Kind(Enum):
    """What a node becomes in the output."""

    CHAIN = "chain"
    MV = "mv"
    WAIT = "wait"
    DEBUG = "debug"


@dataclass(slots=True)
class Slot:
    """One step of a chain, `offset` lines after the chain's first.  `hold`: a `noforward` line, shared with nothing."""

    offset: int
    items: tuple[Item, ...]
    prints: tuple[Footprint, ...]
    profiles: tuple[Profile, ...]
    hold: bool
    line: int


@dataclass(slots=True)
class Node:
    """A unit of scheduling.  `blank` lists offsets inside a chain that must stay `nop` lines."""

    index: int
    kind: Kind
    line: int
    slots: list[Slot] = field(default_factory=list)
    blank: list[int] = field(default_factory=list)
    source: Line | None = None
    print_: Footprint | None = None
    tag: int = 0

    @property
    def length(self) -> int:
        """Lines from the first to the last step of a chain, 0 for MV and debug lines, 1 for a wait."""
        if self.kind is Kind.CHAIN:
            return self.slots[-1].offset + 1
        return 1 if self.kind is Kind.WAIT else 0


class _Facts:
    """Footprints and profiles by item object, so that repeated items are analysed once."""

    def __init__(self) -> None:
        self.prints: dict[int, Footprint] = {}
        self.profiles: dict[int, Profile] = {}

    def of(self, item: Item, hold: bool) -> tuple[Footprint, Profile]:
        """Footprint (without latches on a `noforward` line) and profile of an item."""
        key = id(item)
        if key not in self.prints:
            self.prints[key] = footprint(item)
            self.profiles[key] = profile(item)
        fp = self.prints[key]
        return (without_latches(fp) if hold else fp), self.profiles[key]


def build_nodes(lines: Sequence[Line]) -> list[Node]:
    """Group straight-line code into nodes; plain `nop` steps vanish.

    Raises PackError where a latch is read that the step before did not fill.
    """
    nodes: list[Node] = []
    facts = _Facts()
    chain: Node | None = None
    latches: frozenset[Res] = frozenset()  # filled by the last step that is neither nop nor noforward
    for line in lines:
        if isinstance(line, (Mv, MvNop)):
            fp = footprint(line) if isinstance(line, Mv) else Footprint()
            tag = line.tag if isinstance(line, Mv) else 0
            nodes.append(Node(len(nodes), Kind.MV, line.line, source=line, print_=fp, tag=tag))
            continue
        if isinstance(line, Debug):
            nodes.append(Node(len(nodes), Kind.DEBUG, line.line, source=line))
            chain = None
            continue
        if line.wait is not None:
            nodes.append(Node(len(nodes), Kind.WAIT, line.line, source=line, tag=line.wait))
        if not line.items:
            continue
        pairs = [facts.of(item, line.hold) for item in line.items]
        slot = Slot(0, line.items, tuple(p for p, _ in pairs), tuple(q for _, q in pairs), line.hold, line.line)
        read = frozenset(res for fp in slot.prints for res in fp.latches_read)
        if not read <= latches:
            lost = ", ".join(sorted(f"${res.name.lower()}" for res in read - latches))
            raise PackError(line.line, f"{lost} is read, but the step before did not fill it: {line.text}")
        if chain is not None and (read or line.hold):
            if chain is not nodes[-1] and any(a.res in _MV_SIDE for fp in slot.prints for a in (*fp.reads, *fp.writes)):
                raise PackError(line.line, f"an L2BM item stays with a latch reader behind an MV or wait: {line.text}")
            _append(chain, slot)
        elif read:
            raise PackError(line.line, f"a forwarding latch is read across a debug line: {line.text}")
        else:
            chain = Node(len(nodes), Kind.CHAIN, line.line, slots=[slot])
            nodes.append(chain)
        if not line.hold:
            latches = frozenset(res for fp in slot.prints for res in fp.latches_written)
    return nodes


def _append(chain: Node, slot: Slot) -> None:
    """Put a step at the end of a chain, with blank lines where a hazard inside the chain needs them."""
    last = chain.slots[-1].offset
    offset = last + 1
    for before in chain.slots:
        for first in before.prints:
            for second in slot.prints:
                rule = hazard(first, second)
                need = max(value_distance(first, second) or 0, rule.steps if rule else 0)
                offset = max(offset, before.offset + need)
    chain.blank.extend(range(last + 1, offset))
    slot.offset = offset
    chain.slots.append(slot)
