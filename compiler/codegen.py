"""The compiler's driver: compiled ONNX -> MNGraph -> planned and scheduled graph -> VSM -> program, report and
artifacts.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from compiler.emit.link import emit_program
from compiler.errors import CompilerError, UnsupportedOperator
from compiler.graph import MNGraph, to_l3ir
from compiler.iospec import IOSpec
from compiler.plan.addresses import Addresses, plan_addresses
from compiler.plan.dtypes import plan_dtypes
from compiler.plan.genes import label_genes
from compiler.plan.importer import import_model
from compiler.plan.layouts import plan_layouts
from compiler.plan.strategy import variants
from compiler.report.occupancy import occupancy_counters
from compiler.report.report import build_report
from compiler.report.write import write_json, write_text
from compiler.schedulers.placement import Schedule
from compiler.schedulers.schedule import SCHEDULERS

if TYPE_CHECKING:
    import onnx

    from compiler.options import Options
    from hw.model import Timing
    from hw.program import Program


@dataclass
class Compiled:
    """A finished compilation.

    program: decoded VSM, its text in `program.source`.  inputs, outputs, params: specs by ONNX name.  values: data
    of the params in the framework's dtype.  report: content of report.json.
    """

    program: Program
    inputs: dict[str, IOSpec]
    outputs: dict[str, IOSpec]
    params: dict[str, IOSpec]
    values: dict[str, NDArray[Any]]
    report: dict[str, Any]
    graph: MNGraph
    timing: Timing
    phases: list[dict[str, Any]] = field(default_factory=list)


class Phases:
    """Names, times and outcome of the phases of one compilation; a phase that runs for several variants adds up."""

    def __init__(self) -> None:
        self.records: list[dict[str, Any]] = []

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Time a phase."""
        start = time.perf_counter()
        yield
        seconds = round(time.perf_counter() - start, 4)
        for record in self.records:
            if record["name"] == name:
                record["seconds"] = round(record["seconds"] + seconds, 4)
                return
        self.records.append({"name": name, "status": "success", "seconds": seconds})


Built = tuple[Schedule, Addresses, "Program", "Timing"]


def _build(graph: MNGraph, options: Options, phases: Phases) -> Built:
    """Plan, emit and time one variant of the graph."""
    from hw.model import simulate
    from hw.spec import default_spec
    from isa.assemble import assemble

    with phases("layout planner"):
        planned = plan_layouts(graph)
    with phases("scheduler"):
        scheduled = SCHEDULERS[options["scheduler"]](planned, options["sram_budget"])
    with phases("address planner"):
        addresses = plan_addresses(scheduled.graph, options["sram_budget"])
        scheduled.graph.verify()
    with phases("emission"):
        text = emit_program(scheduled.graph, addresses.scratch)
    with phases("assembly"):
        program = assemble(text, name="model.vsm")
    with phases("time model"):
        timing = simulate(program, default_spec())
    return scheduled, addresses, program, timing


def _built(graph: MNGraph, options: Options, phases: Phases) -> Iterator[Built]:
    """The variants that can be built: all with planner lpz, else the first; raises what the first one raised if none
    can.
    """
    refused: CompilerError | None = None
    found = False
    for variant in variants(graph):
        try:
            yield _build(variant, options, phases)
        except CompilerError as error:
            refused = refused or error
        else:
            if options["layout_planner"] != "lpz":
                return
            found = True
    if refused is not None and not found:
        raise refused


def _best(built: list[Built]) -> Built:
    return min(built, key=lambda candidate: candidate[3].cycles)


def compile_model(model: onnx.ModelProto, options: Options) -> Compiled:
    """Compile a model whose value_info is complete.  Raises CompilerError and its subclasses; writes nothing."""
    from compiler.pfvm import flops

    phases = Phases()
    if options["scheduler"] not in SCHEDULERS:
        raise UnsupportedOperator(
            f"scheduler={options['scheduler']!r} (from {options.origin('scheduler')}) is not available in this "
            f"version; choose one of {', '.join(SCHEDULERS)}"
        )
    with phases("import"):
        graph = import_model(model)
        label_genes(graph)
    with phases("dtype planner"):
        plan_dtypes(graph, options["float_dtype"])
    scheduled, addresses, program, timing = _best(list(_built(graph, options, phases)))
    values = scheduled.graph.values
    compiled = Compiled(
        program=program,
        inputs={name: IOSpec.of(name, values[name]) for name in scheduled.graph.inputs},
        outputs={name: IOSpec.of(name, values[stored]) for name, stored in scheduled.outputs.items()},
        params={name: IOSpec.of(name, values[name]) for name in scheduled.graph.params},
        values={name: np.asarray(values[name].constant) for name in scheduled.graph.params},
        report={},
        graph=scheduled.graph,
        timing=timing,
        phases=phases.records,
    )
    compiled.report = build_report(compiled, options, addresses, flops(model))
    return compiled


def write_artifacts(compiled: Compiled, options: Options, codegen_dir: Path) -> list[Path]:
    """Write l3ir.txt, model.vsm, report.json, option.json and trace.json; returns their paths."""
    from hw.trace import write_chrome

    paths = {name: codegen_dir / name for name in ("l3ir.txt", "model.vsm", "report.json", "option.json", "trace.json")}
    write_text(paths["l3ir.txt"], to_l3ir(compiled.graph))
    write_text(paths["model.vsm"], compiled.program.source)
    write_json(paths["report.json"], compiled.report)
    write_json(paths["option.json"], options.to_option_json())
    counters = occupancy_counters(compiled.graph, compiled.timing.regions)
    write_chrome(compiled.timing.events, paths["trace.json"], regions=compiled.timing.regions, counters=counters)
    return list(paths.values())
