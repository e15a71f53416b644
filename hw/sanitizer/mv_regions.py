"""Memory regions of an MV line: which long words each form reads and writes (isa.md 6.2)."""

from __future__ import annotations

from hw.program import Mv, MvForm, MvPlace, Space
from hw.sanitizer.resources import Access, Actor, OffChip, Res

L2BM_SIZE = 32768
ALL_GROUPS = 0xF
OFF_CHIP_SIZE = {Space.PDM: 524288, Space.DRAM: 536870912}

# Long words a side touches per counted long word, where it is not one: (form, is it the source side) -> ratio.
_RATIO: dict[tuple[MvForm, bool], tuple[int, int]] = {
    (MvForm.B_DRAM, True): (1, 4),
    (MvForm.B4, True): (1, 2),
    (MvForm.R_DRAM, False): (1, 4),
    (MvForm.R4, False): (1, 2),
    (MvForm.D_PDM_L, True): (8, 1),
    (MvForm.D_L_PDM, False): (8, 1),
    (MvForm.D_PDM_DRAM, False): (1, 4),
    (MvForm.D_DRAM_PDM, True): (1, 4),
}


def _groups(place: MvPlace) -> int:
    return ALL_GROUPS if place.group is None else 1 << place.group


# Forms that name one bank; every other form acts on all eight L2Bs or both banks of a group.
_BANKED = (MvForm.P_L, MvForm.L_P, MvForm.D_L, MvForm.PARALLEL)


def _l2bs(place: MvPlace, form: MvForm) -> int:
    """Bit set over q = 2*group + bank; a single copy without a bank means bank 0 (isa.md 6.2)."""
    bank = place.bank
    if bank is None and form in _BANKED:
        bank = 0
    bits = 0
    for group in range(4):
        if _groups(place) >> group & 1:
            bits |= (3 if bank is None else 1 << bank) << 2 * group
    return bits


def mv_footprint(mv: Mv) -> tuple[list[Access], list[Access], tuple[OffChip, ...]]:
    """(reads, writes, off-chip regions) of one MV.  DAR-indirect sides touch an unknown place of their groups' DRAM."""
    reads: list[Access] = []
    writes: list[Access] = []
    off_chip: list[OffChip] = []
    for place, is_source in ((mv.src, True), (mv.dst, False)):
        numerator, denominator = _RATIO.get((mv.form, is_source), (1, 1))
        count = mv.size * numerator // denominator
        if place.space is Space.L2BM:
            full = (1 << L2BM_SIZE) - 1
            bits = ((1 << min(count, L2BM_SIZE)) - 1) << place.addr % L2BM_SIZE
            bits = (bits | bits >> L2BM_SIZE) & full
            access = Access.of(Res.L2BM, not is_source, Actor.MV, (bits, bits, bits, bits), _l2bs(place, mv.form))
            (reads if is_source else writes).append(access)
            continue
        wraps = place.addr + count > OFF_CHIP_SIZE[place.space]
        length = None if place.indirect or wraps else count
        off_chip.append(OffChip(place.space is Space.DRAM, not is_source, _groups(place), place.addr, length))
        if place.indirect:
            reads.append(Access.of(Res.DAR, False, Actor.MV, (1, 1, 1, 1), 0xFF))
    return reads, writes, tuple(off_chip)
