"""What a layer is: one record per operator family, from which the planners and the code generator derive everything.

A layer says which layouts it takes and gives, what the padding of its inputs must hold, which inputs it streams from
DRAM, what scratch it needs, how it becomes VSM, and what it computes (a NumPy reference on raw element bits).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from compiler.emit.asm import Asm
from compiler.emit.elementwise import Stream
from compiler.errors import LayoutConflict
from compiler.graph import Location, MNGraph, MNNode, MNType, MNValue
from compiler.layout import Layout, Level, PadLayout

Raw = NDArray[Any]

ZERO = "Zero"
NEG_INF = "NegInf"
DIRTY = "Dirty"


@dataclass(frozen=True)
class PadNeed:
    """Padding an input must have along some axes before the layer may read it."""

    kind: str
    axes: tuple[int, ...]


@dataclass(frozen=True)
class Assignment:
    """Layouts a layer settles on; None for an input that is not read as a laid-out value (shapes, immediates)."""

    inputs: tuple[PadLayout | None, ...]
    outputs: tuple[PadLayout, ...]


@dataclass(frozen=True)
class SliceAxis:
    """One way to cut a node into independent parts.

    inputs: axis along which each listed input is cut (inputs not listed are needed whole by every part).  outputs: axis
    along which each output is cut; an output not listed is a partial result of full shape in every part, joined by the
    operator `combine` ("Add", "Max", ...).
    """

    inputs: Mapping[int, int]
    outputs: Mapping[int, int]
    combine: str | None = None


class HalfUse(Enum):
    """What a layer can do with Half operands.

    EXACT: its results are exact on them, so rule `mixed` lets Half pass through.  ROUNDED: it has code for them, but
    rounds to Half, so only rule `half` uses it.  NONE: Half operands are converted to Float first.
    """

    EXACT = "exact"
    ROUNDED = "rounded"
    NONE = "none"


@dataclass(frozen=True)
class Table:
    """Compile-time data that a node reads as a parameter of its own: a 32-bit integer array and its layout."""

    data: NDArray[np.int32]
    layout: PadLayout


def table_inputs(node: MNNode) -> list[str]:
    """Names of the tables of a planned node, which follow its own inputs (attribute `tables`: how many)."""
    return node.inputs[len(own_inputs(node)) :]


def own_inputs(node: MNNode) -> list[str]:
    """The inputs of a node without its tables."""
    return node.inputs[: len(node.inputs) - int(node.attrs.get("tables", 0))]


@dataclass
class EmitContext:
    """Where the values of a node are while it is emitted.  Scratch addresses are words, keyed by memory letter."""

    graph: MNGraph
    scratch: Mapping[str, int] = field(default_factory=dict)

    def stream(self, name: str) -> Stream:
        """The local-memory place of a value."""
        value = self.graph.values[name]
        assert value.layout is not None and value.addr is not None
        if value.loc not in (Location.LM0, Location.LM1):
            raise LayoutConflict(f"{name} is needed in local memory but lies in {value.loc}")
        return Stream("m" if value.loc is Location.LM0 else "n", value.addr, value.layout.num_lw)

    def dram(self, name: str) -> int:
        """The DRAM address of a value."""
        value = self.graph.values[name]
        if value.loc is not Location.DRAM or value.addr is None:
            raise LayoutConflict(f"{name} is needed in DRAM but lies in {value.loc}")
        return value.addr


class Layer(ABC):
    """Base record.  Subclasses are stateless; one instance of each is in the registry."""

    op_types: ClassVar[tuple[str, ...]]
    #: inputs read straight from their DRAM image
    streamed: ClassVar[frozenset[int]] = frozenset()
    #: the output takes the place of the first input; nothing moves
    alias: ClassVar[bool] = False
    #: the output is written over the first input
    in_place: ClassVar[bool] = False
    #: the result is delivered in DRAM
    to_dram: ClassVar[bool] = False
    #: inputs that nobody has laid out yet get the layout that `assign` names, whatever was wished for
    lays_out_free_inputs: ClassVar[bool] = False
    #: memory the first input must lie in / the output goes to (None: any / the other one)
    first_in: ClassVar[Location | None] = None

    def same_type(self, node: MNNode) -> tuple[str, ...]:
        """Values of the node that must share one element type (dtype planner)."""
        return ()

    def half_values(self, node: MNNode) -> tuple[str, ...]:
        """Values the `mixed` rule makes Half (inputs and outputs of matrix products)."""
        return ()

    def half_use(self, node: MNNode) -> HalfUse:
        """How the dtype planner may use Half at this node."""
        return HalfUse.EXACT

    def variant(self, node: MNNode) -> Layer:
        """The record that serves this node, where an operator has several that a planner chooses from."""
        return self

    def delivers_in_dram(self, node: MNNode, graph: MNGraph) -> bool:
        """Whether the output of this node is delivered in DRAM: the class attribute `to_dram` unless it depends on the
        node or on the layouts, which are settled by then.
        """
        return self.to_dram

    def single_values(self, node: MNNode) -> tuple[str, ...]:
        """Values that stay Float under every rule (accumulator addends)."""
        return ()

    def wish(self, node: MNNode, graph: MNGraph, outputs: Sequence[Layout | None]) -> list[Layout | None]:
        """Layouts the layer would like its inputs to have, given wishes for its outputs; None = no wish."""
        return [None] * len(node.inputs)

    def lead(self, node: MNNode, graph: MNGraph, inputs: Sequence[Layout | None]) -> list[Layout | None]:
        """Wishes for the inputs that come before those of all other layers, given the wishes for some of them."""
        return [None] * len(node.inputs)

    def pass_on(self, node: MNNode, graph: MNGraph, inputs: Sequence[Layout | None]) -> list[Layout | None]:
        """Wishes for the outputs that follow from those for the inputs."""
        return [None] * len(node.outputs)

    def slice_axes(self, node: MNNode, graph: MNGraph) -> Sequence[SliceAxis]:
        """The ways the node can be cut for time slicing, best first; empty: only as a whole."""
        return ()

    @abstractmethod
    def assign(
        self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None], wishes: Sequence[Layout | None]
    ) -> Assignment:
        """Settle the layouts, given those the inputs have now (None: free) and the consumers' wishes for the
        outputs.
        """

    def instead(self, node: MNNode, graph: MNGraph, inputs: Sequence[PadLayout | None]) -> MNNode | None:
        """A node that must take the place of this one, given the layouts the inputs have; None: this one will do."""
        return None

    def tables(self, node: MNNode, graph: MNGraph) -> list[Table]:
        """Tables the node needs, once its layouts are settled; the planner makes them its last inputs."""
        return []

    def padding(self, node: MNNode, graph: MNGraph) -> dict[int, PadNeed]:
        """Padding needed, per input index."""
        return {}

    def adjacent(self, node: MNNode) -> Sequence[int]:
        """Parameters among the inputs that shall lie behind each other in DRAM, in this order and that of the nodes."""
        return ()

    def fetches_ahead(self, node: MNNode) -> bool:
        """Whether the transfers with which the node begins go in front of the node before it."""
        return False

    def result_padding(self, node: MNNode, graph: MNGraph) -> str:
        """What the padding of the outputs holds."""
        return DIRTY

    def scratch(self, node: MNNode, graph: MNGraph) -> dict[str, int]:
        """Words of scratch per local memory ("m", "n") while the node runs."""
        return {}

    def tighten(self, node: MNNode) -> bool:
        """Make the node do with less scratch where there was no room for it; False when it cannot."""
        return False

    @abstractmethod
    def emit(self, node: MNNode, ctx: EmitContext, asm: Asm) -> None:
        """Write the layer as straight-line VSM."""

    @abstractmethod
    def reference(self, node: MNNode, graph: MNGraph, inputs: Sequence[Raw]) -> list[Raw]:
        """The same computation on raw element bits of the plain shapes (uint16/32/64), bit for bit."""


def same_axes(node: MNNode, graph: MNGraph) -> list[SliceAxis]:
    """The cuts of an operator that works element by element on operands of one shape: along each axis, all alike."""
    rank = len(graph.values[node.outputs[0]].shape)
    return [
        SliceAxis(dict.fromkeys(range(len(node.inputs)), axis), dict.fromkeys(range(len(node.outputs)), axis))
        for axis in range(rank)
    ]


def rows_per_l1b(extent: int) -> int:
    """Rows of a batch axis that one L1B holds.

    Even above one, so that the batch axis lies alike whether or not two elements of a vector share a long word.
    """
    rows = max(1, -(-extent // 64))
    return rows if rows == 1 else rows + rows % 2


def rows_axis(extent: int) -> list[tuple[int, Level, int]]:
    """The batch axis as all layers of this compiler lay it: L2B, L1B, then addresses of stride 1."""
    return [(8, Level.L2B, 1), (8, Level.L1B, 1), (rows_per_l1b(extent), Level.ADDR, 1)]


def raw_float(value: MNValue, raw: Raw) -> NDArray[np.float32]:
    """Single-precision numbers behind raw bits of a Half or Float value."""
    from compiler.layers.halfmath import half_to_float

    return half_to_float(raw) if value.dtype is MNType.HALF else raw.view(np.float32)
