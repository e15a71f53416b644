"""Which items may share a line: the VLIW rules that can be judged on decoded items (isa.md 5.2-5.3, hazards.md 5).

`LineState` is the incremental form that the packer uses: `clash(profile)` says why an item does not fit, "" if it does.
"""

from __future__ import annotations

from collections.abc import Sequence

from hw.program import Item, MaskRef, Mem, Step, Unit
from hw.sanitizer.profile import UNKNOWN_WIDTH, PortKey, Profile, profile
from hw.sanitizer.violation import Violation

_L1BM_UNITS = (Unit.L1BM, Unit.L1BM_TURN)


class LineState:
    """The ports and shared fields taken on one line so far.

    strict: a masked T destination of unknown width joins no other masked destination (else it joins any).
    """

    __slots__ = (
        "flush", "imm", "lm0", "loads", "mask", "mau", "out", "planes", "port_b", "ports", "precision", "stores",
        "strict", "units", "width",
    )  # fmt: skip

    def __init__(self, *, strict: bool = False) -> None:
        self.strict = strict
        self.units = 0
        self.out = 0
        self.ports: dict[Mem, PortKey] = {}
        self.lm0 = False
        self.imm = False
        self.mask: MaskRef | None = None
        self.width = 0
        self.flush = False
        self.mau = 0
        self.precision = ""
        self.planes = 0
        self.port_b = ""
        self.loads = False
        self.stores = False

    def clash(self, p: Profile) -> str:
        """Why `p` cannot join this line, in words; "" when it can."""
        if self.units >> p.unit & 1:
            return f"a second item of unit {p.unit.name}"
        if self.out & p.out:
            port = Mem(((self.out & p.out) & -(self.out & p.out)).bit_length() - 1)
            return f"{port.name} is written by two items"
        for mem, key in p.ports:
            taken = self.ports.get(mem)
            if taken is not None and taken != key:
                return f"{mem.name} is accessed at two places (address list, width or form differ)"
        if (self.imm and p.touches_lm0) or (p.is_imm and self.lm0):
            return "an immediate shares its field with LM0 accesses"
        if p.mask is not None and self.mask is not None and p.mask != self.mask:
            return "two different masks (entry or word length)"
        if p.width and self.width and self._widths_clash(p.width):
            return "masked destinations of 2LW beside masked destinations of at most one LW"
        if p.flush and self.flush:
            return "two zero flushes"
        if p.precision and self.mau:
            if self.mau > 1:
                return "more than two of MAU arithmetic, matrix write and matrix read"
            if p.precision != self.precision or p.precision == "?":
                return f"MAU items of precisions {self.precision} and {p.precision}"
            if p.port_b and self.port_b and p.port_b != self.port_b:
                return "vfma/vmul and mwrite must share the second source"
        if p.plane is not None and self.planes >> p.plane & 1:
            return f"matrix register {'xy'[p.plane]} is used twice"
        if (p.loads and self.stores) or (p.stores and self.loads):
            return "L1BM->PE from memory beside PE->L1BM"
        return self._l1bm_clash(p)

    def _widths_clash(self, width: int) -> bool:
        return self.strict if UNKNOWN_WIDTH in (width, self.width) else width != self.width

    def _l1bm_clash(self, p: Profile) -> str:
        """Two transfers of the same direction meet also when one of them uses the turnaround register."""
        if p.stores and self.stores:
            return "two PE->L1BM transfers"
        if not p.stores and p.unit in _L1BM_UNITS and not self.stores and any(self.units >> u & 1 for u in _L1BM_UNITS):
            return "two L1BM->PE transfers"
        return ""

    def add(self, p: Profile) -> None:
        """Take the ports and fields of an item (the caller has looked at `clash`)."""
        self.units |= 1 << p.unit
        self.out |= p.out
        self.ports.update(p.ports)
        self.lm0 |= p.touches_lm0
        self.imm |= p.is_imm
        self.mask = self.mask if p.mask is None else p.mask
        self.width = p.width or self.width
        self.flush |= p.flush
        if p.precision:
            self.mau += 1
            self.precision = p.precision
        if p.plane is not None:
            self.planes |= 1 << p.plane
        self.port_b = p.port_b or self.port_b
        self.loads |= p.loads
        self.stores |= p.stores


def conflicts(items: Sequence[Item], *, line: int = 0) -> list[Violation]:
    """What keeps these items from sharing a line: one violation per item that does not fit the ones before it."""
    found: list[Violation] = []
    state = LineState()
    for item in items:
        p = profile(item)
        why = p.own_conflict or state.clash(p)
        if why:
            what = f"{why}: {p.text}" if p.text else why
            found.append(Violation("one line", line, line, None, None, 0, 0, what, text=p.text))
        state.add(p)
    return found


def check(step: Step) -> list[Violation]:
    """`conflicts` of the items of one step, with its line number."""
    return conflicts(step.items, line=step.line) if len(step.items) > 1 else []
