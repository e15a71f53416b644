"""The patterns a node is simulated under: where its inputs lie and where its outputs go (seed 4.2.2.5).

The author of a layer says by `first_in`, `streamed` and `to_dram` what it takes; from that each pattern has an
expectation of success.  Bolder modes also try patterns that may fail.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

from compiler.graph import Location, MNGraph, MNNode
from compiler.layers.registry import layer_of

#: Place of an input that is not in local memory by its nature: absent, an immediate, or streamed from DRAM.
ELSEWHERE = "-"
KEPT, UPLOADED = "LM", "DRAM"


class Expectation(IntEnum):
    """How sure success is: CERTAIN by construction, LIKELY unless memory is short, BOLD otherwise."""

    CERTAIN = 2
    LIKELY = 1
    BOLD = 0


@dataclass(frozen=True)
class Pattern:
    """inputs: per input "LM0", "LM1" (already there), "DRAM" (downloaded as part of it) or ELSEWHERE.  output: KEPT in
    local memory or UPLOADED as part of it.
    """

    inputs: tuple[str, ...]
    output: str
    expected: Expectation

    def __str__(self) -> str:
        return f"({', '.join(self.inputs)}) -> {self.output}"


#: Least expectation that a mode tries, and whether transfers may be part of the pattern.
MODES: dict[str, tuple[Expectation, bool]] = {
    "fast": (Expectation.CERTAIN, False),
    "default": (Expectation.LIKELY, False),
    "best": (Expectation.BOLD, True),
    "full": (Expectation.BOLD, True),
}
#: The mode that `auto` takes for a scheduler; the simple ones do not look at costs.
AUTO = {"auto_recompute_sa": "default"}


def mode_for(mode: str, scheduler: str) -> str:
    """What `auto` means for a scheduler; other modes are what they are."""
    return AUTO.get(scheduler, "fake") if mode == "auto" else mode


def patterns(node: MNNode, graph: MNGraph, mode: str) -> list[Pattern]:
    """The patterns of one node in a mode, the surest first.  `full` keeps those that only repeat a surer one."""
    least, transfers = MODES[mode]
    found = [p for p in _all(node, graph, transfers) if p.expected >= least]
    if mode != "full":
        found = [p for p in found if not _repeats(p, node)]
    if mode == "fast":
        found = found[:1]
    return sorted(found, key=lambda pattern: -pattern.expected)


def _all(node: MNNode, graph: MNGraph, transfers: bool) -> Iterator[Pattern]:
    layer = layer_of(node)
    places = ("LM0", "LM1", "DRAM") if transfers else ("LM0", "LM1")
    options: list[tuple[str, ...]] = []
    for position, name in enumerate(node.inputs):
        in_lm = name and position not in layer.streamed and graph.values[name].loc is not Location.IMM
        options.append(places if in_lm else (ELSEWHERE,))
    movable = [position for position, choice in enumerate(options) if len(choice) > 1]
    if len(movable) > 3:  # beyond three operands the places of the others hardly matter and would multiply
        for position in movable[3:]:
            options[position] = ("LM0",)
    outputs = (KEPT, UPLOADED) if transfers else (KEPT,)
    for inputs, output in itertools.product(itertools.product(*options), outputs):
        yield Pattern(inputs, output, _expectation(node, inputs, output))


def _expectation(node: MNNode, inputs: tuple[str, ...], output: str) -> Expectation:
    layer = layer_of(node)
    first = next((place for place in inputs if place in ("LM0", "LM1")), None)
    if "DRAM" in inputs or output == UPLOADED:
        return Expectation.BOLD
    if layer.first_in is not None and inputs[0] not in (layer.first_in.value, ELSEWHERE):
        return Expectation.BOLD
    if (first == "LM1" and layer.first_in is None) or len(set(inputs) & {"LM0", "LM1"}) > 1:
        return Expectation.LIKELY
    return Expectation.CERTAIN


def _repeats(pattern: Pattern, node: MNNode) -> bool:
    """Whether the pattern places one value in two places."""
    seen: dict[str, str] = {}
    return any(seen.setdefault(n, p) != p for n, p in zip(node.inputs, pattern.inputs, strict=True) if n)
