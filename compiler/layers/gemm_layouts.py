"""Layouts of streamed matrix products, per way of using the L2Bs (see `compiler.layers.streamed_gemm`).

With rows the long words of M in an L1B, k the k-tiles of a MAB and n the n-tiles:

* x  ((8_L2B:1, 8_L1B:1, rows:1), (16_MAB:1, k:rows, 4_W:1, 4_PE:1)); by banks the group form of it (`gather_banks`),
  by groups the form dealt to the banks (`deal_rows`)
* w  ((n:16k, 4:1, 4:4), (16_MAB:1, k:16, 4_W:1, 4_PE:1); B@[L1B,L2B]): a tile row is one address, so that its 16
  elements in four PEs are one block of the conversion to block float; the digit of banks or groups leads the axis that
  they split
* b  ((n:2, 2:1, 2_W:1, 4_PE:1); B@[MAB,L1B,L2B]) as Float, the order of the accumulators; added in one place of K only:
  where groups hold parts of K it is the first group's part of a longer vector, padded with zeros
* y  over the MABs like the x of a following product, else alike in all MABs
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from compiler.layers.base import rows_axis, rows_per_l1b
from compiler.layout import Axis, Broadcast, Layout, Level, SubAxis
from compiler.layout.deal import deal_rows, dealt_mabs
from compiler.layout.l2b import COPIED_BANKS, COPIED_GROUPS, L2bUse, gather_banks, l2b_use

Digit = tuple[int, Level, int]
#: What the ways of using the L2Bs split over banks ("N", "K") or groups ("gN", "gK"), and the digit that does it.
PARTS = {"N": SubAxis(2, Level.L2B, 1), "gN": SubAxis(4, Level.L2B, 2)}
PARTS |= {"K": PARTS["N"], "gK": PARTS["gN"]}
_REST = {2: COPIED_GROUPS, 4: COPIED_BANKS}


@dataclass(frozen=True)
class Forms:
    """Layouts of one product; `weight` with N first."""

    x: Layout
    weight: Layout
    bias: Layout
    y: Layout


def _ceil(value: int, unit: int) -> int:
    return max(1, -(-value // unit))


def _axis(digits: list[Digit]) -> list[Digit]:
    return [digit for digit in digits if digit[0] > 1]


def x_layout(rows: int, depth: int) -> Layout:
    """Left operand with the rows over all L2Bs."""
    per_l1b = rows_per_l1b(rows)
    k_axis = [(16, Level.MAB, 1), (_ceil(depth, 256), Level.ADDR, per_l1b), (4, Level.W, 1), (4, Level.PE, 1)]
    return Layout.build([rows_axis(rows), _axis(k_axis)])


def gathered_layout(rows: int, outputs: int) -> Layout:
    """Result that all MABs hold, rows over all L2Bs."""
    per_l1b, tiles = rows_per_l1b(rows), _ceil(outputs, 16)
    return Layout.build([rows_axis(rows), _axis([(tiles, Level.ADDR, per_l1b), (4, Level.W, 1), (4, Level.PE, 1)])])


def split_k_tiles(depth: int, parts: int) -> tuple[int, int]:
    """(MABs, k-tiles of a MAB) that hold one of `parts` parts of K: all 16 MABs, or a power of two of them."""
    tiles = _ceil(depth, 16 * parts)
    if tiles > 8:
        return 16, _ceil(tiles, 16)
    return 1 << (tiles - 1).bit_length(), 1


def _rows_held(layout: Layout, way: str) -> Layout:
    """`layout`, whose rows are spread over all L2Bs, as the L2Bs hold it by banks or by groups."""
    return deal_rows(layout) if way.startswith("g") else gather_banks(layout)


def split_k_layout(rows: int, depth: int, way: str) -> Layout:
    """Left operand whose columns are split over banks or groups: what a product that splits N so leaves."""
    mabs, tiles = split_k_tiles(depth, PARTS[way].extent)
    held = _rows_held(Layout.build([rows_axis(rows)]), way).axes[0]
    in_l1b = math.prod(sub.extent for sub in held if sub.level is Level.ADDR)
    columns = _axis([(mabs, Level.MAB, 1), (tiles, Level.ADDR, in_l1b), (4, Level.W, 1), (4, Level.PE, 1)])
    copies = [Broadcast(Level.MAB, 16 // mabs, mabs)] if 1 < mabs < 16 else [Broadcast(Level.MAB)] if mabs == 1 else []
    return Layout.build([held, [PARTS[way], *columns]], copies)


def operand(rows: int, depth: int, way: str) -> Layout:
    """The layout a product needs its left operand in."""
    if way.endswith("K"):
        return split_k_layout(rows, depth, way)
    layout = x_layout(rows, depth)
    return _rows_held(layout, way) if way else layout


def rows_in_l1b(layout: Layout) -> int:
    """Long words of M in an L1B: the addresses of the first axis."""
    count = 1
    for sub in layout.axes[0]:
        count *= sub.extent if sub.level is Level.ADDR else 1
    return count


def forms(rows: int, depth: int, outputs: int, way: str, wish: Layout | None) -> Forms:
    """All layouts of a product of (rows, depth) with (outputs, depth); `wish` is what the reader of y would like."""
    if way.endswith("N"):
        return _by_outputs(rows, depth, outputs, way)
    if way.endswith("K"):
        return _by_depth(rows, depth, outputs, way)
    spread = x_layout(rows, outputs)
    scatter = wish is not None and wish.equivalent(spread)
    tiles = 16 * _ceil(outputs, 256) if scatter else _ceil(outputs, 16)
    return Forms(
        x_layout(rows, depth),
        _weight(tiles, 16, _ceil(depth, 256)),
        _bias(tiles),
        spread if scatter else gathered_layout(rows, outputs),
    )


def _by_outputs(rows: int, depth: int, outputs: int, way: str) -> Forms:
    mabs, local = split_k_tiles(outputs, PARTS[way].extent)
    weight = _weight(mabs * local, 16, _ceil(depth, 256))
    if way == "gN":
        weight = Layout((weight.axes[0], dealt_mabs(weight.axes[1])), weight.broadcast)
    bias = _bias(mabs * local)
    return Forms(
        operand(rows, depth, way), _parted(weight, 0, way), _parted(bias, 0, way), split_k_layout(rows, outputs, way)
    )


def _by_depth(rows: int, depth: int, outputs: int, way: str) -> Forms:
    mabs, local = split_k_tiles(depth, PARTS[way].extent)
    tiles = _ceil(outputs, 16)
    weight = _parted(_weight(tiles, mabs, local), 1, way)
    bias = _bias(tiles)
    return Forms(
        split_k_layout(rows, depth, way),
        weight,
        _parted(bias, 0, way) if way == "gK" else bias,
        _rows_held(gathered_layout(rows, outputs), way),
    )


def _weight(n_tiles: int, mabs: int, k_tiles: int) -> Layout:
    n_axis = [(n_tiles, Level.ADDR, 16 * k_tiles), (4, Level.ADDR, 1), (4, Level.ADDR, 4)]
    k_axis = [(k_tiles, Level.ADDR, 16), (4, Level.W, 1), (4, Level.PE, 1)]
    axes = [_axis(n_axis), [(mabs, Level.MAB, 1), *_axis(k_axis)]]
    return Layout.build(axes, [Level.L1B, Level.L2B])


def _bias(n_tiles: int) -> Layout:
    return Layout.build([_axis([(n_tiles, Level.ADDR, 2), (2, Level.ADDR, 1), (2, Level.W, 1), (4, Level.PE, 1)])])


def _parted(layout: Layout, axis: int, way: str) -> Layout:
    """The layout with the digit of banks or groups leading an axis; the others of them keep copies."""
    assert l2b_use(layout) is L2bUse.COPIED
    digit = PARTS[way]
    axes = [Axis((digit, *old)) if number == axis else old for number, old in enumerate(layout.axes)]
    copies = [entry for entry in layout.broadcast if entry.level is not Level.L2B]
    return Layout(tuple(axes), (*copies, _REST[digit.extent]))
