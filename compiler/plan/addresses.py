"""Address planner: LM words and DRAM long words for every value of a scheduled graph, and LM scratch for every node.

LM: a value lives from the node that makes it to the last node that reads it or one of its aliases; it gets the
lowest free multiple of two long words.  DRAM: inputs by name, then parameters, then what the program stores, in
slots of 1,024 long words (compiler.md 6); spilled intermediates grow down from 526,869,888.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from compiler.errors import DoesNotFit, LocalMemoryFull
from compiler.graph import Location, MNGraph, MNValue
from compiler.graph.value import DRAM_LWS, LM_WORDS
from compiler.layers.registry import layer_of
from compiler.layout.image import DramImage

SPILL_TOP = DRAM_LWS - 10_000_000
LETTER = {Location.LM0: "m", Location.LM1: "n"}


@dataclass
class Addresses:
    """Scratch words per node position and memory letter, and how much was used."""

    scratch: list[dict[str, int]] = field(default_factory=list)
    lm_peak: dict[str, int] = field(default_factory=lambda: {"m": 0, "n": 0})
    dram_used: int = 0


def plan_addresses(graph: MNGraph, sram_budget: float = 1.0) -> Addresses:
    """Set `addr` of every value; `sram_budget` is the share of local memory that may be used.  Raises DoesNotFit."""
    plan = Addresses()
    _plan_dram(graph, plan)
    _plan_lm(graph, plan, int(LM_WORDS * sram_budget) // 4 * 4)
    return plan


def _plan_dram(graph: MNGraph, plan: Addresses) -> None:
    next_free, spill = 0, SPILL_TOP
    made = [name for node in graph.nodes for name in node.outputs]
    for name in (*sorted(graph.inputs), *graph.params, *made):
        value = graph.values[name]
        if value.loc is not Location.DRAM:
            continue
        assert value.layout is not None
        slot = DramImage(value.layout, value.dtype).slot_lws
        if name in made and name not in graph.outputs:
            spill -= slot
            value.addr = spill
        else:
            value.addr = next_free
            next_free += slot
        if next_free > spill:
            raise DoesNotFit(
                f"value {name!r} needs {slot} long words of DRAM per group; {spill - next_free + slot} are left"
            )
    plan.dram_used = next_free + SPILL_TOP - spill


def _plan_lm(graph: MNGraph, plan: Addresses, budget: int) -> None:
    last_use = _last_uses(graph)
    live: dict[str, list[tuple[int, int, int, str]]] = {"m": [], "n": []}

    def allocate(letter: str, words: int, until: int, what: str, name: str = "") -> int:
        start = 0
        for begin, end, *_ in sorted(live[letter]):
            if start + words <= begin:
                break
            start = max(start, end)
        if start + words > budget:
            raise LocalMemoryFull(
                f"{what} needs {words // 2} long words of LM{'mn'.index(letter)}; the largest gap within "
                f"the budget of {budget // 2} is smaller",
                tuple(owner for *_, owner in live[letter] if owner),
            )
        live[letter].append((start, start + words, until, name))
        plan.lm_peak[letter] = max(plan.lm_peak[letter], start + words)
        return start

    for position, node in enumerate(graph.nodes):
        scratch: dict[str, int] = {}
        layer = layer_of(node) if node.op_type != "Constant" else None
        for name in node.outputs:
            value = graph.values[name]
            if value.loc in LETTER and value.parent is None:
                value.addr = allocate(
                    LETTER[value.loc],
                    2 * value.num_lw,
                    last_use.get(name, position),
                    f"value {name!r} ({value.layout})",
                    name,
                )
            elif value.parent is not None:
                value.addr = graph.owner(name).addr
        if layer is not None:
            for key, words in layer.scratch(node, graph).items():
                letter = _scratch_letter(graph, key, graph.values[node.outputs[0]])
                if words:
                    scratch[letter] = allocate(letter, -(-words // 4) * 4, position, f"scratch of {node}")
        plan.scratch.append(scratch)
        for letter in live:
            live[letter] = [span for span in live[letter] if span[2] > position]


def _scratch_letter(graph: MNGraph, key: str, output: MNValue) -> str:
    if key != "other":
        return key
    assert output.loc is not None
    return LETTER[output.loc]


def _last_uses(graph: MNGraph) -> dict[str, int]:
    """Last node position that reads a value or an alias of it, filed under the owner."""
    last: dict[str, int] = {}
    for position, node in enumerate(graph.nodes):
        for name in (*node.used, *node.outputs):
            owner = graph.owner(name).name
            last[owner] = max(position, last.get(owner, -1))
    return last
