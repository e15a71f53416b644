"""The time of a program as plain data that adds up: by cause, by unit, by region, with lower bounds beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hw.events import Bound, by_bound
from hw.model.eventlog import STREAM_TRACK
from hw.model.timing import Timing
from hw.spec import ChipSpec, Rank, Role

__all__ = ["STREAM_TRACK", "estimates", "lower_bounds", "problems", "time_report"]


def time_report(timing: Timing, spec: ChipSpec) -> dict[str, Any]:
    """Everything about the time of one program, ready for JSON.

    `causes`, `bounds` and the `cycles` of `layers` each add up to `vsm_cycles`, and the causes and bounds of a layer to
    its `cycles`.  `units` are busy cycles; units work at the same time, so they add up to nothing, but none exceeds
    `vsm_cycles`.  `lower_bounds` see `lower_bounds`; `estimates` are the numbers of the chip that time depends on and
    that no public text states, with what a user set.
    """
    layers = [
        {
            "name": region.name,
            "start": region.start,
            "cycles": region.cycles,
            "causes": dict(region.by_cause),
            "bounds": _nonzero(by_bound(region.by_cause)),
            "units": dict(region.by_unit),
            "bytes_by_link": dict(region.nbytes),
            "lower_bounds": lower_bounds(region.by_cause, region.by_unit),
        }
        for region in timing.regions
    ]
    return {
        "vsm_cycles": timing.cycles,
        "core_freq": timing.clock_mhz,
        "causes": dict(timing.by_cause),
        "bounds": timing.by_bound,
        "units": _nonzero(timing.by_unit),
        "bytes_by_link": _nonzero(timing.bytes_by_link),
        "lower_bounds": lower_bounds(timing.by_cause, timing.by_unit),
        "layers": layers,
        "estimates": estimates(spec),
        "chip_spec": timing.spec_digest,
    }


def lower_bounds(by_cause: Mapping[str, int], by_unit: Mapping[str, int]) -> dict[str, int]:
    """Cycles that the same work needs at least, by what it needs them of.

    steps: the steps that do something.  dram, pdm, l2bm, link, host: the busiest port of each kind.  A region's ports
    are those that are busy while it runs, for whatever line.
    """
    kinds = {"DRAM": "dram", "PDM": "pdm", "L2BM g": "l2bm", "ring": "link", "link": "link", "PCIe": "host"}
    found = {"steps": by_cause.get("compute", 0) + by_cause.get("transfer", 0)}
    for unit, busy in by_unit.items():
        for prefix, kind in kinds.items():
            if unit.startswith(prefix):
                found[kind] = max(found.get(kind, 0), busy)
    return _nonzero(found)


def estimates(spec: ChipSpec) -> dict[str, float]:
    """Numbers that time depends on and that are estimated or were set by the user."""
    uncertain = (Rank.ESTIMATED, Rank.OVERRIDE)
    return {name: spec[name] for name in spec.names(Role.TIME) if spec.quantity(name).rank in uncertain}


def problems(report: Mapping[str, Any]) -> list[str]:
    """What does not add up in a `time_report`; empty when all is well."""
    found: list[str] = []
    cycles = report["vsm_cycles"]

    def check(what: str, total: int, expected: int) -> None:
        if total != expected:
            found.append(f"{what} add up to {total} cycles, expected {expected}")

    check("causes", sum(report["causes"].values()), cycles)
    check("bounds", sum(report["bounds"].values()), cycles)
    if report["layers"]:
        check("layers", sum(layer["cycles"] for layer in report["layers"]), cycles)
    for layer in report["layers"]:
        check(f"causes of layer {layer['name']!r}", sum(layer["causes"].values()), layer["cycles"])
        check(f"bounds of layer {layer['name']!r}", sum(layer["bounds"].values()), layer["cycles"])
    for unit, busy in report["units"].items():
        if busy > cycles:
            found.append(f"{unit} is busy for {busy} of {cycles} cycles")
    if unknown := set(report["bounds"]) - {bound.value for bound in Bound}:
        found.append(f"unknown bounds {', '.join(sorted(unknown))}")
    return found


def _nonzero(numbers: Mapping[str, int]) -> dict[str, int]:
    return {name: number for name, number in numbers.items() if number}
