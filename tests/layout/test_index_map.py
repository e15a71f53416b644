"""Elements and places: the scalar map, the vectorised one and their inverses agree (compiler.md R1-R3, R10)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.graph import MNType
from compiler.layout import LayoutError, Level, PadLayout, Place, Places
from compiler.layout.levels import PLACE_LEVELS
from tests.layout.cases import IMAGED, Worked, pad_layouts

GEMM_B = PadLayout.parse("(256,1024)/((16:64, 4_W:1, 4_PE:1), (16_MAB:1, 4:16, 4:1, 4:4); B@[L1B,L2B])")


def test_place_by_hand() -> None:
    # Row 37 = 2*16 + 1*4 + 1: address 2*64, word 1, PE 1.
    # Column 203 = 3*64 + 0*16 + 2*4 + 3: MAB 3, addresses 0*16, 2*1 and 3*4.
    assert GEMM_B.place((37, 203)) == Place(l2b=0, l1b=0, mab=3, pe=1, addr=128 + 2 + 12, word=1, time=0)


def test_columns_of_onehot_mini() -> None:
    # op_records.md: (2:1, 4_PE:1, 2_W:1) on 16 columns puts columns 0,1,8,9 on PE0, 2,3,10,11 on PE1, ...
    row = PadLayout.parse("(16)/((2:1, 4_PE:1, 2_W:1))")
    owners: dict[int, list[int]] = {}
    for column in range(16):
        owners.setdefault(row.place((column,)).pe, []).append(column)
    assert owners == {0: [0, 1, 8, 9], 1: [2, 3, 10, 11], 2: [4, 5, 12, 13], 3: [6, 7, 14, 15]}


def test_a_level_may_be_split_on_one_axis_with_others_between() -> None:
    pad_layout = PadLayout.parse("(16,1024)/((16:1), (8_MAB:2, 8_L1B:1, 2_MAB:1, 4_PE:1, 2_W:1); B@[8_L2B:1])")
    index = 5 * 128 + 3 * 16 + 1 * 8 + 2 * 2 + 1
    assert pad_layout.place((9, index)) == Place(l2b=0, l1b=3, mab=11, pe=2, addr=9, word=1, time=0)


def test_time_slices() -> None:
    pad_layout = PadLayout.parse("(1,4096,1536)/((), (8_L2B:1, 8_L1B:1, 64:1), (4_Time:1, 24:64, 4_W:1, 4_PE:1))")
    assert pad_layout.place((0, 65, 385)) == Place(l2b=0, l1b=1, mab=0, pe=1, addr=1, word=0, time=1)


def test_every_copy_leads_back_to_the_element() -> None:
    place = GEMM_B.place((37, 203))
    for l2b, l1b in itertools.product(range(8), range(8)):
        assert GEMM_B.element_at(place._replace(l2b=l2b, l1b=l1b)) == (37, 203)


@pytest.mark.parametrize("change", [{"pe": 4}, {"addr": 1024}, {"addr": -1}, {"time": 1}, {"word": 5}, {"mab": 16}])
def test_places_that_hold_nothing(change: dict[str, int]) -> None:
    assert GEMM_B.element_at(Place(0, 0, 0, 0, 0, 0, 0)._replace(**change)) is None


def test_holes_and_padding() -> None:
    pad_layout = PadLayout.parse("(3)/((4_L2B:2))")
    found = [pad_layout.element_at(Place(l2b, 0, 0, 0, 0, 0, 0)) for l2b in range(8)]
    assert found == [(0,), None, (1,), None, (2,), None, (3,), None]  # (3,) is padding of the axis
    # num_lw is even, so the second long word of a value of one long word holds nothing.
    assert pad_layout.num_lw == 2
    assert pad_layout.element_at(Place(0, 0, 0, 0, 1, 0, 0)) is None


def test_index_outside_the_padded_shape() -> None:
    pad_layout = PadLayout.parse("(125)/((128:1))")
    assert pad_layout.place((127,)).addr == 127
    for index in ((128,), (-1,), (0, 0)):
        with pytest.raises(LayoutError, match="outside the padded shape"):
            pad_layout.place(index)


def test_scalar_tensor() -> None:
    scalar = PadLayout.parse("()/(; B@[PE,W,MAB,L1B,L2B])")
    assert scalar.num_lw == 2 and scalar.padded_shape == ()
    assert scalar.place(()) == Place(0, 0, 0, 0, 0, 0, 0)
    assert scalar.element_at(Place(7, 7, 15, 3, 0, 1, 0)) == ()
    assert scalar.element_at(Place(0, 0, 0, 0, 1, 0, 0)) is None


@pytest.mark.parametrize("row", IMAGED, ids=lambda row: row.name)
def test_arrays_agree_with_single_places(row: Worked) -> None:
    pad_layout = row.pad_layout
    arrays = pad_layout.index_arrays()
    assert all(field.shape == row.padded and field.dtype == np.int64 for field in arrays)
    plain = pad_layout.index_arrays(padding=False)
    assert all((some == field[tuple(map(slice, row.shape))]).all() for some, field in zip(plain, arrays, strict=True))
    rng = np.random.default_rng(1)
    for _ in range(50):
        index = tuple(int(rng.integers(extent)) for extent in row.padded)
        assert pad_layout.place(index) == Place(*(int(field[index]) for field in arrays))
    flat = pad_layout.elements_at(arrays)
    assert (flat.ravel() == np.arange(flat.size)).all()


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_layouts_go_there_and_back(data: st.DataObject) -> None:
    pad_layout = data.draw(pad_layouts(data.draw(st.sampled_from([MNType.HALF, MNType.FLOAT, MNType.LONG]))))
    assert PadLayout.parse(str(pad_layout)) == pad_layout
    arrays = pad_layout.index_arrays()
    assert (pad_layout.elements_at(arrays).ravel() == np.arange(arrays.addr.size)).all()
    canonical = pad_layout.canonical()
    assert canonical.num_lw == pad_layout.num_lw
    assert all((a == b).all() for a, b in zip(arrays, canonical.index_arrays(), strict=True))
    index = tuple(data.draw(st.integers(0, extent - 1)) for extent in pad_layout.padded_shape)
    place = pad_layout.place(index)
    assert place == Place(*(int(field[index]) for field in arrays))
    copied = [level for level in (Level.PE, Level.MAB, Level.L1B, Level.L2B) if pad_layout.is_broadcast(level)]
    copies = {level.lower(): data.draw(st.integers(0, (level.members or 1) - 1)) for level in copied}
    assert pad_layout.element_at(place._replace(**copies)) == index


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_positions_without_element_are_exactly_the_rest(data: st.DataObject) -> None:
    mntype = data.draw(st.sampled_from([MNType.HALF, MNType.FLOAT]))
    pad_layout = data.draw(pad_layouts(mntype))
    layout = pad_layout.layout
    reached = 1
    for level in PLACE_LEVELS:
        sizes = {Level.ADDR: layout.num_lw, Level.TIME: layout.num_slices, Level.W: mntype.words_per_lw}
        size = sizes.get(level) or level.members or 1
        positions = np.zeros((size, len(PLACE_LEVELS)), dtype=np.int64)
        positions[:, PLACE_LEVELS.index(level)] = np.arange(size)
        held = int((pad_layout.elements_at(Places(*positions.T)) >= 0).sum())
        assert held == layout.reached(level, size)
        reached *= held if level not in layout.broadcast_levels else 1
    copies = [entry.extent or 1 for entry in layout.broadcast if not layout.is_broadcast(entry.level)]
    assert reached == int(np.prod(pad_layout.padded_shape)) * int(np.prod(copies))
