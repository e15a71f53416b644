"""What one MV needs: its ports, the long words on each, its queue, latency and data cycles (timing.md 3.1, 5)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from hw.model.errors import PlaceError
from hw.program import Mv, MvForm, MvPlace, Space
from hw.spec import ChipSpec

_SINGLE = frozenset({MvForm.P_L, MvForm.L_P, MvForm.D_L, MvForm.P_D, MvForm.P_P})
_IN_GROUP = frozenset({MvForm.PARALLEL, MvForm.B2, MvForm.R2})
_MULTI_PDM = frozenset(
    {MvForm.B_PDM, MvForm.R_PDM, MvForm.D_PDM_L, MvForm.D_L_PDM, MvForm.D_PDM_DRAM, MvForm.D_DRAM_PDM}
)

QueueKey = tuple[Space, Space, int]


class PortMap:
    """Numbers of the ports of a chip: a DRAM and a PDM port per group, the MV port of each L2BM, one ring."""

    def __init__(self, spec: ChipSpec) -> None:
        self.groups = spec.integer("topology.groups")
        self.banks = spec.integer("topology.l2b_per_group")
        everyone = range(self.groups)
        self.names: tuple[str, ...] = (
            *(f"DRAM g{g}" for g in everyone),
            *(f"PDM g{g}" for g in everyone),
            *(f"L2BM g{g}.{bank}" for g in everyone for bank in range(self.banks)),
            "ring",
        )
        self.ring = len(self.names) - 1

    def dram(self, group: int) -> int:
        """Port of the DRAM of a group."""
        return group

    def pdm(self, group: int) -> int:
        """Port of the PDM of a group."""
        return self.groups + group

    def l2bm(self, group: int, bank: int) -> int:
        """MV port of one L2BM."""
        return 2 * self.groups + group * self.banks + bank

    def group_of(self, port: int) -> int | None:
        """Group in which a port stands; None for the ring."""
        if port == self.ring:
            return None
        return port % self.groups if port < 2 * self.groups else (port - 2 * self.groups) // self.banks


@dataclass(frozen=True, slots=True)
class MvPlan:
    """`reads` and `writes` map ports to long words; `ports` are all that the data phase holds, the ring included.

    `data` are the cycles of the data phase, `latency` those before it; `queues` the queues in which it keeps its place.
    """

    mv: Mv
    reads: dict[int, int]
    writes: dict[int, int]
    ports: tuple[int, ...]
    queues: tuple[QueueKey, ...]
    latency: int
    data: int
    dram: bool

    def long_words(self, port: int) -> int:
        """Long words that pass a port, read and written."""
        return self.reads.get(port, 0) + self.writes.get(port, 0)


def plan(mv: Mv, spec: ChipSpec, ports: PortMap) -> MvPlan:
    """The plan of one MV; PlaceError when it names a group or bank that the chip lacks."""
    reads, writes = _sides(mv, ports)
    crossing = _crosses(mv)
    used = tuple(sorted({*reads, *writes, *((ports.ring,) if crossing else ())}))
    dram = Space.DRAM in (mv.src.space, mv.dst.space)
    groups = sorted({group for port in reads if (group := ports.group_of(port)) is not None})
    return MvPlan(
        mv,
        reads,
        writes,
        used,
        tuple((mv.src.space, mv.dst.space, group) for group in groups),
        spec.integer(f"mv.latency.{_latency_class(mv, dram)}"),
        _data_cycles(mv, spec, crossing, {**reads, **writes}, ports),
        dram,
    )


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


def _data_cycles(mv: Mv, spec: ChipSpec, crossing: bool, moved: dict[int, int], ports: PortMap) -> int:
    counted = mv.size
    if mv.form in (MvForm.D_PDM_L, MvForm.D_L_PDM):  # size counts per L2BM, the rate counts at the PDM
        counted *= ports.groups * ports.banks
    cycles = counted / spec.exact(rate_name(mv.form, crossing))
    busiest = max((moved.get(ports.dram(group), 0) for group in range(ports.groups)), default=0)
    cycles = max(cycles, Fraction(busiest) / spec.dram_lw_per_cycle)
    if mv.src.indirect or mv.dst.indirect:
        cycles *= spec.exact("dram.indirect_factor")
    return math.ceil(cycles)


def _sides(mv: Mv, ports: PortMap) -> tuple[dict[int, int], dict[int, int]]:
    """Long words read and written at each port, by the mapping of the form (isa.md 6.2)."""
    form, size = mv.form, mv.size
    if form in _SINGLE:
        return {_one(mv, mv.src, ports): size}, {_one(mv, mv.dst, ports): size}
    if form is MvForm.PARALLEL:
        return _each_group(mv, mv.src, ports, size), _each_group(mv, mv.dst, ports, size)
    banks = {ports.l2bm(g, bank): size for g in range(ports.groups) for bank in range(ports.banks)}
    if form in _MULTI_PDM:
        at_pdm = mv.src if mv.src.space is Space.PDM else mv.dst
        total = size * len(banks) if form in (MvForm.D_PDM_L, MvForm.D_L_PDM) else size
        pdm = {_one(mv, at_pdm, ports): total}
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


def _each_group(mv: Mv, place: MvPlace, ports: PortMap, size: int) -> dict[int, int]:
    return {_port(mv, place, group, ports): size for group in range(ports.groups)}


def _one(mv: Mv, place: MvPlace, ports: PortMap) -> int:
    if place.group is None:
        raise PlaceError(f"{mv.text or mv.form.name}: the {place.space.name} operand needs a group", mv.line)
    if not 0 <= place.group < ports.groups:
        raise PlaceError(f"{mv.text or mv.form.name}: no group {place.group}, expected 0..{ports.groups - 1}", mv.line)
    return _port(mv, place, place.group, ports)


def _port(mv: Mv, place: MvPlace, group: int, ports: PortMap) -> int:
    if place.space is Space.DRAM:
        return ports.dram(group)
    if place.space is Space.PDM:
        return ports.pdm(group)
    bank = place.bank or 0  # "mvp between $lcA without bank and DRAM means bank 0" (isa.md 6.2)
    if not 0 <= bank < ports.banks:
        raise PlaceError(f"{mv.text or mv.form.name}: no L2BM bank {bank}, expected 0..{ports.banks - 1}", mv.line)
    return ports.l2bm(group, bank)
