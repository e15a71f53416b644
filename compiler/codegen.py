"""The compiler's driver: compiled ONNX -> MNGraph -> planned and scheduled graph -> VSM -> program and report."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from compiler.compiled import Compiled
from compiler.graph.value import LM_WORDS
from compiler.iospec import IOSpec
from compiler.nodesim import ResultStore
from compiler.phases import Phases, Watcher, unwatched
from compiler.plan.dtypes import plan_dtypes
from compiler.plan.ends import Ends, Form
from compiler.plan.genes import label_genes
from compiler.plan.implementations import choose_implementations
from compiler.plan.importer import import_model
from compiler.plan.layout_spec import LayoutSpecs
from compiler.plan.truth_casts import fold_truth_casts
from compiler.plan.unfusing import unfuse
from compiler.report.report import build_report
from compiler.search import Search

if TYPE_CHECKING:
    import onnx

    from compiler.options import Options


def compile_model(
    model: onnx.ModelProto,
    options: Options,
    *,
    updates: Mapping[str, str] | None = None,
    forms: Mapping[str, Form] | None = None,
    cache_dir: Path | None = None,
    watcher: Watcher = unwatched,
) -> Compiled:
    """Compile a model whose value_info is complete.  Raises CompilerError and its subclasses.

    updates: parameter -> output that holds its new contents after a call.  forms: inputs and outputs that must lie in
    DRAM as they say.  cache_dir: where results of node simulation
    are kept; nothing else is written.  watcher: told the progress.
    """
    from compiler.pfvm import flops

    phases = Phases(watcher)
    with phases("import"):
        graph = import_model(model, updates or {})
        if options["float_dtype"] == "half":
            unfuse(graph)
        graph.lm_lws = int(LM_WORDS * options["sram_budget"]) // 4 * 2
        label_genes(graph)
    with phases("dtype planner"):
        unheeded = choose_implementations(graph, options["CODEGEN_OP_DEF"] or {})
        plan_dtypes(graph, options["float_dtype"])
        fold_truth_casts(graph)
        ends = Ends(forms or {}, updates or {})
        ends.fix(graph)
    specs = LayoutSpecs.load(options["layout_spec"], options["gemm_layout_spec"])
    store = None if cache_dir is None else ResultStore(cache_dir / "node_simulation")
    search = Search(options, phases, specs, store, ends)
    best = search.run(graph)
    if not options["CODEGEN_ALLOW_UNUSED_LAYOUT_SPEC"]:
        specs.check_used()
    scheduled = best.schedule
    values = scheduled.graph.values
    compiled = Compiled(
        program=best.program,
        inputs={name: IOSpec.of(name, values[name]) for name in scheduled.graph.inputs},
        outputs={name: IOSpec.of(name, values[stored]) for name, stored in scheduled.outputs.items()},
        stored=dict(scheduled.outputs),
        params={name: IOSpec.of(name, values[name]) for name in scheduled.graph.params},
        images=dict(scheduled.graph.images),
        values={name: np.asarray(values[name].constant) for name in scheduled.graph.params},
        report={},
        graph=scheduled.graph,
        timing=best.timing,
        search=search,
        history=best.history,
        sliced=best.sliced,
        phases=phases.records,
    )
    compiled.report = build_report(compiled, options, best.addresses, flops(model))
    compiled.report["options_without_effect"] = [*options.without_effect(), *unheeded]
    compiled.report["updated_in_place"] = best.in_place
    compiled.report["candidates"] = search.candidates
    compiled.report["chosen"] = {"layout": best.layout, "scheduler": best.scheduler}
    return compiled
