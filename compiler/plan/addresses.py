"""Address planner: LM words and DRAM long words for every value of a scheduled graph, and LM scratch for every node.

LM: a value lives from the node that makes it to the last node that reads it or one of its aliases; it gets the
lowest free multiple of two long words.  DRAM: inputs by name, then parameters, then what the program stores, in
slots of 1,024 long words (compiler.md 6); spilled intermediates grow down from 526,869,888.  Parameters that layers
want behind each other lie so, those that are streamed from a multiple of the size of L2BM on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from compiler.emit.asm import MV_UNIT, round_up
from compiler.emit.weights import L2BM_LWS
from compiler.errors import DoesNotFit, LocalMemoryFull
from compiler.graph import Location, MNGraph, MNNode, MNValue
from compiler.graph.value import DRAM_LWS, LM_WORDS
from compiler.layers.registry import layer_of
from compiler.layout import ImageError
from compiler.layout.image import SLOT_LWS, DramImage

SPILL_TOP = DRAM_LWS - 10_000_000
MOVES = frozenset({"MNCoreDownload", "MNCoreSlicedDownload", "MNCoreLayoutSwitch", "MNCoreRefillPadding", "Identity"})
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
    _plan_lm(graph, plan, _budget_words(sram_budget))
    return plan


def _plan_dram(graph: MNGraph, plan: Addresses) -> None:
    next_free, spill = 0, SPILL_TOP
    made = [name for node in graph.nodes for name in node.outputs]
    runs = _adjacent(graph)
    inside = {name for run in runs for name in run[:-1]}
    adjacent = [name for run in runs for name in run]
    for name in (*sorted(graph.inputs), *(p for p in graph.params if p not in adjacent), *adjacent, *made):
        value = graph.values[name]
        if value.loc is not Location.DRAM or value.parent is not None:
            continue
        image = _image(value)
        slot = image.lws_per_group if name in inside else image.slot_lws
        if name in inside and name in runs[-1]:
            slot = round_up(slot, MV_UNIT)
        if name in runs[-1][:1]:
            next_free = round_up(next_free, L2BM_LWS)
        if name in made and name not in graph.outputs:
            spill -= slot
            value.addr = spill
        else:
            value.addr = next_free
            next_free = next_free + slot if name in inside else round_up(next_free + slot, SLOT_LWS)
        if next_free > spill:
            raise DoesNotFit(
                f"value {name!r} needs {slot} long words of DRAM per group; {spill - next_free + slot} are left"
            )
    plan.dram_used = next_free + SPILL_TOP - spill
    for node in graph.nodes:
        if node.op_type == "MNCoreInputSplit":
            _place_slices(graph, node.inputs[0], node.outputs)
        elif node.op_type == "MNCoreOutputConcat":
            _place_slices(graph, node.outputs[0], node.inputs)


def _adjacent(graph: MNGraph) -> list[list[str]]:
    """The parameters that lie behind each other: of each joint download, and last those that other layers want so."""
    runs: list[list[str]] = []
    wanted: list[str] = []
    for node in graph.nodes:
        if node.op_type != "Constant":
            names = [node.inputs[k] for k in layer_of(node).adjacent(node) if node.inputs[k] in graph.params]
            if node.op_type == "MNCoreDownload":
                runs.append(names)
            else:
                wanted += names
    return [*runs, wanted]


def _place_slices(graph: MNGraph, whole: str, slices: list[str]) -> None:
    """Slices lie in the image of the whole value, one after the other."""
    value = graph.values[whole]
    assert value.addr is not None
    step = _image(value).slice_lws
    for number, name in enumerate(slices):
        graph.values[name].addr = value.addr + number * step


def _image(value: MNValue) -> DramImage:
    assert value.layout is not None
    try:
        return DramImage(value.layout, value.dtype)
    except ImageError as error:
        raise DoesNotFit(f"value {value.name!r}: {error}") from error


def find_spills(graph: MNGraph, sram_budget: float, rank: Callable[[str], float]) -> set[str]:
    """Values that have to leave local memory for others to fit, those of the highest rank first; empty when all fit.

    Values of rank below zero stay.  Works on a graph without addresses, which it does not change.  Raises
    LocalMemoryFull when a layer finds no room even so.
    """
    spilled: set[str] = set()

    def evict(live: Sequence[str], needed: set[str]) -> str | None:
        free = sorted((name for name in live if name not in needed and rank(name) >= 0), key=lambda n: (-rank(n), n))
        spilled.update(free[:1])
        return free[0] if free else None

    _plan_lm(graph.copy(), Addresses(), _budget_words(sram_budget), evict)
    return spilled


def _budget_words(sram_budget: float) -> int:
    return int(LM_WORDS * sram_budget) // 4 * 4


Evict = Callable[[Sequence[str], set[str]], str | None]


def _plan_lm(graph: MNGraph, plan: Addresses, budget: int, evict: Evict | None = None) -> None:
    """Addresses in local memory.  `evict` is asked for a value to drop where there is no room, given the values there
    and those that the layer at work needs.
    """
    last_use = _last_uses(graph)
    live: dict[str, list[tuple[int, int, int, str]]] = {"m": [], "n": []}

    def gap(letter: str, words: int) -> int:
        start = 0
        for begin, end, *_ in sorted(live[letter]):
            if start + words <= begin:
                break
            start = max(start, end)
        return start

    def allocate(letter: str, words: int, position: int, until: int, what: str, name: str = "") -> int:
        start = gap(letter, words)
        while start + words > budget:
            there = tuple(owner for *_, owner in live[letter] if owner)
            worker = _worker(graph, position)
            victim = evict(there, _needed(graph, position, worker)) if evict is not None else None
            if victim is None:
                raise LocalMemoryFull(
                    f"{what} needs {words // 2} long words of LM{'mn'.index(letter)}; the largest gap within "
                    f"the budget of {budget // 2} is smaller",
                    there,
                    tuple(worker.outputs),
                )
            live[letter] = [span for span in live[letter] if span[3] != victim]
            start = gap(letter, words)
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
                    position,
                    last_use.get(name, position),
                    f"value {name!r} ({value.layout})",
                    name,
                )
            elif value.loc in LETTER:
                value.addr = graph.owner(name).addr
        if layer is not None:
            for key, words in layer.scratch(node, graph).items():
                letter = _scratch_letter(graph, key, graph.values[node.outputs[0]])
                if words:
                    scratch[letter] = allocate(letter, -(-words // 4) * 4, position, position, f"scratch of {node}")
        plan.scratch.append(scratch)
        for letter in live:
            live[letter] = [span for span in live[letter] if span[2] > position]


def _needed(graph: MNGraph, position: int, worker: MNNode) -> set[str]:
    """Owners of what the nodes from `position` up to the layer they work for touch."""
    needed: set[str] = set()
    for node in graph.nodes[position:]:
        needed |= {graph.owner(name).name for name in (*node.used, *node.outputs)}
        if node is worker:
            break
    return needed


def _worker(graph: MNGraph, position: int) -> MNNode:
    """The layer for which the node at `position` works: itself, or the first one that reads what it moves."""
    node = graph.nodes[position]
    for later in graph.nodes[position + 1 :]:
        if node.op_type not in MOVES:
            break
        if set(node.outputs) & set(later.used):
            node = later
    return node


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
