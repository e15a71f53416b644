"""Sizes, levels, validity and normal forms of layouts (compiler.md R3-R8)."""

from __future__ import annotations

import pytest

from compiler.layout import SPATIAL, Broadcast, Layout, LayoutError, Level, PadLayout, SubAxis
from tests.layout.cases import WORKED, Worked


@pytest.mark.parametrize("row", WORKED, ids=lambda row: row.name)
def test_worked_table(row: Worked) -> None:
    pad_layout = row.pad_layout
    assert pad_layout.padded_shape == row.padded
    assert pad_layout.num_lw == row.num_lw
    assert pad_layout.num_slices == row.num_slices
    assert pad_layout.is_padded == (row.shape != row.padded)
    pad_layout.layout.check_words(row.mntype.words_per_lw)


def test_levels_of_the_gemm_weight() -> None:
    layout = Layout.parse("((16:64, 4_W:1, 4_PE:1), (16_MAB:1, 4:16, 4:1, 4:4); B@[L1B,L2B])")
    assert [layout.split_extent(level) for level in (*SPATIAL, Level.ADDR, Level.TIME)] == [4, 4, 16, 1, 1, 1024, 1]
    assert layout.broadcast_levels == {Level.L1B, Level.L2B, Level.TIME}
    assert (layout.addr_stride(0), layout.addr_stride(1)) == (64, 4)
    assert layout.is_complete(4)


def test_addr_stride_is_zero_without_address() -> None:
    pad_layout = PadLayout.parse("(8,2)/((8_L2B:1, 1:1), (2:3))")
    assert (pad_layout.addr_stride(0), pad_layout.addr_stride(1)) == (0, 3)
    assert pad_layout.split_extent(Level.L2B) == 8


def test_levels_that_nobody_names_are_broadcast() -> None:
    layout = Layout.parse("((4_L2B:2, 1_W:1, 64:2); B@[2_MAB:1])")
    assert layout.broadcast_levels == {Level.PE, Level.L1B, Level.TIME}
    assert layout.incomplete_levels(2) == (Level.W, Level.MAB, Level.L2B)
    assert not layout.is_complete(2)


