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
from compiler.errors import UnsupportedOperator
from compiler.graph import MNGraph, to_l3ir
from compiler.iospec import IOSpec
from compiler.plan.addresses import plan_addresses
from compiler.plan.dtypes import plan_dtypes
from compiler.plan.genes import label_genes
from compiler.plan.importer import import_model
from compiler.plan.layouts import plan_layouts
from compiler.report.report import build_report
from compiler.report.write import write_json, write_text
from compiler.schedulers.consecutive import schedule

if TYPE_CHECKING:
    import onnx

    from compiler.options import Options
    from hw.model import Timing
    from hw.program import Program

SCHEDULERS = {"always_from_dram": False, "reuse_consecutive": True}


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


def compile_model(model: onnx.ModelProto, options: Options) -> Compiled:
    """Compile a model whose value_info is complete.  Raises CompilerError and its subclasses; writes nothing."""
    from compiler.pfvm import flops
    from hw.model import simulate
    from hw.spec import default_spec
    from isa.assemble import assemble

    phases: list[dict[str, Any]] = []

    @contextmanager
    def phase(name: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        phases.append({"name": name, "status": "success", "seconds": round(time.perf_counter() - start, 4)})

    if options["scheduler"] not in SCHEDULERS:
        raise UnsupportedOperator(
            f"scheduler={options['scheduler']!r} is not available in this version; choose one of "
            f"{', '.join(SCHEDULERS)}"
        )
    with phase("import"):
        graph = import_model(model)
        label_genes(graph)
    with phase("dtype planner"):
        plan_dtypes(graph, options["float_dtype"])
    with phase("layout planner"):
        graph = plan_layouts(graph)
    with phase("scheduler"):
        scheduled = schedule(graph, reuse=SCHEDULERS[options["scheduler"]])
    with phase("address planner"):
        addresses = plan_addresses(scheduled.graph, options["sram_budget"])
        scheduled.graph.verify()
    with phase("emission"):
        text = emit_program(scheduled.graph, addresses.scratch)
    with phase("assembly"):
        program = assemble(text, name="model.vsm")
    with phase("time model"):
        timing = simulate(program, default_spec())
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
        phases=phases,
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
    write_chrome(compiled.timing.events, paths["trace.json"], regions=compiled.timing.regions)
    return list(paths.values())
