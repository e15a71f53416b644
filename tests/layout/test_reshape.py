"""Free reshapes: axes merge and split without moving an element (compiler.md R9)."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.graph import MNType
from compiler.layout import LayoutError, PadLayout, merge_reshape
from tests.layout.cases import pad_layouts

X = "(125,1,32,32)/((8_L2B:1, 8_L1B:1, 2:1), (), (16_MAB:1, 2:4), (2:2, 4_W:1, 4_PE:1))"
VIEW = "(125,1024)/((8_L2B:1, 8_L1B:1, 2:1), (16_MAB:1, 4:2, 4_W:1, 4_PE:1))"


@pytest.mark.parametrize(
    ("text", "shape", "expected"),
    [
        (X, (125, 1024), VIEW),
        (VIEW, (125, 1, 32, 32), X),
        (VIEW, (125, 1024), VIEW),
        # A padded outermost axis may take more axes into it, and give them back.
        ("(125,4)/((128:4), (4_PE:1))", (500,), "(500)/((128:4, 4_PE:1))"),
        ("(500)/((128:4, 4_PE:1))", (125, 4), "(125,4)/((128:4), (4_PE:1))"),
        ("(500)/((512:1))", (125, 4), "(125,4)/((128:4), (4:1))"),
        ("(6)/((8:1))", (3, 2), "(3,2)/((4:2), (2:1))"),
        # A padded inner axis cannot: its elements are not evenly spaced.
        ("(4,125)/((4_PE:1), (128:1))", (500,), None),
        ("(500)/((512:1))", (5, 100), None),
        # A digit that would have to be cut at no whole factor.
        ("(10)/((5:2, 2:1))", (2, 5), None),
        ("(10)/((10:1))", (2, 5), "(2,5)/((2:5), (5:1))"),
        # Axes of extent 1 come and go, with or without padding of their own.
        ("(9,8)/((16:1), (8_L1B:1))", (1, 9, 1, 8, 1), "(1,9,1,8,1)/((), (16:1), (), (8_L1B:1), ())"),
        ("(125,1,32)/((128:1), (8_L1B:1), (4_PE:1, 8:128))", (125, 32), "(125,32)/((128:1), (8_L1B:1, 4_PE:1, 8:128))"),
        ("(2)/((8_L1B:1); B@[PE])", (2, 1), "(2,1)/((8_L1B:1), (); B@[PE])"),
        ("(2)/((8_L1B:1); B@[PE])", (1, 2), "(1,2)/((), (8_L1B:1); B@[PE])"),
        # Several axes to several axes.
        ("(4,6)/((4_PE:1), (2:3, 3:1))", (8, 3), "(8,3)/((4_PE:1, 2:3), (3:1))"),
        ("(4,6)/((4_PE:1), (2:3, 3:1))", (6, 4), None),
        ("(8,2,3)/((2_Time:1, 4_PE:1), (2_W:1), (3:1))", (2, 8, 3), "(2,8,3)/((2_Time:1), (4_PE:1, 2_W:1), (3:1))"),
        # A level used at its member 0 only stays so; spelling of untouched axes stays, too.
        ("(4,6)/((4:6, 1_W:1), (6))", (2, 2, 6), "(2,2,6)/((1_W:1, 2:12), (2:6), (6))"),
        ("()/(; B@[PE])", (1, 1), "(1,1)/((), (); B@[PE])"),
        ("(1,1)/((), (); B@[PE])", (), "()/(; B@[PE])"),
        ("(1)/((8_L1B:1))", (), None),
    ],
)  # fmt: skip
def test_reshapes(text: str, shape: tuple[int, ...], expected: str | None) -> None:
    found = merge_reshape(PadLayout.parse(text), shape)
    assert (None if found is None else str(found)) == expected


def test_different_numbers_of_elements() -> None:
    with pytest.raises(LayoutError, match="128000 elements cannot become 131072"):
        merge_reshape(PadLayout.parse(X), (128, 1024))


def test_empty_tensors_have_no_alias() -> None:
    assert merge_reshape(PadLayout.parse("(0,4)/((1:1), (4:1))"), (4, 0)) is None


def _places(pad_layout: PadLayout) -> list[list[int]]:
    return [field.ravel().tolist() for field in pad_layout.index_arrays(padding=False)]


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_reshape_moves_no_element(data: st.DataObject) -> None:
    pad_layout = data.draw(pad_layouts(MNType.HALF))
    size = math.prod(pad_layout.shape)
    inner = data.draw(st.sampled_from([n for n in range(1, size + 1) if size % n == 0]))
    rest = size // inner
    middle = data.draw(st.sampled_from([n for n in range(1, rest + 1) if rest % n == 0]))
    shape = data.draw(st.sampled_from([(rest, inner), (rest // middle, middle, inner), (size,), (1, rest, 1, inner)]))
    found = merge_reshape(pad_layout, shape)
    if found is not None:
        assert found.shape == shape
        assert _places(found) == _places(pad_layout)
        assert found.layout.broadcast_levels == pad_layout.layout.broadcast_levels
        back = merge_reshape(found, pad_layout.shape)
        assert back is not None and _places(back) == _places(pad_layout)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_merging_unpadded_axes_always_works(data: st.DataObject) -> None:
    drawn = data.draw(pad_layouts(MNType.FLOAT))
    first = data.draw(st.integers(1, drawn.padded_shape[0]))
    pad_layout = PadLayout((first, *drawn.padded_shape[1:]), drawn.layout)
    merged = merge_reshape(pad_layout, (math.prod(pad_layout.shape),))
    assert merged is not None
    assert _places(merged) == _places(pad_layout)
    again = merge_reshape(merged, pad_layout.shape)
    assert again is not None and _places(again) == _places(pad_layout)
