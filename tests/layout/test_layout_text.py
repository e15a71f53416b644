"""Layout texts: every public spelling is read and printed back, and mistakes are named where they stand."""

from __future__ import annotations

import pytest

from compiler.layout import Axis, Broadcast, Layout, LayoutError, Level, PadLayout, SubAxis
from tests.layout.cases import WORKED, Worked

# Layouts of programs and problem statements (op_records.md, seed 4.2.2.9), which are written without blanks.
COMPACT = [
    "((16:1),(4_PE:1,2_W:1))",
    "((16:1),(8_MAB:2,8_L1B:1,2_MAB:1,4_PE:1,2_W:1))",
    "((16:2),(2:1,4_PE:1,2_W:1))",
    "((16_MAB:1,4_PE:1,2_W:1),(64:1))",
    "((1_W:1))",
    "((4_L2B:2,256:8),(8:1,2_W:1))",
    "((4_PE:1))",
    "((8_L2B:1),(4_PE:1,2:1,2_W:1),(16:2))",
    "((8_L2B:1,32:1),(8_MAB:2,8_L1B:1,2_MAB:1,2_PE:2,2_W:1);B@[2_PE:1])",
]

PAD_LAYOUTS = [
    "(2)/((8_L1B:1); B@[PE,W,MAB,L2B])",
    "(125)/((8_L2B:1, 8_L1B:1, 1:1, 2_W:1); B@[PE,MAB])",
    "(125,1,32,32)/((8_L2B:1, 8_L1B:1, 2:1), (), (16_MAB:1, 2:4), (2:2, 4_W:1, 4_PE:1))",
    "()/()",
    "()/(; B@[PE,W,MAB,L1B,L2B])",
]


@pytest.mark.parametrize("row", WORKED, ids=lambda row: row.name)
def test_public_layouts_print_back_exactly(row: Worked) -> None:
    assert str(Layout.parse(row.spec)) == row.spec


@pytest.mark.parametrize("text", COMPACT)
def test_compact_spelling_is_read_and_printed_with_blanks(text: str) -> None:
    layout = Layout.parse(text)
    assert str(layout).replace(" ", "") == text
    assert Layout.parse(str(layout)) == layout
    assert Layout.parse(f"  {text.replace(':', ' : ')} ") == layout


@pytest.mark.parametrize("text", PAD_LAYOUTS)
def test_shape_and_layout_print_back_exactly(text: str) -> None:
    assert str(PadLayout.parse(text)) == text


def test_parts_of_a_text() -> None:
    layout = Layout.parse("((8_MAB:2, 8_L1B, 3:16), (); B@[PE,4_L2B:2])")
    assert layout.axes == (
        Axis((SubAxis(8, Level.MAB, 2), SubAxis(8, Level.L1B), SubAxis(3, Level.ADDR, 16))),
        Axis(),
    )
    assert layout.broadcast == (Broadcast(Level.PE), Broadcast(Level.L2B, 4, 2))


def test_a_left_out_stride_is_one_and_stays_left_out() -> None:
    bare, full = Layout.parse("((16_MAB, 4))"), Layout.parse("((16_MAB:1, 4:1))")
    assert bare == full and hash(bare) == hash(full)
    assert (str(bare), str(full)) == ("((16_MAB, 4))", "((16_MAB:1, 4:1))")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("((8_L2:1))", r"column 3: unknown level 'L2', .* did you mean 'L2B'\?"),
        ("((8_mab:1))", r"did you mean 'MAB'\?"),
        ("((4_time:1))", r"did you mean 'Time'\?"),
        ("((8_Addr:1))", r"unknown level 'Addr', expected one of PE, W, MAB, L1B, L2B, Time or none for an address"),
        ("((8_L2B:1)", r"column 11: expected ',' or ';' or '\)', found the end"),
        ("((8_L2B:1)) x", r"column 13: expected the end, found 'x'"),
        ("((8_L2B:1; B@[PE]))", r"column 10: expected ',' or '\)', found ';'"),
        ("((8_L2B:1); B[PE])", r"column 14: expected '@', found '\['"),
        ("((8_L2B:1); B@[])", r"column 16: unknown level"),
        ("((8:x))", r"column 5: expected a number, found 'x'"),
        ("((PE:1))", r"column 3: expected a subaxis such as '4_PE:1' or '8:2', found 'PE'"),
        ("((8:-1))", r"column 5: unexpected '-'"),
        ("((0_PE:1))", r"0_PE:1: extent and stride must be at least 1"),
        ("((4:0))", r"4:0: extent and stride must be at least 1"),
        ("((4:1); B@[4:1])", r"addresses cannot be broadcast"),
        ("((4:1); B@[4_Time:1])", r"write B@\[Time\]"),
    ],
)
def test_mistakes_are_named(text: str, message: str) -> None:
    with pytest.raises(LayoutError, match=message):
        Layout.parse(text)


def test_a_shape_needs_a_slash() -> None:
    with pytest.raises(LayoutError, match=r"column 6: expected '/', found '\('"):
        PadLayout.parse("(125)((128:1))")
