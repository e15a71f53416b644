"""A chain: arithmetic on elements of several operators in one node, as the fused optimizer operators carry it.

Attribute `steps` has one text for each operation, its ONNX operator and the numbers of its operands: the node's inputs
come first, then the results of the steps before.  Attribute `results` has the numbers of the node's outputs.
`["Mul 1 3", "Add 4 2"]` on inputs p, v, g, c makes number 4 of v and c, and number 5 of that and g.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

STEPS, RESULTS = "steps", "results"

SGD, MOMENTUM, ADAM, ADAMW, OTHER = "ChainerSGD", "ChainerMomentum", "ChainerAdam", "ChainerAdamW", "ChainerUpdate"
RATES = "ChainerUpdateRates"
#: The operators that carry a chain, and what each makes.
CHAINS = {
    SGD: "gradient descent: the new parameter",
    MOMENTUM: "gradient descent with momentum: momentum and parameter",
    ADAM: "Adam: the averages of gradient and squared gradient, and the parameter",
    ADAMW: "Adam with decoupled weight decay: as ChainerAdam",
    OTHER: "another update by arithmetic on elements: the states, and the parameter",
    RATES: "the single numbers of an update: powers that are states, and the factors made of them",
}

#: Operators that a step may be: one formula for floating-point elements, no attributes.
STEP_OPERATORS = frozenset({"Add", "Sub", "Mul", "Div", "Neg", "Abs", "Sqrt", "Reciprocal", "Max", "Min", "Sign"})


@dataclass(frozen=True)
class Link:
    """One operation: an ONNX operator and the numbers of its operands."""

    op_type: str
    operands: tuple[int, ...]

    def __str__(self) -> str:
        return " ".join([self.op_type, *map(str, self.operands)])


@dataclass(frozen=True)
class Phase:
    """A part of a chain: numbers of its operations in order, and of the results among them."""

    links: tuple[int, ...]
    results: tuple[int, ...]


@dataclass(frozen=True)
class Chain:
    """The operations of a node in order, and the numbers of what it gives."""

    links: tuple[Link, ...]
    results: tuple[int, ...]

    @classmethod
    def of(cls, attributes: Mapping[str, Any]) -> Chain:
        """The chain in a node's attributes; texts may be bytes, as ONNX stores them."""
        links = []
        for text in attributes[STEPS]:
            op_type, *operands = (text.decode() if isinstance(text, bytes) else text).split()
            links.append(Link(op_type, tuple(map(int, operands))))
        return cls(tuple(links), tuple(int(number) for number in attributes[RESULTS]))

    def phases(self, operands: int) -> list[Phase]:
        """The chain cut into parts that share nothing but operands and results, in the order of what they make.

        operands: how many inputs the node has.  What is made early can leave the chip while the rest is computed.
        """
        found: list[Phase] = []
        for result in sorted(self.results):
            ready = {number for phase in found for number in phase.results}
            phase = Phase(self._needed(result, operands, ready), (result,))
            first = next((k for k, other in enumerate(found) if set(other.links) & set(phase.links)), len(found))
            joined = [*found[first:], phase]
            found[first:] = [
                Phase(
                    tuple(sorted({number for part in joined for number in part.links})),
                    tuple(number for part in joined for number in part.results),
                )
            ]
        return found

    def _needed(self, result: int, operands: int, ready: set[int]) -> tuple[int, ...]:
        """Numbers of the operations that make `result` from operands and what is ready."""
        needed: set[int] = set()
        todo = [result]
        while todo:
            number = todo.pop()
            if number >= operands and number not in needed and number not in ready:
                needed.add(number)
                todo += self.links[number - operands].operands
        return tuple(sorted(needed))

    def attributes(self) -> dict[str, Sequence[str] | Sequence[int]]:
        """As attributes of a node."""
        return {STEPS: [str(link) for link in self.links], RESULTS: list(self.results)}
