"""Gather with indices known at run time only: every PE turns its indices into addresses of a source that all hold.

The gathered axis lies in addresses (stride 1), the same in every PE of the levels over which the indices are spread;
the other axes of the source lie as in the result.  So a result long word is one source long word at an address that is
the index plus a constant: a selection whose table is made from the indices.  A source that is an input or a parameter
is not kept in local memory: its DRAM image passes through a chunk of LM0 (MNCoreStreamGather).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from compiler.emit.asm import Asm
from compiler.emit.elementwise import Stream
from compiler.emit.selection import Places, emit_selection
from compiler.emit.transfer import Route
from compiler.errors import UnsupportedOperator
from compiler.graph import Location, MNGraph, MNNode, MNType
from compiler.layers.base import Assignment, EmitContext, Layer, Raw, SliceAxis, rows_axis
from compiler.layout import Axis, Broadcast, Layout, Level, PadLayout, SubAxis
from compiler.layout.indexmap import axis_positions
from compiler.switch.feeds import UNIT, Feed, Load
from compiler.switch.placing import chunk_slots, scratch_words
from compiler.switch.selection import Pattern, Selection, Unit

ONE, EXTENT, LAST = 0, 2, 4
#: A pattern that differs between PEs; its table is written at run time.
_AT_RUN_TIME = Pattern(np.arange(2).reshape(2, 1, 1, 1), np.zeros((1, 1, 1, 1), np.int64))


@dataclass(frozen=True)
class _Shape:
    """axis: the gathered one.  rank: axes of the indices.

    Axes of the result: those of the source before `axis`, those of the indices, those of the source after.
    """

    axis: int
    rank: int

    @classmethod
    def of(cls, node: MNNode, graph: MNGraph) -> _Shape:
        source = graph.values[node.inputs[0]]
        return cls(int(node.attrs.get("axis", 0)) % len(source.shape), len(graph.values[node.inputs[1]].shape))

    def result_axis(self, axis: int) -> int:
        """Result axis of a source axis other than the gathered one."""
        return axis if axis < self.axis else axis + self.rank - 1

    @property
    def index_axes(self) -> range:
        """Result axes of the indices."""
        return range(self.axis, self.axis + self.rank)


def _spatial(axis: Axis) -> list[SubAxis]:
    return [sub for sub in axis if sub.level is not Level.ADDR]


def _projected(result: Layout, axes: Sequence[int | None], extents: Sequence[int], *, words: bool) -> Layout:
    """Layout of a tensor whose axis k lies like result axis `axes[k]`; None: in addresses of stride 1.

    Address digits keep their order and leave no gaps; levels of the other result axes become copies.
    """
    digits: list[list[SubAxis]] = []
    for axis, extent in zip(axes, extents, strict=True):
        digits.append([SubAxis(extent, Level.ADDR, 1)] if axis is None else list(result.axes[axis]))
    addresses = sorted(
        ((axes[k] is not None, sub.stride, k, place))
        for k, subs in enumerate(digits)
        for place, sub in enumerate(subs)
        if sub.level is Level.ADDR
    )
    stride = 1
    for _, _, k, place in addresses:
        extent = digits[k][place].extent
        digits[k][place] = SubAxis(extent, Level.ADDR, stride)
        stride *= extent
    copies = list(result.broadcast)
    for number, other in enumerate(result.axes):
        if number not in axes:
            copies += [Broadcast(sub.level, sub.extent, sub.stride) for sub in _spatial(other) if sub.extent > 1]
    if words:
        copies = [entry for entry in copies if entry.level is not Level.W] + [Broadcast(Level.W)]
    return Layout(tuple(Axis(tuple(subs)) for subs in digits), tuple(copies)).canonical()


class Gather(Layer):
    """Source and 32-bit indices in; negative indices count from the end, those outside take the last row.

    Attribute `depth`: rows that negative indices count from, if not all of them.
    """

    op_types: ClassVar[tuple[str, ...]] = ("MNCoreGather",)

    def same_type(self, node: MNNode) -> tuple[str, ...]:
        return (node.inputs[0], node.outputs[0])

    def slice_axes(self, node: MNNode, graph: MNGraph) -> Sequence[SliceAxis]:
        shape = _Shape.of(node, graph)
        rank = len(graph.values[node.inputs[0]].shape)
        along_indices = [SliceAxis({1: k}, {0: axis}) for k, axis in enumerate(shape.index_axes)]
        along_source = [
            SliceAxis({0: axis}, {0: shape.result_axis(axis)}) for axis in range(rank) if axis != shape.axis
        ]
        return [*along_indices, *along_source]

    def assign(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None], wishes: Sequence[Layout | None]
    ) -> Assignment:
        source, index, out = (graph.values[name] for name in (*node.inputs, *node.outputs))
        if index.dtype is not MNType.INT:
            raise UnsupportedOperator(f"Gather {node.outputs[0]!r}: indices are {index.dtype}, expected integers")
        shape = _Shape.of(node, graph)
        wish = wishes[0]
        fits = wish is not None and wish.num_slices == 1 and self._fits(wish, shape)
        result = wish if fits and wish is not None else self._natural(out.shape, shape, out.dtype.words_per_lw)
        axes = [None if k == shape.axis else shape.result_axis(k) for k in range(len(source.shape))]
        whole = _projected(result, axes, source.shape, words=False)
        indices = _projected(result, list(shape.index_axes), index.shape, words=True)
        return Assignment(
            (PadLayout(source.shape, whole), PadLayout(index.shape, indices)), (PadLayout(out.shape, result),)
        )

    @staticmethod
    def _fits(result: Layout, shape: _Shape) -> bool:
        """Whether one long word of the result belongs to one index."""
        subaxes = [sub for axis in shape.index_axes for sub in result.axes[axis]]
        return all(sub.level is not Level.W or sub.extent == 1 for sub in subaxes)

    @staticmethod
    def _natural(out: tuple[int, ...], shape: _Shape, lanes: int) -> Layout:
        """First index axis over L2B, L1B and addresses; the last source axis over MABs, words and PEs."""
        axes: list[list[SubAxis]] = [[] for _ in out]
        rows = list(shape.index_axes)[:1]
        last = len(out) - 1 if len(out) - 1 not in shape.index_axes else shape.axis - 1
        stride = 1
        for number in reversed(range(len(out))):
            subs: list[SubAxis] = []
            extent = out[number]
            if number in rows:
                subs = [SubAxis(n, level, step) for n, level, step in rows_axis(extent)]
                subs[-1] = SubAxis(subs[-1].extent, Level.ADDR, stride)
                stride *= subs[-1].extent
            else:
                if number == last and last >= 0:
                    split = (lanes, Level.W), (4, Level.PE), (16, Level.MAB)
                    for members, level in split:
                        if members > 1 and extent > 1:
                            subs.insert(0, SubAxis(members, level))
                            extent = -(-extent // members)
                if extent > 1:
                    subs.insert(0, SubAxis(extent, Level.ADDR, stride))
                    stride *= extent
            axes[number] = [sub for sub in subs if sub.extent > 1]
        return Layout.build(axes)

    def _selection(self, node: MNNode, graph: MNGraph) -> Selection:
        """The units of the result, with index long words for patterns."""
        shape = _Shape.of(node, graph)
        source, index, out = (graph.values[name].layout for name in (*node.inputs, *node.outputs))
        assert source is not None and index is not None and out is not None
        rows = source.shape[shape.axis]
        kept = [axis for axis in range(len(source.shape)) if axis != shape.axis]
        feed = Feed(source.num_lw, 1, False, frozenset(), self._load, False, -(-source.num_lw // UNIT) * UNIT)
        units: dict[int, Unit] = {}
        for index_part in _addresses(index.layout, out.layout, list(range(shape.rank)), list(shape.index_axes)):
            for kept_part in _addresses(source.layout, out.layout, kept, [shape.result_axis(k) for k in kept]):
                first, target = kept_part[0], index_part[1] + kept_part[1]
                blocks = tuple(range(first // UNIT, (first + rows - 1) // UNIT + 1))
                units[target] = Unit(2 * target, index_part[0], 2 * first, blocks)
        slots = -(-source.num_lw // UNIT) * UNIT
        granules = list(range(-(-source.num_lw // feed.load.granule)))
        patterns = [_AT_RUN_TIME] * index.num_lw
        return Selection(2, [feed], [0], [granules], patterns, list(units.values()), slots, False, 0)

    @property
    def _load(self) -> Load:
        return Load.OWN

    def _chunk(self, node: MNNode, graph: MNGraph, selection: Selection) -> int:
        values = [graph.values[name] for name in (*node.inputs, *node.outputs)]
        resident = sum(value.num_lw for value in values if value.loc is Location.LM0)
        letter = "m" if values[0].loc is Location.LM0 else "n"
        return chunk_slots(selection, [letter], graph.lm_lws, resident + values[1].num_lw)

    def scratch(self, node: MNNode, graph: MNGraph) -> dict[str, int]:
        chunk = self._chunk(node, graph, self._selection(node, graph))
        return {"m": scratch_words(chunk) + 2 * graph.values[node.inputs[1]].num_lw}

    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        graph = ctx.graph
        selection = self._selection(node, graph)
        rows = graph.values[node.inputs[0]].shape[_Shape.of(node, graph).axis]
        index, target = ctx.stream(node.inputs[1]), ctx.stream(node.outputs[0])
        table = Stream("m", ctx.scratch["m"], index.num_lw)
        _emit_addresses(asm, index, table, rows, _wrap(node, rows))
        places = Places(
            (self._source(node, ctx),),
            (target.lm, target.addr),
            ("m", table.addr),
            table.addr + 2 * table.num_lw,
            self._chunk(node, graph, selection),
            self._routes(node, graph),
        )
        emit_selection(asm, selection, places)

    def _source(self, node: MNNode, ctx: EmitContext) -> tuple[str, int]:
        source = ctx.stream(node.inputs[0])
        return source.lm, source.addr

    def _routes(self, node: MNNode, graph: MNGraph) -> tuple[Route, ...]:
        return ()

    def reference(self, node: MNNode, graph: MNGraph, inputs: Sequence[Raw]) -> list[Raw]:
        shape = _Shape.of(node, graph)
        rows = inputs[0].shape[shape.axis]
        index = inputs[1].view(np.int32).astype(np.int64)
        index = np.where(index < 0, index + _wrap(node, rows), index)
        index = np.where((index < 0) | (index >= rows), rows - 1, index)
        return [np.take(inputs[0], index, axis=shape.axis)]


class StreamGather(Gather):
    """The same with the source in DRAM."""

    op_types: ClassVar[tuple[str, ...]] = ("MNCoreStreamGather",)
    streamed: ClassVar[frozenset[int]] = frozenset({0})

    @property
    def _load(self) -> Load:
        return Load.DRAM

    def _source(self, node: MNNode, ctx: EmitContext) -> tuple[str, int]:
        return "d", ctx.dram(node.inputs[0])

    def _routes(self, node: MNNode, graph: MNGraph) -> tuple[Route, ...]:
        layout = graph.values[node.inputs[0]].layout
        assert layout is not None
        return (Route.of(layout),)


def _wrap(node: MNNode, rows: int) -> int:
    """What is added to negative indices."""
    return int(node.attrs["depth"]) if "depth" in node.attrs else rows


def _addresses(
    mine: Layout, result: Layout, axes: Sequence[int], result_axes: Sequence[int]
) -> list[tuple[int, int]]:
    """All pairs (address in a tensor, address in the result) that the address digits of the given axes reach."""
    per_axis: list[list[tuple[int, int]]] = []
    for axis, other in zip(axes, result_axes, strict=True):
        own = axis_positions(mine.axes[axis], Level.ADDR)
        theirs = axis_positions(result.axes[other], Level.ADDR)
        per_axis.append(sorted(set(zip(own.tolist(), theirs.tolist(), strict=True))))
    assert math.prod(len(pairs) for pairs in per_axis) > 0
    return [
        (sum(pair[0] for pair in pairs), sum(pair[1] for pair in pairs)) for pairs in itertools.product(*per_axis)
    ]


def _emit_addresses(asm: Asm, index: Stream, table: Stream, rows: int, extent: int) -> None:
    """Word addresses of rows from indices, of which negative ones count from `extent`.

    As unsigned numbers, the smaller of i and i + extent is the row for -extent <= i < extent, and too large otherwise.
    """
    asm.op(f'imm i"1" $ls{ONE}')
    asm.op(f'imm i"{extent}" $ls{EXTENT}')
    asm.op(f'imm i"{rows - 1}" $ls{LAST}')
    for lw, mask in table.groups():
        asm.op(f"iadd {index.at(lw)} $ls{EXTENT} $nowrite")
        asm.op(f"uimin $aluf {index.at(lw)} $nowrite")
        asm.op(f"uimin $aluf $ls{LAST} $nowrite")
        asm.op(f"ilsl $aluf $ls{ONE} {table.at(lw)}{mask}")


LAYERS: tuple[Layer, ...] = (Gather(), StreamGather())
