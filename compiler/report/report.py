"""report.json: the figures of one compilation; layers, causes and bounds each add up to `vsm_cycles`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from compiler.report.bounds import lower_bound
from compiler.report.call import call_report, call_timing
from compiler.report.roofline import ridge, roofline
from compiler.report.work import LayerWork, layer_work
from hw.program import Mv, Step

if TYPE_CHECKING:
    from compiler.compiled import Compiled
    from compiler.options import Options
    from compiler.plan.addresses import Addresses
    from hw.spec import ChipSpec


def build_report(compiled: Compiled, options: Options, addresses: Addresses, flops: int) -> dict[str, Any]:
    """Plain data for report.json.

    causes, bounds, units, bytes_by_link, lower_bounds, layers, estimates: see `hw.model.report.time_report`; layers
    have in addition their operator and roofline figures (`compiler.report.roofline`).  `flops` of the layers and
    `flops_outside_layers` add up to `flops`; `dram_bytes` of the layers, which is what they need, and
    `dram_bytes_outside_layers` to what the program moves.  call: one call with its host transfers, which `vsm_cycles`
    leaves out.
    phases: what was compiled when.  `percent_of_peak` is of the half-precision peak, whatever the dtype, as in seed
    3.1.1.
    """
    from hw.model.report import time_report
    from hw.spec import default_spec

    spec = default_spec()
    timing = compiled.timing
    frequency = float(spec["clock.core"])
    tflops = flops / (timing.cycles / (frequency * 1e6)) / 1e12
    peak = spec.peak_flops("half") / 1e12
    time = time_report(timing, spec)
    work = layer_work(compiled.graph, spec)
    layers = [_with_work(layer, work, spec) for layer in time.pop("layers")]
    lines = compiled.program.lines
    call = call_timing(compiled.program, compiled.inputs.values(), compiled.outputs.values(), spec)
    return {
        "vsm_cycles": time.pop("vsm_cycles"),
        "core_freq": frequency,
        "flops": flops,
        "milliseconds": timing.cycles / frequency / 1e3,
        "tflops": tflops,
        "percent_of_peak": 100.0 * tflops / peak,
        "lower_bound_cycles": lower_bound(compiled.graph, spec),
        "pe_lines": sum(isinstance(line, Step) for line in lines),
        "mv_lines": sum(isinstance(line, Mv) for line in lines),
        "layers": layers,
        **time,
        "flops_outside_layers": flops - sum(layer["flops"] for layer in layers),
        "roofline": {**ridge(spec), **_whole(layers, flops, timing.cycles, spec)},
        "dram_bytes_outside_layers": _dram_bytes(time["bytes_by_link"]) - sum(layer["dram_bytes"] for layer in layers),
        "call": call_report(call),
        "phases": compiled.phases,
        "lm_peak_words": {"LM0": addresses.lm_peak["m"], "LM1": addresses.lm_peak["n"]},
        "dram_lws_per_group": addresses.dram_used,
        "host_ops": [],
        "scheduler": options["scheduler"],
        "float_dtype": options["float_dtype"],
    }


def _with_work(layer: dict[str, Any], work: dict[str, LayerWork], spec: ChipSpec) -> dict[str, Any]:
    """A layer of the time report with its operator and its roofline; work is found by name."""
    nothing = LayerWork(0, 0, spec.peak_flops("half") / spec.clock_hz)
    figures = roofline(work.get(layer["name"], nothing), layer["cycles"], spec)
    return {"name": layer["name"], "op_type": layer["name"].split("(")[0], **layer, **figures}


def _dram_bytes(bytes_by_link: dict[str, int]) -> int:
    return sum(nbytes for link, nbytes in bytes_by_link.items() if link.startswith("DRAM"))


def _whole(layers: list[dict[str, Any]], flops: int, cycles: int, spec: ChipSpec) -> dict[str, Any]:
    """The roofline of the program: all operations as half-precision matrices, DRAM traffic of all layers."""
    work = LayerWork(flops, sum(layer["dram_bytes"] for layer in layers), spec.peak_flops("half") / spec.clock_hz)
    return roofline(work, cycles, spec)
