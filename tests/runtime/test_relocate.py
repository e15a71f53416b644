"""Moving decoded programs to other DRAM addresses."""

from __future__ import annotations

import pytest

from hw.program import Mv, MvForm, MvPlace, Program, Space, Step
from runtime.dram import Extent
from runtime.errors import RelocationError
from runtime.relocate import relocate, scratch_extents, together


def load(addr: int, size: int = 64, form: MvForm = MvForm.D_L, *, indirect: bool = False) -> Mv:
    return Mv(
        form, size, MvPlace(Space.DRAM, addr, indirect=indirect), MvPlace(Space.L2BM, 0), line=addr, text=f"mv {addr}"
    )


def store(addr: int, size: int = 64) -> Mv:
    return Mv(MvForm.PARALLEL, size, MvPlace(Space.L2BM, 0), MvPlace(Space.DRAM, addr))


def program(*lines: Mv | Step) -> Program:
    return Program(lines, source="text")


def test_unmoved_program_is_the_same_object() -> None:
    p = program(load(0), Step())
    assert relocate(p, {Extent(0, 1024): 0}) is p


def test_addresses_shift_with_their_extent() -> None:
    p = program(load(64), store(1024), Step(), load(2048))
    moved = relocate(p, {Extent(0, 1024): 4096, Extent(1024, 1024): 1024, Extent(2048, 512): 0})
    first, second, step, third = moved.lines
    assert isinstance(first, Mv) and first.src.addr == 4160 and first.dst == MvPlace(Space.L2BM, 0)
    assert isinstance(second, Mv) and second.dst.addr == 1024
    assert step is p.lines[2]
    assert isinstance(third, Mv) and third.src.addr == 0


def test_scratch_is_what_no_slot_holds() -> None:
    p = program(load(0), store(5000), load(5064), store(9000), load(0, 4096, MvForm.B_DRAM), load(0, 2048, MvForm.B4))
    assert scratch_extents(p, [Extent(0, 1024)]) == [Extent(5000, 128), Extent(9000, 64)]


@pytest.mark.parametrize(
    ("form", "reach"), [(MvForm.B_DRAM, 256), (MvForm.B4, 512), (MvForm.B2, 1024), (MvForm.D_L, 1024)]
)
def test_reach_of_a_transfer_in_one_dram(form: MvForm, reach: int) -> None:
    assert scratch_extents(program(load(0, 1024, form)), []) == [Extent(0, reach)]


def test_transfers_across_a_border_are_refused() -> None:
    with pytest.raises(RelocationError, match="crosses the slot"):
        scratch_extents(program(load(1000)), [Extent(0, 1024)])
    with pytest.raises(RelocationError, match="crosses the slot"):
        relocate(program(load(1000)), {Extent(0, 1024): 2048})


def test_overlapping_slots_are_refused() -> None:
    with pytest.raises(RelocationError, match="overlap"):
        scratch_extents(program(), [Extent(0, 1024), Extent(512, 1024)])


def test_unknown_and_indirect_addresses_are_refused() -> None:
    with pytest.raises(RelocationError, match="belongs to no slot"):
        relocate(program(load(5000)), {Extent(0, 1024): 2048})
    indirect = program(load(3, indirect=True))
    assert scratch_extents(indirect, []) == []
    with pytest.raises(RelocationError, match="DAR-indirect"):
        relocate(indirect, {Extent(0, 1024): 2048})


def test_slots_that_overlap_or_share_a_transfer_keep_their_distances() -> None:
    slots = [Extent(0, 1024), Extent(64, 1024), Extent(2048, 1024), Extent(3072, 1024), Extent(5120, 1024)]
    assert together(program(), slots) == [Extent(0, 1088), *slots[2:]]
    spanned = program(load(3000, 128), load(2048), load(5120))
    assert together(spanned, slots) == [Extent(0, 1088), Extent(2048, 2048), Extent(5120, 1024)]
    assert together(program(load(1000, 1100)), slots) == [Extent(0, 3072), *slots[3:]]