def test_copies_of_some_members_complete_a_level() -> None:
    layout = Layout.parse("((4_L2B:2); B@[2_L2B:1])")
    assert layout.is_complete(1)
    assert not layout.is_broadcast(Level.L2B)
    assert Layout.parse("((4_PE:1); B@[8_L2B:1])").is_broadcast(Level.L2B)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("((8_PE:1))", "8_PE:1: reaches position 7 of PE, whose 4 members end at 3"),
        ("((4_L2B:4))", "4_L2B:4: reaches position 12 of L2B"),
        ("((8_MAB:1), (4_MAB:8))", "8_MAB:1, 4_MAB:8: reaches position 31 of MAB"),
        ("((16_W:1))", "reaches position 15 of W"),
        ("((2_PE:1), (2_PE:1))", "2_PE:1, 2_PE:1: several elements fall on one position of PE"),
        ("((4:2, 4:1))", "4:2, 4:1: several elements fall on one position of Addr"),
        ("((2_Time:2, 3_Time:1))", "several elements fall on one position of Time"),
        ("((4_L2B:1); B@[2_L2B:2])", "several elements fall on one position of L2B"),
        ("((4_L2B:2); B@[L2B])", r"L2B is split by 4_L2B:2 and also listed as a whole in B@\[\.\.\.\]"),
        ("((4_PE:1); B@[L2B,L2B])", r"L2B is listed more than once in B@\[L2B,L2B\]"),
        ("((4_PE:1); B@[2_L2B:1,L2B])", "L2B is listed more than once"),
    ],
)
def test_invalid_layouts(text: str, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        Layout.parse(text)


@pytest.mark.parametrize("text", ["((3:2, 2:3))", "((2:5, 3:2))", "((4:1, 1:1, 1:1))", "((1_W:1); B@[W])"])
def test_interleaved_and_unit_digits_are_valid(text: str) -> None:
    assert str(Layout.parse(text)) == text


def test_words_must_fit_the_element_type() -> None:
    half = Layout.parse("((4_W:1))")
    half.check_words(4)
    with pytest.raises(
        LayoutError, match=r"4_W:1: reaches position 3 of W, whose 2 members end at 1 \(an element type"
    ):
        half.check_words(2)
    with pytest.raises(LayoutError, match="whose 1 members"):
        Layout.parse("((8:1); B@[2_W:1])").check_words(1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(125)/((8_L2B:1, 8:1))", r"axis 0 of \(125\) has 125 elements, but \(8_L2B:1, 8:1\) holds only 64"),
        ("(4,4)/((4:1))", r"shape \(4,4\) has 2 axes, layout \(\(4:1\)\) has 1"),
    ],
)
def test_layouts_that_do_not_fit_a_shape(text: str, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        PadLayout.parse(text)


def test_build_lists_copied_levels_as_l3ir_does() -> None:
    built = Layout.build([[(8, Level.L2B), (8, Level.L1B), (1,), (2, Level.W, 1)]])
    assert str(built) == "((8_L2B:1, 8_L1B:1, 1:1, 2_W:1); B@[PE,MAB])"
    named = Layout.build([[SubAxis(4, Level.PE)], []], [Broadcast(Level.L2B, 8), Level.W])
    assert str(named) == "((4_PE:1), (); B@[8_L2B:1,W])"


def test_transpose_moves_axes_with_their_extents() -> None:
    pad_layout = PadLayout.parse("(125,256)/((8_L2B:1, 8_L1B:1, 2:1), (16_MAB:1, 4_W:1, 4_PE:1))")
    turned = pad_layout.transpose((1, 0))
    assert str(turned) == "(256,125)/((16_MAB:1, 4_W:1, 4_PE:1), (8_L2B:1, 8_L1B:1, 2:1))"
    assert turned.place((200, 7)) == pad_layout.place((7, 200))
    with pytest.raises(LayoutError, match=r"\(0, 0\) is no permutation of the 2 axes"):
        pad_layout.transpose((0, 0))


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("((2:4, 2:2, 4_PE:1))", "((4:2, 4_PE:1); B@[W,MAB,L1B,L2B])"),
        ("((8_MAB:2, 2_MAB:1, 1:1, 2:8, 2:4); B@[L2B,PE])", "((16_MAB:1, 4:4); B@[PE,W,L1B,L2B])"),
        ("((8_MAB:2, 4:1, 2_MAB:1); B@[8_L2B:1])", "((8_MAB:2, 4:1, 2_MAB:1); B@[PE,W,L1B,L2B])"),
        ("((4:1, 4:4))", "((4:1, 4:4); B@[PE,W,MAB,L1B,L2B])"),
        ("((4:1), (1_W:1, 1_PE:1); B@[PE])", "((1_W:1, 4:1), (); B@[PE,MAB,L1B,L2B])"),
        ("((2_L2B:2); B@[2_L2B:4,2_L2B:1])", "((2_L2B:2); B@[PE,W,MAB,L1B,2_L2B:4,2_L2B:1])"),
        ("((4_L2B:1); B@[Time])", "((4_L2B:1); B@[PE,W,MAB,L1B])"),
    ],
)
def test_canonical_form(text: str, canonical: str) -> None:
    layout = Layout.parse(text)
    assert str(layout.canonical()) == canonical
    assert layout.canonical().canonical() == layout.canonical()
    assert layout.equivalent(Layout.parse(canonical))


def test_equivalence_looks_at_places_not_at_spelling() -> None:
    one, two = PadLayout.parse("(16)/((2:4, 2:2, 4_PE:1); B@[W])"), PadLayout.parse("(16)/((4:2, 4_PE))")
    assert one != two and one.equivalent(two) and one.canonical() == two.canonical()
    assert not one.equivalent(PadLayout.parse("(16)/((4_PE:1, 4:2))"))
    assert not one.equivalent(PadLayout.parse("(15)/((4:2, 4_PE))"))
    # A level used at member 0 only is not a broadcast level.
    assert not Layout.parse("((4:1, 1_W:1))").equivalent(Layout.parse("((4:1); B@[W])"))
