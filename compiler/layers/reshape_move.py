"""MNCoreReshape: a reshape whose digits do not chain up, so that elements move.

Where the first axis stays and every L1B keeps its part of it (images that become rows of a product, and gradients on
the way back), all L1Bs do the same, and no element leaves its L1B.  A source that lies otherwise is switched to rows of
that kind first when this costs less.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from compiler.graph import MNGraph, MNNode
from compiler.layers.base import Assignment
from compiler.layers.gemm_layouts import x_layout
from compiler.layers.image_layouts import one_l1b
from compiler.layers.index_move import IndexMove
from compiler.layout import Layout, PadLayout
from compiler.layout.levels import IntArray
from compiler.switch.cells import Move, pack_index
from compiler.switch.chains import chain_cycles
from compiler.switch.elements import element_map
from compiler.switch.routes import select_cost

HALVES = 4


class ReshapeMove(IndexMove):
    """The elements in row-major order, in another shape."""

    op_types: ClassVar[tuple[str, ...]] = ("MNCoreReshape",)

    def assign(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None], wishes: Sequence[Layout | None]
    ) -> Assignment:
        value, out = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
        given, wish = inputs[0], wishes[0]
        rows = value.dtype.words_per_lw == HALVES and len(value.shape) == 2 and value.shape[0] == out.shape[0]
        if rows and given is not None and wish is not None and one_l1b(given) is None:
            target, source = PadLayout(out.shape, wish), PadLayout(value.shape, x_layout(*value.shape))
            if wish.num_slices == 1 and one_l1b(target) is not None:
                elements = element_map(node, graph, [0])[0]
                costs = [select_cost(self._move(node, graph, (x,), target, elements)).cycles for x in (given, source)]
                if costs[1] + chain_cycles(given, source, value.dtype) < costs[0]:
                    return Assignment((source,), (target,))
        return super().assign(node, graph, inputs, wishes)

    def _move(
        self, node: MNNode, graph: MNGraph, given: tuple[PadLayout, ...], target: PadLayout, elements: IntArray
    ) -> Move:
        source, made = one_l1b(given[0]), one_l1b(target)
        if source is None or made is None or given[0].shape[0] != target.shape[0]:
            return super()._move(node, graph, given, target, elements)
        size = int(np.prod(source.shape, dtype=np.int64))
        return Move((source,), made, graph.values[node.outputs[0]].dtype, pack_index(np.arange(size)))


LAYERS = (ReshapeMove(),)
