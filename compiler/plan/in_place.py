"""Updates in place: the new contents of a parameter are written over the old ones where both lie alike.

A program that changes its parameters (weights, optimizer state) gives the new contents as outputs.  Where the last node
that reads a parameter comes before the upload of its new contents, the upload may go to the same DRAM; the packer keeps
the order of transfers that touch the same region.
"""

from __future__ import annotations

from collections.abc import Mapping

from compiler.graph import Location, MNGraph, PadType
from compiler.layout.image import DramImage
from compiler.schedulers.placement import Schedule


def share_addresses(schedule: Schedule, updates: Mapping[str, str]) -> list[str]:
    """Move outputs to the addresses of the parameters they replace; returns the parameters updated in place.

    updates: parameter -> output.  Addresses must be planned; nothing else may lie where an output lay.
    """
    graph = schedule.graph
    done: list[str] = []
    for param, output in updates.items():
        if param not in graph.params or output not in schedule.outputs:
            continue
        stored = schedule.outputs[output]
        if _alike(graph, param, stored) and _written_after_reads(graph, param, stored):
            _move(graph, stored, param)
            done.append(param)
    return done


def _alike(graph: MNGraph, param: str, stored: str) -> bool:
    old, new = graph.values[param], graph.values[stored]
    if old.layout is None or old.layout != new.layout or old.dtype is not new.dtype:
        return False
    padded_alike = not old.layout.is_padded or old.pad_type in (None, PadType.DIRTY, new.pad_type)
    return padded_alike and stored not in graph.params


def _written_after_reads(graph: MNGraph, param: str, stored: str) -> bool:
    family = {param} | {v.name for v in graph.values.values() if v.parent == param}
    reads = [position for position, node in enumerate(graph.nodes) if family & set(node.used)]
    place = graph.values[stored].addr
    writes = [
        position
        for position, node in enumerate(graph.nodes)
        for name in node.outputs
        if name == stored or (graph.values[name].loc is Location.DRAM and _inside(graph, name, stored, place))
    ]
    return bool(writes) and max(reads, default=-1) < min(writes)


def _inside(graph: MNGraph, name: str, stored: str, place: int | None) -> bool:
    addr = graph.values[name].addr
    return addr is not None and place is not None and place <= addr < place + _slot(graph, stored)


def _slot(graph: MNGraph, name: str) -> int:
    value = graph.values[name]
    assert value.layout is not None
    return DramImage(value.layout, value.dtype).slot_lws


def _move(graph: MNGraph, stored: str, param: str) -> None:
    """Take the output, and the slices inside it, to the parameter's address."""
    old, new = graph.values[stored].addr, graph.values[param].addr
    assert old is not None and new is not None
    for name in list(graph.values):
        value = graph.values[name]
        if value.loc is Location.DRAM and _inside(graph, name, stored, old) and name != stored:
            assert value.addr is not None
            value.addr += new - old
    graph.values[stored].addr = new
