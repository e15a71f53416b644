"""The time of one call from host memory to host memory: the program with its inputs and outputs staged through PDM."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from compiler.iospec import IOSpec
from compiler.layout.image import DramImage

if TYPE_CHECKING:
    from hw.model import Image, Timing
    from hw.program import Program
    from hw.spec import ChipSpec


def call_timing(program: Program, inputs: Iterable[IOSpec], outputs: Iterable[IOSpec], spec: ChipSpec) -> Timing:
    """Simulate the call: inputs cross the host link before, outputs after.  Every figure of the link is an estimate."""
    from hw.model import simulate, staged

    call = staged(program, spec, [_image(io) for io in inputs], [_image(io) for io in outputs])
    return simulate(call.program, spec, host=call.host)


def call_report(timing: Timing) -> dict[str, Any]:
    """Cycles of a call, bytes over the host link, and what bounds it."""
    return {
        "cycles": timing.cycles,
        "send_bytes": timing.bytes_by_link["PCIe down"],
        "receive_bytes": timing.bytes_by_link["PCIe up"],
        "bounds": {bound: cycles for bound, cycles in timing.by_bound.items() if cycles},
    }


def _image(io: IOSpec) -> Image:
    from hw.model import Image

    return Image(io.name, io.addr, DramImage(io.layout, io.dtype).lws_per_group)
