"""Gemm and MatMul of operands in local memory: every transposition, any sizes, leading axes by the rules of NumPy.

How a product is spread over the chip is chosen from the layouts its operands have (`compiler.layers.product_spread`)
and kept in the attribute `spread`, where a graph may also ask for one; the code is in `compiler.emit.product`.  A
product that the planner marked with `banks` streams its weight from DRAM (`compiler.layers.streamed_gemm`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from compiler.emit.asm import Asm
from compiler.emit.elementwise import Stream
from compiler.emit.product import DOUBLE, HALF, NO_ROW, PSEUDO, SINGLE, Kind, Places, ProductJob, emit_product
from compiler.emit.transfer import Route, add_up, add_up_to_dram
from compiler.errors import UnsupportedOperator
from compiler.graph import Location, MNGraph, MNNode, MNType
from compiler.layers import productmath
from compiler.layers.base import ZERO, Assignment, EmitContext, Layer, PadNeed, Raw, SliceAxis
from compiler.layers.product_in_order import cost_in_order, in_order, result_in_order
from compiler.layers.product_spread import (
    REUSED,
    UNITS,
    Known,
    Role,
    Shape,
    Spread,
    best,
    bias_layout,
    candidates,
    cost,
    tensor_layout,
)
from compiler.layers.streamed_gemm import STREAMED_GEMM
from compiler.layout import Layout, Level, PadLayout
from compiler.layout.indexmap import axis_positions

Table = NDArray[np.int64]

KIND_OF = {MNType.HALF: HALF, MNType.FLOAT: PSEUDO, MNType.DOUBLE: DOUBLE}
#: Attribute of a product of Float operands; TRUE_SINGLE: with all mantissa bits, in twice the steps.
IMPLEMENTATION, TRUE_SINGLE = "implementation", "Single"
#: Bits of a fixed operand that tell the members of a unit apart.
IDS = {"G": ("$l2bid", 6), "B": ("$l2bid", 1), "L1B": ("$l1bid", 7), "MAB": ("$mabid", 15)}
#: Words of scratch for zeros beside a ragged operand.
ZERO_WORDS = 4
#: Operators that move or convert a value as it comes from DRAM.
THROUGH = frozenset({"Cast", "Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose"})


def _transposed(node: MNNode) -> tuple[bool, bool]:
    return bool(node.attrs.get("transA", 0)), bool(node.attrs.get("transB", 0))


def refuse(node: MNNode, why: str) -> UnsupportedOperator:
    """The refusal of a product, to be raised."""
    return UnsupportedOperator(f"{node.op_type} {node.outputs[0]!r}: {why}")


def product_shape(node: MNNode, graph: MNGraph) -> Shape:
    """The roles of all axes.  Raises UnsupportedOperator for what no product in local memory can be."""
    a, b = (graph.values[name] for name in node.inputs[:2])
    if len(b.shape) < 2 or len(a.shape) < 2:
        raise refuse(node, f"operands must have at least two axes, got {a.shape} and {b.shape}")
    if a.dtype is not b.dtype or a.dtype not in KIND_OF:
        raise refuse(node, f"operands must be Half, Float or Double alike, got {a.dtype} and {b.dtype}")
    trans_a, trans_b = _transposed(node)
    rows, depth = a.shape[-2:] if not trans_a else a.shape[:-3:-1]
    other, columns = b.shape[-2:] if not trans_b else b.shape[:-3:-1]
    if depth != other:
        raise refuse(node, f"the contracted axes differ: {depth} of {a.shape} and {other} of {b.shape}")
    left, right = [Role("M", rows), Role("K", depth)], [Role("K", depth), Role("N", columns)]
    left, right = left[::-1] if trans_a else left, right[::-1] if trans_b else right
    result = [Role("M", rows), Role("N", columns)]
    lead = max(len(a.shape), len(b.shape)) - 2
    for number in range(lead):
        mine = a.shape[-3 - number] if len(a.shape) > 2 + number else None
        theirs = b.shape[-3 - number] if len(b.shape) > 2 + number else None
        letter = "S" if mine == theirs else "M" if theirs in (1, None) else "R"
        if letter == "R" and mine not in (1, None):
            raise refuse(node, f"the leading axes of {a.shape} and {b.shape} do not match")
        extent = max(mine or 1, theirs or 1)
        if mine is not None:
            left.insert(0, Role("1", 1) if letter == "R" else Role(letter, extent))
        if theirs is not None:
            right.insert(0, Role("1", 1) if letter == "M" else Role(letter, extent))
        result.insert(0, Role(letter, extent))
    return Shape(tuple(left), tuple(right), tuple(result), KIND_OF[a.dtype].tile)


def kind_of(node: MNNode, graph: MNGraph) -> Kind:
    """The precision of a product."""
    kind = KIND_OF[graph.values[node.inputs[0]].dtype]
    return SINGLE if kind is PSEUDO and node.attrs.get(IMPLEMENTATION) == TRUE_SINGLE else kind


def _spread(node: MNNode) -> Spread:
    letters = node.attrs["spread"]
    return Spread(letters.decode() if isinstance(letters, bytes) else letters)


def _asked(node: MNNode, shape: Shape) -> Spread | None:
    """The spread that the graph asks for.  Raises UnsupportedOperator when it means nothing for the product."""
    if "spread" not in node.attrs:
        return None
    letters = _spread(node).letters
    if letters not in {spread.letters for spread in candidates(shape, wasteful=True)}:
        raise refuse(
            node,
            f"spread={letters!r} is none of this product; expected a letter each for G, B, L1B and MAB, of M, N, K, S "
            "for an axis and - for copies",
        )
    return Spread(letters)


class Gemm(Layer):
    """y = a . b (+ c), contracted over the last axis of `a` (`transA`: the first) and the first of `b` (`transB`)."""

    op_types: ClassVar[tuple[str, ...]] = ("Gemm", "MatMul")
    first_in: ClassVar[Location | None] = Location.LM0

    def shape_of(self, node: MNNode, graph: MNGraph) -> Shape:
        """The roles of all axes."""
        return product_shape(node, graph)

    def variant(self, node: MNNode) -> Layer:
        return STREAMED_GEMM if "banks" in node.attrs else self

    def half_values(self, node: MNNode) -> tuple[str, ...]:
        return (node.inputs[0], node.inputs[1], node.outputs[0])

    def single_values(self, node: MNNode) -> tuple[str, ...]:
        return tuple(node.inputs[2:3])

    def delivers_in_dram(self, node: MNNode, graph: MNGraph) -> bool:
        return "spread" in node.attrs and _spread(node).over_l2b

    def slice_axes(self, node: MNNode, graph: MNGraph) -> Sequence[SliceAxis]:
        rank_a, rank_b, rank = (len(graph.values[name].shape) for name in (*node.inputs[:2], node.outputs[0]))
        trans_a, trans_b = _transposed(node)
        bias = {2: 0} if len(node.inputs) > 2 else {}
        rows = SliceAxis({0: rank_a - 1 if trans_a else rank_a - 2}, {0: rank - 2})
        columns = SliceAxis({1: rank_b - 2 if trans_b else rank_b - 1, **bias}, {0: rank - 1})
        if bias:
            return (rows, columns)
        depth = {0: rank_a - 2 if trans_a else rank_a - 1, 1: rank_b - 1 if trans_b else rank_b - 2}
        return (rows, columns, SliceAxis(depth, {}, "Add"))

    def lead(self, node: MNNode, graph: MNGraph, inputs: Sequence[Layout | None]) -> list[Layout | None]:
        return self._wishes(node, graph, inputs, None)

    def pass_on(self, node: MNNode, graph: MNGraph, inputs: Sequence[Layout | None]) -> list[Layout | None]:
        shape = self.shape_of(node, graph)
        return [tensor_layout(shape, self._wished(node, graph, inputs, None), shape.result).layout]

    def wish(self, node: MNNode, graph: MNGraph, outputs: Sequence[Layout | None]) -> list[Layout | None]:
        return self._wishes(node, graph, [None] * len(node.inputs), outputs[0])

    def _wished(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[Layout | None], result: Layout | None
    ) -> Spread:
        """The spread that suits an operand with a wish, or what an operand costs to come from DRAM."""
        shape = self.shape_of(node, graph)
        known = []
        for position, name in enumerate(node.inputs[:2]):
            given = inputs[position]
            place = PadLayout(graph.values[name].shape, given) if given is not None else None
            known.append(Known(place) if place else _from_dram(name, graph, weighed=position == 1))
        return _asked(node, shape) or best(shape, known, result)

    def _wishes(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[Layout | None], result: Layout | None
    ) -> list[Layout | None]:
        shape, spread = self.shape_of(node, graph), self._wished(node, graph, inputs, result)
        wishes = [tensor_layout(shape, spread, roles).layout for roles in (shape.left, shape.right)]
        return [*wishes, *[bias_layout(shape, spread).layout] * (len(node.inputs) - 2)]

    def assign(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None], wishes: Sequence[Layout | None]
    ) -> Assignment:
        shape = self.shape_of(node, graph)
        self._check(node, graph, shape)
        known = [Known(layout, free=layout is None) for layout in inputs[:2]]
        asked = _asked(node, shape)
        spread = asked or best(shape, known, wishes[0])
        left, right = inputs[:2]
        if asked is None and left is not None and right is not None and len(node.inputs) == 2:
            found = result_in_order(shape, left, right)
            if found is not None and cost_in_order(shape, *found, wishes[0]) < cost(shape, spread, known, wishes[0]):
                node.attrs["spread"] = found[0].letters
                return Assignment((left, right), (found[1],))
        node.attrs["spread"] = spread.letters
        layouts: list[PadLayout | None] = [tensor_layout(shape, spread, roles) for roles in (shape.left, shape.right)]
        layouts += [bias_layout(shape, spread)] * (len(node.inputs) - 2)
        return Assignment(tuple(layouts), (tensor_layout(shape, spread, shape.result),))

    def _check(self, node: MNNode, graph: MNGraph, shape: Shape) -> None:
        for name in ("alpha", "beta"):
            if float(node.attrs.get(name, 1.0)) != 1.0:
                raise refuse(node, f"{name} must be 1, got {node.attrs[name]}")
        columns = shape.result[-1].extent
        if len(node.inputs) > 2 and graph.values[node.inputs[2]].shape != (columns,):
            raise refuse(node, f"the bias must have shape ({columns},), got {graph.values[node.inputs[2]].shape}")

    def padding(self, node: MNNode, graph: MNGraph) -> dict[int, PadNeed]:
        shape = self.shape_of(node, graph)
        return {
            position: PadNeed(ZERO, tuple(number for number, role in enumerate(roles) if role.letter == "K"))
            for position, roles in enumerate((shape.left, shape.right))
        }

    def scratch(self, node: MNNode, graph: MNGraph) -> dict[str, int]:
        job, spread = job_of(node, graph, self.shape_of(node, graph)), _spread(node)
        left, result = graph.values[node.inputs[0]].layout, graph.values[node.outputs[0]].layout
        assert left is not None and result is not None
        words = {"n": job.copy_words if job.left_transposed else 2 * left.num_lw}
        if spread.over_l1b or spread.over_l2b:
            words["m"] = 2 * result.num_lw
        if job.ragged:
            words["m"] = words.get("m", 0) + ZERO_WORDS
        return words

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        job, spread = job_of(node, ctx.graph, self.shape_of(node, ctx.graph)), _spread(node)
        layout = ctx.graph.values[node.outputs[0]].layout
        assert layout is not None
        left, right = (ctx.stream(name) for name in node.inputs[:2])
        bias = ctx.stream(node.inputs[2]) if len(node.inputs) > 2 else None
        partial = spread.over_l1b or spread.over_l2b
        result = Stream("m", ctx.scratch["m"], layout.num_lw) if partial else ctx.stream(node.outputs[0])
        zero = ctx.scratch["m"] + 2 * layout.num_lw * partial if job.ragged else None
        emit_product(asm, job, Places(left, ctx.scratch["n"], right, result, bias, zero))
        route, prec = Route.of(layout), "h" if job.kind is HALF else job.kind.circuit
        source = (result.lm, result.addr)
        if spread.over_l2b:
            add_up_to_dram(asm, route, source, ctx.dram(node.outputs[0]), prec, levels=spread.letters)
        elif partial:
            target = ctx.stream(node.outputs[0])
            add_up(asm, route, source, (target.lm, target.addr), prec)

    def reference(self, node: MNNode, graph: MNGraph, inputs: Sequence[Raw]) -> list[Raw]:
        shape, spread = self.shape_of(node, graph), _spread(node)
        trans_a, trans_b = _transposed(node)
        left = np.swapaxes(inputs[0], -1, -2) if trans_a else inputs[0]
        right = inputs[1] if trans_b else np.swapaxes(inputs[1], -1, -2)
        places, local = spread.members("K"), spread.local(shape, "K")
        kind = kind_of(node, graph)
        bias = inputs[2].view(graph.values[node.inputs[2]].dtype.host_dtype) if len(inputs) > 2 else None
        left, right = (parts(raw, places, local, shape.tile) for raw in (left, right))
        if kind.parts > 1:
            layout = graph.values[node.outputs[0]].layout
            assert layout is not None
            plain = in_order(layout) or local % shape.tile != 0
            left, right = (by_words(tiles, plain=plain) for tiles in (left, right))
        biases = [None if bias is None else bias * bias.dtype.type(p == 0) for p in range(places)]
        accs = [productmath.accumulate(left[p], right[p], biases[p], kind.letter) for p in range(places)]
        return [add_levels(accs, spread, kind.letter)]


def parts(raw: Raw, places: int, local: int, tile: int) -> Raw:
    """(places, ..., rows, tiles, tile) of an operand whose last axis is contracted."""
    padded = np.pad(raw, [(0, 0)] * (raw.ndim - 1) + [(0, places * local - raw.shape[-1])])
    cut = padded.reshape(*raw.shape[:-1], places, local)
    cut = np.pad(cut, [(0, 0)] * raw.ndim + [(0, -local % tile)])
    return np.moveaxis(cut.reshape(*raw.shape[:-1], places, -1, tile), -3, 0)


def by_words(tiles: Raw, *, plain: bool) -> Raw:
    """Tiles of eight as two of four, those of the first words and those of the second; `plain`: neighbours share a
    long word.
    """
    *outer, count, _ = tiles.shape
    words = tiles.reshape(*outer, count, 4, 2).swapaxes(-1, -2) if plain else tiles
    return words.reshape(*outer, 2 * count, 4)


def add_levels(accs: Sequence[Raw], spread: Spread, kind: str) -> Raw:
    """Partial sums of all places, in the order of their levels, to the result: over MABs, L1Bs, banks, groups."""
    sums = np.stack(accs)
    if "MAB" in spread.of("K"):
        split = sums.reshape(-1, 16, *sums.shape[1:])
        raw = np.stack([productmath.add_mabs(part, kind) for part in split])
    else:
        raw = productmath.narrow(sums, kind)
    for unit, members in (("L1B", 8), ("B", 2), ("G", 4)):
        if unit in spread.of("K"):
            split = raw.reshape(-1, members, *raw.shape[1:])
            raw = np.stack([productmath.add_parts(part, kind) for part in split])
    return raw[0]


def _from_dram(name: str, graph: MNGraph, *, weighed: bool) -> Known:
    """Whether an operand comes from DRAM by nodes that keep its elements; `weighed`: more if others read it too."""
    made_by = {output: node for node in graph.nodes for output in node.outputs}
    chain = [name]
    while name in made_by and made_by[name].op_type in THROUGH:
        name = made_by[name].inputs[0]
        chain.append(name)
    if name not in (*graph.inputs, *graph.params):
        return Known()
    readers = sum(any(read in chain for read in node.used) for node in graph.nodes)
    return Known(free=True, weight=REUSED if weighed and readers > len(chain) else 1.0)


def _order(kind: Kind, *, plain: bool) -> Table:
    """For each row of a matrix plane the number of its element in a tile laid as `(lanes_W:1, 4_PE:1)`, `plain`: as
    `(4_PE:1, lanes_W:1)`.
    """
    if plain:
        return np.arange(kind.tile)
    return np.array([4 * h + p for p in range(4) for h in range(kind.lanes)], np.int64)


def _addresses(layout: PadLayout, roles: Sequence[Role], letters: str, local: dict[str, int]) -> Table:
    """Address part of every combination of the local indices of the axes with some letters, outermost axis first."""
    found = np.zeros(1, np.int64)
    for axis, role in zip(layout.layout.axes, roles, strict=True):
        if role.letter in letters:
            positions = axis_positions(axis, Level.ADDR)
            if not any(sub.level in (Level.PE, Level.W) for sub in axis):
                positions = positions[np.sort(np.unique(positions, return_index=True)[1])]
            split = any(sub.level is not Level.ADDR for sub in axis) and role.letter in "MNKS"
            extent = min(len(positions), local[role.letter]) if split else len(positions)
            found = np.add.outer(found, positions[:extent]).ravel()
    return found


def _shared(layout: PadLayout, roles: Sequence[Role], result: Sequence[Role], local: dict[str, int]) -> Table:
    """Address part of every combination of the leading axes S and R of the result, zero along those an operand
    repeats.
    """
    found = np.zeros(1, np.int64)
    offset = len(result) - len(roles)
    for number, role in enumerate(result[:-2], start=-offset):
        if role.letter not in "SR":
            continue
        if number >= 0 and roles[number].letter == role.letter:
            part = PadLayout((role.extent,), Layout((layout.layout.axes[number],)))
            steps = _addresses(part, roles[number : number + 1], role.letter, local)
        else:
            steps = np.zeros(role.extent, np.int64)
        found = np.add.outer(found, steps).ravel()
    return found


def job_of(node: MNNode, graph: MNGraph, shape: Shape) -> ProductJob:
    """The tables of a product whose layouts are settled."""
    spread = _spread(node)
    kind = kind_of(node, graph)
    local = {letter: spread.local(shape, letter) for letter in "MNKS"}
    left, right, result = (graph.values[name].layout for name in (*node.inputs[:2], node.outputs[0]))
    assert left is not None and right is not None and result is not None
    order, tile = _order(kind, plain=in_order(result)), kind.tile
    depth = -(-local["K"] // tile)
    inside = order if local["K"] % tile == 0 else np.arange(tile)
    numbers = tile * np.arange(depth)[:, None] + inside

    def along(layout: PadLayout, roles: Sequence[Role], letter: str) -> Table:
        return _addresses(layout, roles, letter, local)

    def rows(addresses: Table) -> Table:
        found = addresses[np.minimum(numbers, len(addresses) - 1)]
        return np.where(numbers < local["K"], found, NO_ROW)

    s_left, s_right, s_result = (
        _shared(layout, roles, shape.result, local)
        for layout, roles in ((left, shape.left), (right, shape.right), (result, shape.result))
    )
    n_numbers = tile * np.arange(local["N"] // tile)
    m_result = along(result, shape.result, "M")
    k_left, k_right = along(left, shape.left, "K"), along(right, shape.right, "K")
    m_left, n_right = along(left, shape.left, "M"), along(right, shape.right, "N")
    if shape.left_direct:
        vectors = np.argsort(m_left, kind="stable")
        left_table = s_left[:, None, None] + m_left[vectors][:, None] + k_left[::tile]
    else:
        m_left = m_left[: len(m_result)]
        vectors = (tile * np.arange(len(m_left) // tile)[:, None] + order).ravel()
        table = rows(k_left)
        left_table = _with_rows(s_left[:, None, None] + m_left[::tile][:, None], table)
    if shape.right_direct:
        tiles = n_right[n_numbers[:, None] + order]
        right_table = s_right[:, None, None, None] + tiles[:, None, :] + k_right[::tile][:, None]
    else:
        right_table = _with_rows(s_right[:, None, None] + n_right[::tile][:, None], rows(k_right))
    n_result = along(result, shape.result, "N")[n_numbers]
    bias = None
    if len(node.inputs) > 2:
        place = graph.values[node.inputs[2]].layout
        assert place is not None
        bias = axis_positions(place.layout.axes[0], Level.ADDR)[n_numbers]
    ids = {IDS[unit][0]: 0 for unit in UNITS if unit in spread.of("K")}
    for unit in spread.of("K"):
        ids[IDS[unit][0]] |= IDS[unit][1]
    return ProductJob(
        kind=kind,
        left=left_table,
        left_transposed=not shape.left_direct,
        right=right_table,
        right_transposed=not shape.right_direct,
        result=s_result[:, None, None] + m_result[vectors][:, None] + n_result,
        bias=bias,
        first_ids=tuple(ids.items()),
        sum_mabs="MAB" in spread.of("K"),
    )


def _with_rows(base: Table, rows: Table) -> Table:
    """base (s, t, 1) + rows (k, row) -> (s, t, k, row), keeping NO_ROW."""
    total = base[..., None] + rows
    return np.where(rows == NO_ROW, NO_ROW, total)


LAYERS: tuple[Layer, ...] = (Gemm(),)
