"""The files that a compilation leaves in its codegen_dir (compiler.md 2, seed 4.4), and the logs of both compilers."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path
from typing import TYPE_CHECKING

from compiler.graph import MNGraph, to_l3ir
from compiler.report.compile_output import output_data, output_text
from compiler.report.layout_pages import history_page, layout_page
from compiler.report.occupancy import occupancy_counters
from compiler.report.stripped import stripped_onnx
from compiler.report.time_slice import before_fork, slices_document
from compiler.report.write import write_bytes, write_json, write_text
from compiler.schedulers.schedule import SCHEDULERS, spill_opt

if TYPE_CHECKING:
    import onnx

    from compiler.compiled import Compiled
    from compiler.options import Options
    from compiler.pfvm.pipeline import Pass

CLOG = "CLOG.log"
_LEVEL = "I"  # glog's letter for information


def optimize_logged(model: onnx.ModelProto, options: Options, folder: Path) -> onnx.ModelProto:
    """`compiler.pfvm.optimize` with a log of its passes in CLOG.log."""
    from compiler.pfvm import optimize

    lines = [f"pfvm: {len(model.graph.node)} nodes, {len(model.graph.initializer)} initializers"]

    def note(number: int, step: Pass, changes: int, now: onnx.ModelProto) -> None:
        lines.append(f"pass {number:3} {step.name}: {changes} changes, {len(now.graph.node)} nodes")

    optimised = optimize(
        model,
        share_equal_constants=not options["PFVM_DISABLE_CONSTANT_REUSE"],
        fuse_updates=not options["CODEGEN_SKIP_OPTIMIZER_FUSION"],
        on_pass=note,
    )
    lines.append(f"pfvm: {len(optimised.graph.node)} nodes, {len(optimised.graph.initializer)} initializers")
    write_text(folder / CLOG, "".join(line + "\n" for line in lines))
    return optimised


def write_artifacts(compiled: Compiled, options: Options, codegen_dir: Path) -> list[Path]:
    """Write everything but the ONNX files and model.app; returns the paths."""
    folder = codegen_dir
    uncut = _before_fork(compiled, options)
    texts = {
        "l3ir.txt": to_l3ir(compiled.graph),
        "model.vsm": compiled.program.source,
        "layout.html": layout_page(compiled.graph),
        "time_slice.txt": to_l3ir(uncut),
        "time_slice.html": layout_page(uncut),
        "layout_plan_history.html": history_page(compiled.history),
        "out.txt": output_text(compiled, options),
        f"glog/codegen.{platform.node() or 'host'}.{os.getpid()}.log": _log(compiled, options),
    }
    data = {
        "report.json": compiled.report,
        "option.json": options.to_option_json(),
        "time_slice.json": slices_document(*compiled.sliced),
        "simulation_result.json": compiled.search.simulation,
        "out.json": output_data(compiled, options),
    }
    for name, text in texts.items():
        write_text(folder / name, text)
    for name, content in data.items():
        write_json(folder / name, content)
    write_bytes(folder / "l3ir_stripped.onnx.zst", stripped_onnx(compiled.graph))
    return [folder / name for name in (*texts, *data, "l3ir_stripped.onnx.zst", *_write_timelines(compiled, folder))]


def _before_fork(compiled: Compiled, options: Options) -> MNGraph:
    """The scheduled graph as it was before slices forked: the graph itself when nothing is cut."""
    template, planned = compiled.sliced
    if template is None:
        return compiled.graph
    schedule = SCHEDULERS.get(options["scheduler"], spill_opt)(planned, options["sram_budget"])
    return before_fork(template, schedule.graph)


def _write_timelines(compiled: Compiled, folder: Path) -> list[str]:
    """trace.json: all units; profile.json: layers alone."""
    from hw.events import EventLogBuilder
    from hw.trace import write_chrome

    timing = compiled.timing
    counters = occupancy_counters(compiled.graph, timing.regions)
    write_chrome(timing.events, folder / "trace.json", regions=timing.regions, counters=counters)
    layers = EventLogBuilder(timing.clock_mhz).freeze()
    write_chrome(layers, folder / "profile.json", regions=timing.regions)
    return ["trace.json", "profile.json"]


def _log(compiled: Compiled, options: Options) -> str:
    """The log of code generation, one event a line as glog writes it."""
    head = f"{_LEVEL}{time.strftime('%m%d %H:%M:%S')} {os.getpid()} codegen] "
    lines = [f"options: {' '.join(options.to_option_json()['args'])}"]
    lines += [f"notice: {notice}" for notice in options.notices()]
    lines += [f"phase {p['name']}: {p['status']} in {p['seconds']} s" for p in compiled.phases]
    for candidate in compiled.search.candidates:
        result = f"{candidate['cycles']} cycles" if "cycles" in candidate else f"refused: {candidate['error']}"
        lines.append(f"candidate {candidate['layout']}, {candidate['scheduler']}: {result}")
    chosen = compiled.report["chosen"]
    lines.append(f"chosen: {chosen['layout']}, {chosen['scheduler']}: {compiled.timing.cycles} cycles")
    return "".join(f"{head}{line}\n" for line in lines)
