"""The scheduling problem of a planned graph as arrays: what the annealing loop works on.

Constants take no part.  Values are numbered in the order of the graph's dictionary, nodes in execution order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.graph import Location, MNGraph, MNNode
from compiler.graph.value import LM_WORDS
from compiler.layers.registry import layer_of
from compiler.nodesim.costs import NodeCosts
from compiler.nodesim.probe import DOWNLOAD, IDENTITY, UPLOAD

Ints = NDArray[np.int64]
#: What becomes of a value between its uses: it stays in local memory, goes through DRAM, or is made anew.
KEEP, SPILL, RECOMPUTE = 0, 1, 2
NONE = -1


@dataclass(frozen=True)
class Problem:
    """nodes, values: the objects behind the numbers.

    Per node: operands in local memory (`read_at`, `reads`: offsets and values), inputs streamed from DRAM
    (`stream_at`, `streams`), results (`make_at`, `makes`); `first_in` the memory its first operand must lie in;
    `alias`, `in_place`, `to_dram` as in its layer; `body` its cycles by the memories of its first two operands.
    Per value: long words, cycles of its transfers, the node that makes it, whether it begins in DRAM and must end
    there, and whether it may be recomputed.  `free_policy` and `free_home` are the values that can be decided on.
    """

    graph: MNGraph
    nodes: tuple[MNNode, ...]
    values: tuple[str, ...]
    read_at: Ints
    reads: Ints
    stream_at: Ints
    streams: Ints
    make_at: Ints
    makes: Ints
    first_in: Ints
    alias: Ints
    in_place: Ints
    to_dram: Ints
    body: Ints
    lws: Ints
    down: Ints
    up: Ints
    ident: Ints
    producer: Ints
    in_dram: Ints
    is_output: Ints
    recomputable: Ints
    free_policy: Ints
    free_home: Ints
    capacity: int

    def reads_of_nodes(self) -> list[set[int]]:
        """Per node, the nodes whose results it reads."""
        found = []
        for node in range(len(self.nodes)):
            values = [*self.reads[self.read_at[node] : self.read_at[node + 1]]]
            values += [*self.streams[self.stream_at[node] : self.stream_at[node + 1]]]
            found.append({int(self.producer[value]) for value in values if self.producer[value] >= 0})
        return found

    @property
    def arrays(self) -> tuple[Any, ...]:
        """What the compiled loop takes, in the order of `native.kernel.evaluate`."""
        return (
            (self.read_at, self.reads, self.stream_at, self.streams, self.make_at, self.makes),
            (self.first_in, self.alias, self.in_place, self.to_dram, self.body),
            (self.lws, self.down, self.up, self.ident, self.producer, self.in_dram, self.is_output),
            self.capacity,
        )


def build_problem(graph: MNGraph, costs: NodeCosts, sram_budget: float) -> Problem:
    """The problem of a graph with layouts and without locations."""
    nodes = tuple(node for node in graph.nodes if node.op_type != "Constant")
    values = tuple(graph.values)
    number = {name: index for index, name in enumerate(values)}
    reads = [[number[name] for name in local_operands(node, graph)] for node in nodes]
    streams = [[number[n] for p, n in enumerate(node.inputs) if n and p in layer_of(node).streamed] for node in nodes]
    makes = [[number[name] for name in node.outputs] for node in nodes]
    producer = np.full(len(values), NONE)
    for position, made in enumerate(makes):
        producer[made] = position
    readers = np.zeros(len(values), np.int64)
    for group in (*reads, *streams):
        for value in set(group):
            readers[value] += 1
    start = {*graph.inputs, *graph.params}
    in_dram = np.array([int(name in start) for name in values])
    local = {value for group in reads for value in group}
    recomputable = [_recomputable(value, producer, nodes, graph) for value in range(len(values))]
    free = [v for v in sorted(local) if readers[v] > 1 or (not in_dram[v] and readers[v])]
    return Problem(
        graph,
        nodes,
        values,
        *_ragged(reads),
        *_ragged(streams),
        *_ragged(makes),
        first_in=np.array([_memory(layer_of(node).first_in) for node in nodes]),
        alias=np.array([int(layer_of(node).alias) for node in nodes]),
        in_place=np.array([int(layer_of(node).in_place) for node in nodes]),
        to_dram=np.array([int(layer_of(node).delivers_in_dram(node, graph)) for node in nodes]),
        body=np.array(
            [[[costs.body(node, a, b) for b in ("LM0", "LM1")] for a in ("LM0", "LM1")] for node in nodes]
        ).reshape(len(nodes), 2, 2),
        lws=np.array([_lws(graph, name) for name in values]),
        down=_transfers(costs, DOWNLOAD, values),
        up=_transfers(costs, UPLOAD, values),
        ident=_transfers(costs, IDENTITY, values),
        producer=producer,
        in_dram=in_dram,
        is_output=np.array([int(name in graph.outputs) for name in values]),
        recomputable=np.array(recomputable, np.int64),
        free_policy=np.array(free, np.int64),
        free_home=np.array(sorted(local), np.int64),
        capacity=int(LM_WORDS * sram_budget) // 4 * 2,
    )


def local_operands(node: MNNode, graph: MNGraph) -> list[str]:
    """The inputs that a node reads in local memory, each once."""
    streamed = layer_of(node).streamed
    names = [n for p, n in enumerate(node.inputs) if n and p not in streamed]
    return list(dict.fromkeys(name for name in names if graph.values[name].loc is not Location.IMM))


def _recomputable(value: int, producer: Ints, nodes: Sequence[MNNode], graph: MNGraph) -> int:
    """A result alone of its node, in local memory, whose memory is its own."""
    if producer[value] < 0:
        return 0
    node = nodes[producer[value]]
    layer = layer_of(node)
    apart = layer.alias or layer.in_place or layer.delivers_in_dram(node, graph)
    return int(len(node.outputs) == 1 and not apart)


def _memory(location: Location | None) -> int:
    return NONE if location is None else int(location is Location.LM1)


def _lws(graph: MNGraph, name: str) -> int:
    value = graph.values[name]
    return value.num_lw if value.layout is not None else 0


def _transfers(costs: NodeCosts, op_type: str, values: tuple[str, ...]) -> Ints:
    return np.array([costs.transfers.get((op_type, name), 0) for name in values])


def _ragged(rows: list[list[int]]) -> tuple[Ints, Ints]:
    """Offsets and concatenation."""
    ends = np.cumsum([0, *map(len, rows)])
    return ends.astype(np.int64), np.array([item for row in rows for item in row], np.int64)
