"""What node simulation found, as schedulers ask for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from compiler.graph import MNNode
from compiler.nodesim.patterns import KEPT

#: Cycles of a body by the places ("LM0", "LM1") of its operands in local memory.
Bodies = Mapping[tuple[str, ...], int]


@dataclass(frozen=True)
class NodeCosts:
    """bodies: per first output of a node.  transfers: per (transfer operator, value).  record: content of
    simulation_result.json.
    """

    bodies: Mapping[str, Bodies]
    transfers: Mapping[tuple[str, str], int]
    record: Mapping[str, Any]

    def body(self, node: MNNode, first: str, second: str) -> int:
        """Cycles of a node whose first and second operands in local memory lie there: the nearest pattern that
        succeeded.
        """
        known = self.bodies[node.outputs[0]]

        def distance(places: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
            wanted = (first, second)[: len(places)]
            return sum(a != b for a, b in zip(places, wanted, strict=False)), places

        return known[min(known, key=distance)]

    def transfer(self, op_type: str, name: str) -> int:
        """Cycles of a Download, Upload or Identity of a value."""
        return self.transfers[op_type, name]


def operand_places(inputs: tuple[str, ...], output: str) -> tuple[str, ...] | None:
    """The places of the operands in local memory, or None for a pattern with transfers in it."""
    if output != KEPT or "DRAM" in inputs:
        return None
    return tuple(place for place in inputs if place in ("LM0", "LM1"))
