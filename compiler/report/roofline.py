"""The roofline: how fast a layer could be, given its operations, its DRAM traffic and the chip's peaks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compiler.report.work import BYTES_PER_LW, LayerWork

if TYPE_CHECKING:
    from hw.spec import ChipSpec

NEITHER = "neither"


def roofline(work: LayerWork, cycles: int, spec: ChipSpec) -> dict[str, Any]:
    """Figures of one layer, or of a whole program, that took `cycles`.

    intensity: operations per DRAM byte.  limit_cycles: the larger of operations / peak and bytes / bandwidth of all
    groups.  bound_by: which of the two it is, "neither" where there are none.  tflops, attainable_tflops: achieved and
    at the limit; None where they have no meaning (a layer that ran wholly in the shadow of others has 0 cycles).
    """
    bandwidth = float(spec.dram_lw_per_cycle) * BYTES_PER_LW * spec.integer("topology.groups")
    compute, dram = work.flops / work.peak, work.dram_bytes / bandwidth
    limit = max(compute, dram)
    to_tflops = spec.clock_hz / 1e12
    return {
        "flops": work.flops,
        "dram_bytes": work.dram_bytes,
        "intensity": work.flops / work.dram_bytes if work.dram_bytes else None,
        "bound_by": NEITHER if not limit else "compute" if compute >= dram else "dram",
        "limit_cycles": limit,
        "tflops": work.flops / cycles * to_tflops if cycles and work.flops else None,
        "attainable_tflops": work.flops / limit * to_tflops if work.flops else None,
    }


def ridge(spec: ChipSpec) -> dict[str, float]:
    """The corner of the roof for half-precision matrices: peak, DRAM bandwidth, and where they meet."""
    peak = spec.peak_flops("half") / 1e12
    bandwidth = float(spec["dram.bandwidth"]) * spec.integer("topology.groups")
    return {"peak_tflops": peak, "dram_gbps": bandwidth, "ridge_flops_per_byte": peak * 1e3 / bandwidth}
