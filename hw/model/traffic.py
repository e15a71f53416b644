"""What one MV needs: its ports, the long words on each, its queue, latency and data cycles (timing.md 3.1, 5)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise

from hw.model.dram import DramRules
from hw.model.errors import PlaceError
from hw.model.ports import PortMap
from hw.program import Mv, MvForm, MvPlace, Space
from hw.spec import ChipSpec

_SINGLE = frozenset({MvForm.P_L, MvForm.L_P, MvForm.D_L, MvForm.P_D, MvForm.P_P})
_IN_GROUP = frozenset({MvForm.PARALLEL, MvForm.B2, MvForm.R2})
_MULTI_PDM = frozenset(
    {MvForm.B_PDM, MvForm.R_PDM, MvForm.D_PDM_L, MvForm.D_L_PDM, MvForm.D_PDM_DRAM, MvForm.D_DRAM_PDM}
)

QueueKey = tuple[Space, Space, int]


@dataclass(frozen=True, slots=True)
class MvPlan:
    """`reads` and `writes` map ports to long words; `ports` are all that the data phase holds, links included.

    `data` are the cycles of the data phase without refresh, `turns` the same in the portions after which others may use
    the ports, `latency` the cycles before it; `queues` the queues in which it keeps its place.
    """

    mv: Mv
    reads: dict[int, int]
    writes: dict[int, int]
    ports: tuple[int, ...]
    queues: tuple[QueueKey, ...]
    latency: int
    data: int
    turns: tuple[int, ...]
    dram: bool

    def long_words(self, port: int) -> int:
        """Long words that pass a port, read and written."""
        return self.reads.get(port, 0) + self.writes.get(port, 0)


class Planner:
    """Plans MVs for one chip; equal MVs are planned once."""

    def __init__(self, spec: ChipSpec) -> None:
        self.ports = PortMap(spec)
        self._spec = spec
        self._dram = DramRules(spec)
        self._unit = spec.integer("mv.arbitration_unit")
        self._duplex = bool(spec.integer("pdm.duplex"))
        self._known: dict[tuple[object, ...], MvPlan] = {}

    def plan(self, mv: Mv) -> MvPlan:
        """The plan of one MV; PlaceError when it names a group or bank that the chip lacks."""
        key = (mv.form, mv.size, mv.src, mv.dst, mv.nd)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._make(mv)
        return found if found.mv is mv else replace(found, mv=mv)

    def _make(self, mv: Mv) -> MvPlan:
        ports = self.ports
        crossing = _crosses(mv)
        reads, writes = self._sides(mv, crossing)
        reading, writing = self._groups(reads), self._groups(writes)
        used = (*reads, *writes, *(ports.links(reading, writing) if crossing else ()))
        dram = Space.DRAM in (mv.src.space, mv.dst.space)
        counted = mv.size
        if mv.form in (MvForm.D_PDM_L, MvForm.D_L_PDM):  # size counts per L2BM, the rate counts at the PDM
            counted *= ports.groups * ports.banks
        cycles = self._data_cycles(mv, counted, crossing, reads, writes)
        turns = self._turns(cycles, counted)
        return MvPlan(
            mv,
            reads,
            writes,
            tuple(sorted(set(used))),
            tuple((mv.src.space, mv.dst.space, group) for group in reading),
            self._spec.integer(f"mv.latency.{_latency_class(mv, dram)}"),
            sum(turns),
            turns,
            dram,
        )

    def _groups(self, side: dict[int, int]) -> list[int]:
        return sorted({group for port in side if (group := self.ports.group_of(port)) is not None})

    def _data_cycles(
        self, mv: Mv, counted: int, crossing: bool, reads: dict[int, int], writes: dict[int, int]
    ) -> Fraction:
        """Exact cycles of the data phase: the rate of the form, and not faster than DRAM."""
        cycles = counted / self._spec.exact(rate_name(mv.form, crossing))
        if not self._duplex and any(port in writes for port in reads):
            cycles *= 2
        for place, side in ((mv.src, reads), (mv.dst, writes)):
            if place.space is Space.DRAM:
                busiest = max(side.values())
                cost = (
                    self._dram.indirect(busiest, mv.nd)
                    if place.indirect
                    else self._dram.contiguous(place.addr, busiest)
                )
                cycles = max(cycles, cost.cycles)
                if place.indirect:
                    cycles *= self._spec.exact("dram.indirect_factor")
        return cycles

    def _turns(self, cycles: Fraction, counted: int) -> tuple[int, ...]:
        """Cycles of each portion of `mv.arbitration_unit` long words; they add up to the whole, rounded up."""
        if not self._unit or counted <= self._unit:
            return (math.ceil(cycles),)
        ends = [math.ceil(cycles * min(n, counted) / counted) for n in range(0, counted + self._unit, self._unit)]
        return tuple(b - a for a, b in pairwise(ends))

    def _sides(self, mv: Mv, crossing: bool) -> tuple[dict[int, int], dict[int, int]]:
        """Long words read and written at each port, by the mapping of the form (isa.md 6.2)."""
        form, size, ports = mv.form, mv.size, self.ports
        if form in _SINGLE:
            return {self._one(mv, mv.src, crossing): size}, {self._one(mv, mv.dst, crossing): size}
        if form is MvForm.PARALLEL:
            everyone = range(ports.groups)
            return {self._port(mv, mv.src, g): size for g in everyone}, {
                self._port(mv, mv.dst, g): size for g in everyone
            }
        banks = {ports.l2bm(g, bank): size for g in range(ports.groups) for bank in range(ports.banks)}
        if form in _MULTI_PDM:
            at_pdm = mv.src if mv.src.space is Space.PDM else mv.dst
            total = size * len(banks) if form in (MvForm.D_PDM_L, MvForm.D_L_PDM) else size
            pdm = {self._one(mv, at_pdm, crossing): total}
            other = banks
            if form in (MvForm.D_PDM_DRAM, MvForm.D_DRAM_PDM):
                other = {ports.dram(g): -(-size // ports.groups) for g in range(ports.groups)}
            return (pdm, other) if at_pdm is mv.src else (other, pdm)
        if form in (MvForm.B2, MvForm.R2):
            share = size
        elif form in (MvForm.B4, MvForm.R4):
            share = -(-size * ports.banks // ports.groups)
        else:
            share = -(-size // ports.groups)
        drams = {ports.dram(g): share for g in range(ports.groups)}
        return (drams, banks) if mv.src.space is Space.DRAM else (banks, drams)

    def _one(self, mv: Mv, place: MvPlace, crossing: bool) -> int:
        groups = self.ports.groups
        if place.group is None:
            raise PlaceError(f"{mv.text or mv.form.name}: the {place.space.name} operand needs a group", mv.line)
        if not 0 <= place.group < groups:
            raise PlaceError(f"{mv.text or mv.form.name}: no group {place.group}, expected 0..{groups - 1}", mv.line)
        return self._port(mv, place, place.group, crossing)

    def _port(self, mv: Mv, place: MvPlace, group: int, crossing: bool = False) -> int:
        if place.space is Space.DRAM:
            return self.ports.dram(group)
        if place.space is Space.PDM:
            return self.ports.pdm(group, crossing)
        bank = place.bank or 0  # "mvp between $lcA without bank and DRAM means bank 0" (isa.md 6.2)
        if not 0 <= bank < self.ports.banks:
            banks = self.ports.banks
            raise PlaceError(f"{mv.text or mv.form.name}: no L2BM bank {bank}, expected 0..{banks - 1}", mv.line)
        return self.ports.l2bm(group, bank)


def _latency_class(mv: Mv, dram: bool) -> str:
    if dram:
        return "dram"
    return "parallel" if mv.form is MvForm.PARALLEL else "pdm"


def _crosses(mv: Mv) -> bool:
    """Whether data passes between groups."""
    if mv.form in _SINGLE:
        return mv.src.group != mv.dst.group
    return mv.form not in _IN_GROUP


def rate_name(form: MvForm, crossing: bool) -> str:
    """ChipSpec name of the rate of a form."""
    name = f"mv.rate.{form.name.lower()}"
    return name + (".cross" if crossing else ".same") if form in _SINGLE else name
