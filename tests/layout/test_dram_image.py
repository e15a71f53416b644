"""DRAM images: element by element against the places of the layout, by hand for every kind of copy, and back again."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from compiler.graph import MNType
from compiler.layout import ImageError, Level, PadLayout, Places
from compiler.layout.image import DramImage
from tests.layout.cases import IMAGED, Worked, pad_layouts

PAD = 0xDEAD


def raw_elements(pad_layout: PadLayout, mntype: MNType) -> NDArray[Any]:
    """Distinct bits per element where the type allows it, so that misplaced elements show."""
    size = int(np.prod(pad_layout.shape))
    return (np.arange(size, dtype=np.uint64) * 0x9E3779B97F4A7C15 >> (64 - mntype.bits)).astype(
        mntype.raw_dtype
    ).reshape(pad_layout.shape)  # fmt: skip


def elements(image: NDArray[np.uint64], mntype: MNType) -> NDArray[Any]:
    """The image as [group, long word, word], word 0 being the most significant."""
    return image.view(mntype.raw_dtype).reshape(4, image.shape[1], mntype.words_per_lw)[..., ::-1]


def expected_image(pad_layout: PadLayout, mntype: MNType, raw: NDArray[Any], pad: int) -> NDArray[Any]:
    """[group, long word, word] by the written rules, one place of the chip after the other."""
    layout = pad_layout.layout
    mab, pe, l1b, l2b = (not layout.is_broadcast(level) for level in (Level.MAB, Level.PE, Level.L1B, Level.L2B))
    n1 = layout.num_lw * (64 if mab else 4 if pe else 1)
    n2 = -(-n1 // 8) * 64 if l1b else -(-n1 // 64) * 64
    copies = [(entry.extent, entry.stride) for entry in layout.broadcast if entry.level is Level.L2B]
    groups, banks = l2b and (2, 1) in copies, l2b and (2, 1) not in copies and (4, 2) in copies
    total = n2 if groups else n2 // 2 if banks else n2 * 2 if l2b else n2 // 4
    words = mntype.words_per_lw
    image = np.full((4, total * layout.num_slices, words), pad, dtype=mntype.raw_dtype)
    ranges = (8, 8, 16, 4, layout.num_lw, words, layout.num_slices)
    grid = Places(*(axis.ravel() for axis in np.meshgrid(*map(np.arange, ranges), indexing="ij")))
    flat = pad_layout.elements_at(grid)
    for q, b, m, p, a, w, t, element in zip(*(field.tolist() for field in grid), flat.tolist(), strict=True):
        if element < 0:
            continue
        index = np.unravel_index(element, pad_layout.padded_shape)
        inside = all(i < n for i, n in zip(index, pad_layout.shape, strict=True))
        i = 64 * a + 4 * m + p if mab else 4 * a + p if pe else a
        j = 64 * (i // 8) + 8 * b + i % 8 if l1b else i
        if groups:
            group, lw = q // 2, j
        elif banks:
            group, lw = j // 16 % 4, 32 * (j // 64) + 16 * (q % 2) + j % 16
        else:
            group, lw = (q // 2, q % 2 * n2 + j) if l2b else (j // 16 % 4, 16 * (j // 64) + j % 16)
        image[group, t * total + lw, w] = raw[index] if inside else pad
    return image


@pytest.mark.parametrize("row", IMAGED, ids=lambda row: row.name)
def test_every_element_lies_where_its_place_says(row: Worked) -> None:
    image = DramImage(row.pad_layout, row.mntype)
    raw = raw_elements(row.pad_layout, row.mntype)
    packed = image.pack(raw, PAD)
    assert packed.dtype == np.uint64 and packed.shape == (4, image.lws_per_group)
    assert (image.unpack(packed) == raw).all()
    view = elements(packed, row.mntype)
    rng = np.random.default_rng(3)
    for _ in range(200):
        index = tuple(int(rng.integers(extent)) for extent in row.shape)
        assert view[image.locate(row.pad_layout.place(index))] == raw[index]


@pytest.mark.parametrize(
    ("name", "lws", "slot"),
    [("t", 128, 1024), ("x", 8192, 8192), ("attr_0", 16384, 16384), ("attr_1", 32, 1024), ("view", 8192, 8192)],
)
def test_sizes_reproduce_the_addresses_of_the_listing(name: str, lws: int, slot: int) -> None:
    row = next(row for row in IMAGED if row.name == name)
    image = DramImage(row.pad_layout, row.mntype)
    assert (image.lws_per_group, image.slot_lws) == (lws, slot)


SPLITS = list(itertools.product((False, True), repeat=4))


@pytest.mark.parametrize(("mab", "pe", "l1b", "l2b"), SPLITS)
def test_every_combination_of_splits_and_copies(mab: bool, pe: bool, l1b: bool, l2b: bool) -> None:
    subs = [
        f"{n}_{level}:1" for n, level, on in ((16, "MAB", mab), (4, "PE", pe), (8, "L1B", l1b), (8, "L2B", l2b)) if on
    ]
    pad_layout = PadLayout.parse(
        f"(3,{int(np.prod([int(s.split('_')[0]) for s in subs]))})/((4:1), ({', '.join(subs)}))"
    )
    raw = raw_elements(pad_layout, MNType.FLOAT)
    packed = DramImage(pad_layout, MNType.FLOAT).pack(raw, PAD)
    assert (elements(packed, MNType.FLOAT) == expected_image(pad_layout, MNType.FLOAT, raw, PAD)).all()


def test_all_copied_by_hand() -> None:
    image = DramImage(PadLayout.parse("(3)/((3:1); B@[PE,MAB,L1B,L2B])"), MNType.LONG)
    packed = image.pack(np.array([7, 8, 9], dtype=np.uint64), 5)
    assert packed.shape == (4, 16)
    assert packed[0].tolist() == [7, 8, 9] + [5] * 13
    assert (packed[1:] == 5).all()


def test_groups_take_turns_every_16_long_words_by_hand() -> None:
    # PE split, the rest copied: i = 4 a + p, so addresses 0..3 fill group 0, 4..7 group 1, ... 16 is back in group 0.
    image = DramImage(PadLayout.parse("(20,4)/((20:1), (4_PE:1))"), MNType.ULONG)
    packed = image.pack(np.arange(80, dtype=np.uint64).reshape(20, 4))
    assert packed.shape == (4, 32)
    assert packed[0].tolist() == [*range(16), *range(64, 80)]
    assert packed[2].tolist() == [*range(32, 48), *[0] * 16]


def test_l1b_and_l2b_split_by_hand() -> None:
    # One long word per L1B: j = 8 b + a; each L2B takes 64 long words, two of them per group.
    image = DramImage(PadLayout.parse("(8,8)/((8_L2B:1), (8_L1B:1))"), MNType.LONG)
    packed = image.pack(np.arange(64, dtype=np.uint64).reshape(8, 8), 99)
    assert packed.shape == (4, 128)
    for q, b in itertools.product(range(8), range(8)):
        assert packed[q // 2, q % 2 * 64 + 8 * b] == 8 * q + b
    assert int((packed == 99).sum()) == 4 * 128 - 64


def test_words_from_the_most_significant_by_hand() -> None:
    half = DramImage(PadLayout.parse("(3)/((4_W:1))"), MNType.HALF)
    assert half.pack(np.array([1, 2, 3], dtype=np.uint16), 0xF)[0, 0] == 0x000100020003000F
    copied = DramImage(PadLayout.parse("(1)/((1:1); B@[W])"), MNType.FLOAT)
    packed = copied.pack(np.array([0xABCD], dtype=np.uint32))
    assert packed[0, 0] == 0x0000ABCD0000ABCD
    packed[0, 0] &= np.uint64(0xFFFFFFFF00000000)  # the first copy is the most significant word
    assert copied.unpack(packed).tolist() == [0xABCD]


def test_part_of_a_level_leaves_holes() -> None:
    # Contest layouts use one L2B of each group: the odd ones hold nothing.
    pad_layout = PadLayout.parse("(256)/((4_L2B:2, 32:1, 2_W:1))")
    image = DramImage(pad_layout, MNType.FLOAT)
    packed = image.pack(np.arange(256, dtype=np.uint32), PAD)
    assert packed.shape == (4, 128)
    assert elements(packed, MNType.FLOAT)[1, :32].ravel().tolist() == list(range(64, 128))
    assert (elements(packed, MNType.FLOAT)[:, 32:] == PAD).all()
    assert image.unpack(packed).tolist() == list(range(256))


def test_slices_follow_each_other() -> None:
    pad_layout = PadLayout.parse("(5,4)/((3_Time:1, 2:1), (4_PE:1))")
    image = DramImage(pad_layout, MNType.LONG)
    assert (image.slice_lws, image.lws_per_group) == (16, 48)
    packed = image.pack(np.arange(20, dtype=np.uint64).reshape(5, 4), 77)
    assert packed[0].tolist() == [
        *range(8), *[77] * 8,
        *range(8, 16), *[77] * 8,
        *range(16, 20), *[77] * 12,
    ]  # fmt: skip


def test_scalars_and_empty_tensors() -> None:
    scalar = DramImage(PadLayout.parse("()/(; B@[PE,W,MAB,L1B,L2B])"), MNType.INT)
    packed = scalar.pack(np.array(6, dtype=np.uint32))
    assert packed[0, :2].tolist() == [0x600000006, 0]
    assert scalar.unpack(packed).shape == () and scalar.unpack(packed) == 6
    empty = DramImage(PadLayout.parse("(0,4)/((1:1), (4_PE:1))"), MNType.INT)
    nothing = empty.pack(np.zeros((0, 4), dtype=np.uint32), 3)
    assert (nothing == 0x300000003).all() and empty.unpack(nothing).shape == (0, 4)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_random_layouts_pack_and_unpack(data: st.DataObject) -> None:
    mntype = data.draw(st.sampled_from([MNType.HALF, MNType.FLOAT, MNType.LONG]))
    pad_layout = data.draw(pad_layouts(mntype))
    image = DramImage(pad_layout, mntype)
    raw = raw_elements(pad_layout, mntype)
    packed = image.pack(raw, PAD)
    assert (image.unpack(packed) == raw).all()
    view = elements(packed, mntype)
    for _ in range(10):
        index = tuple(data.draw(st.integers(0, extent - 1)) for extent in pad_layout.shape)
        assert view[image.locate(pad_layout.place(index))] == raw[index]


@settings(max_examples=20, deadline=None)
@given(st.data())
def test_random_layouts_place_by_place(data: st.DataObject) -> None:
    mntype = data.draw(st.sampled_from([MNType.HALF, MNType.FLOAT, MNType.LONG]))
    pad_layout = data.draw(pad_layouts(mntype).filter(lambda drawn: drawn.num_lw * drawn.num_slices <= 16))
    raw = raw_elements(pad_layout, mntype)
    packed = DramImage(pad_layout, mntype).pack(raw, PAD)
    assert (elements(packed, mntype) == expected_image(pad_layout, mntype, raw, PAD)).all()


def test_what_cannot_be_imaged() -> None:
    with pytest.raises(ImageError, match="as Float: 4_W:1: reaches position 3 of W"):
        DramImage(PadLayout.parse("(4)/((4_W:1))"), MNType.FLOAT)
    with pytest.raises(ImageError, match="a group has 536870912"):
        DramImage(PadLayout.parse("(8,8,67108864)/((8_L2B:1), (8_L1B:1), (67108864:1))"), MNType.LONG)


def test_arrays_that_do_not_fit() -> None:
    image = DramImage(PadLayout.parse("(4)/((4_W:1))"), MNType.HALF)
    with pytest.raises(ImageError, match=r"expected raw Half elements uint16\[4\], got float32\[4\]"):
        image.pack(np.zeros(4, dtype=np.float32))
    with pytest.raises(ImageError, match=r"got uint16\[5\]"):
        image.pack(np.zeros(5, dtype=np.uint16))
    with pytest.raises(ImageError, match="0x10000 does not fit the 16 bits of Half"):
        image.pack(np.zeros(4, dtype=np.uint16), 0x10000)
    with pytest.raises(ImageError, match=r"expected an image uint64\[4, 16\], got uint64\[4, 32\]"):
        image.unpack(np.zeros((4, 32), dtype=np.uint64))
