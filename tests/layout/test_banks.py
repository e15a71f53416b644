"""Gathering both banks of a group: addresses of the axis that holds the banks may interleave with those of others."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from compiler.layout import Layout, LayoutError, PadLayout
from compiler.layout.l2b import bank_stride, banks_gathered, can_gather, gather_banks, spread_banks

SPREAD = [
    "((8_L2B:1, 8_L1B:1, 2:1), (4:2, 4_W:1, 4_PE:1))",
    "((8_L2B:1, 2:2), (2:1), (4:4, 2_W:1, 4_PE:1); B@[MAB,L1B])",
    "((8_L2B:1, 3:5), (5:1, 4_PE:1); B@[MAB,L1B,W])",
    "((8_L2B:1), (7:1, 4_PE:1), (3:7); B@[MAB,L1B,W])",
    "((2_W:1, 4_PE:1), (8_L2B:1, 2:3, 3:7), (3:1); B@[MAB,L1B])",
]


@pytest.mark.parametrize("text", SPREAD)
def test_every_element_of_both_banks_lies_in_both_banks(text: str) -> None:
    layout = Layout.parse(text)
    stride, gathered = bank_stride(layout), gather_banks(layout)
    assert can_gather(layout)
    before = PadLayout(layout.padded_shape, layout).index_arrays()
    after = PadLayout(layout.padded_shape, gathered).index_arrays()
    bank, addr = before.l2b % 2, before.addr
    np.testing.assert_array_equal(after.l2b // 2, before.l2b // 2)
    np.testing.assert_array_equal(after.addr, addr % stride + bank * stride + addr // stride * 2 * stride)


@pytest.mark.parametrize("text", SPREAD)
def test_spreading_undoes_gathering(text: str) -> None:
    layout = Layout.parse(text)
    gathered = gather_banks(layout)
    assert banks_gathered(gathered)
    assert spread_banks(gathered).equivalent(layout)


def test_what_counts_as_gathered_is_gathered_again_by_what_undoes_it() -> None:
    seen = 0
    for bank, inner, outer in itertools.product((1, 2, 3, 4, 6), (1, 2, 5), (2, 4, 8, 12)):
        try:
            rows = f"(4_L2B:2, 2:{bank}, 2:{outer})"
            layout = Layout.parse(f"({rows}, (2:{inner}), (2:24, 4_PE:1); B@[MAB,L1B,W,2_L2B:1])")
        except LayoutError:
            continue
        if banks_gathered(layout):
            seen += 1
            assert gather_banks(spread_banks(layout)).equivalent(layout)
    assert seen


def test_a_layout_without_all_banks_first_cannot_be_gathered() -> None:
    layout = Layout.parse("((2:1, 8_L2B:1), (4_PE:1))")
    assert not can_gather(layout)
    with pytest.raises(LayoutError, match="8_L2B:1"):
        gather_banks(layout)
