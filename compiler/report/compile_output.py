"""out.txt and out.json: the outcome of a compilation in short, for people and for programs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from compiler.compiled import Compiled
    from compiler.options import Options


def output_data(compiled: Compiled, options: Options) -> dict[str, Any]:
    """Plain data for out.json."""
    report = compiled.report
    keys = ("vsm_cycles", "core_freq", "flops", "milliseconds", "tflops", "percent_of_peak", "lower_bound_cycles")
    return {
        "status": "success",
        **{key: report[key] for key in (*keys, "chosen", "candidates", "phases", "options_without_effect")},
        "options": options.to_option_json(),
        "inputs": {name: str(spec.layout) for name, spec in compiled.inputs.items()},
        "outputs": {name: str(spec.layout) for name, spec in compiled.outputs.items()},
        "params": {name: str(spec.layout) for name, spec in compiled.params.items()},
    }


def output_text(compiled: Compiled, options: Options) -> str:
    """The text of out.txt."""
    report = compiled.report
    lines = [
        f"vsm_cycles {report['vsm_cycles']} ({report['milliseconds']:.3f} msec, {report['tflops']:.2f} TFLOPS, "
        f"{report['percent_of_peak']:.2f} %)",
        f"layouts {report['chosen']['layout']}; scheduler {report['chosen']['scheduler']}",
    ]
    lines += [f"{phase['name']}: {phase['status']}, {phase['seconds']} s" for phase in report["phases"]]
    lines += options.notices()
    for layer in report["layers"]:
        lines.append(f"{layer['cycles']:8} cycles  {layer['name']}")
    return "".join(line + "\n" for line in lines)
