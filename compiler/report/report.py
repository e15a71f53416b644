"""report.json: the figures of one compilation; layers and causes each add up to `vsm_cycles`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compiler.report.bounds import lower_bound
from hw.program import Mv, Step

if TYPE_CHECKING:
    from compiler.codegen import Compiled
    from compiler.options import Options
    from compiler.plan.addresses import Addresses


def build_report(compiled: Compiled, options: Options, addresses: Addresses, flops: int) -> dict[str, Any]:
    """Plain data for report.json.

    layers: name, operator, start, cycles (start to start of the next layer).  causes: where the cycles went.
    phases: what was compiled when.  `percent_of_peak` is of the half-precision peak, whatever the dtype, as in seed
    3.1.1.
    """
    from hw.spec import default_spec

    spec = default_spec()
    timing = compiled.timing
    frequency = float(spec["clock.core"])
    tflops = flops / (timing.cycles / (frequency * 1e6)) / 1e12
    peak = spec.peak_flops("half") / 1e12
    layers = [
        {
            "name": region.name,
            "op_type": region.name.split("(")[0],
            "start": region.start,
            "cycles": region.end - region.start,
        }
        for region in timing.regions
    ]
    lines = compiled.program.lines
    return {
        "vsm_cycles": timing.cycles,
        "core_freq": frequency,
        "flops": flops,
        "milliseconds": timing.cycles / frequency / 1e3,
        "tflops": tflops,
        "percent_of_peak": 100.0 * tflops / peak,
        "lower_bound_cycles": lower_bound(compiled.graph, spec),
        "pe_lines": sum(isinstance(line, Step) for line in lines),
        "mv_lines": sum(isinstance(line, Mv) for line in lines),
        "layers": layers,
        "causes": dict(timing.by_cause),
        "phases": compiled.phases,
        "lm_peak_words": {"LM0": addresses.lm_peak["m"], "LM1": addresses.lm_peak["n"]},
        "dram_lws_per_group": addresses.dram_used,
        "host_ops": [],
        "scheduler": options["scheduler"],
        "float_dtype": options["float_dtype"],
        "chip_spec": spec.digest,
    }
