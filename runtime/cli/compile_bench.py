"""`mncore2 compile-bench`: what each scheduler and preset makes of a model, and how long compiling takes."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runtime.cli.arguments import Json
from runtime.cli.errors import UsageError
from runtime.cli.output import print_json, print_table, progress
from runtime.compiling import compile_folder

if TYPE_CHECKING:
    import onnx

EVAL_STEP = "eval_step"


def add_to(app: typer.Typer) -> None:
    """Register the verb."""
    app.command("compile-bench")(compile_bench)


def compile_bench(
    model: Annotated[
        str, typer.Argument(metavar="eval_step|MODEL.onnx", help="The built-in evaluation step, or a model.")
    ] = EVAL_STEP,
    only: Annotated[
        list[str] | None, typer.Option("--only", metavar="NAME", help="Only these schedulers and presets.")
    ] = None,
    json: Json = False,
) -> None:
    """Compile a model with every scheduler and preset: cycles beside the lower bound, and seconds.

    cold: nothing is cached; beside it the processor time of this process, which other work on the machine does not
    change.  nodes: node simulations are cached, the rest is done anew.  warm: the finished program
    comes from the cache.
    """
    source = _model(model)
    settings = _settings(only)
    rows: list[dict[str, Any]] = []
    _warm_up(source)
    with progress() as bar:
        for name, options in bar.track(settings.items(), description="compile-bench"):
            with tempfile.TemporaryDirectory(prefix="mncore2-compile-bench-") as folder:
                rows.append({"name": name, **_measure(source, options, Path(folder))})
    if json:
        print_json({"model": model, "results": rows})
        return
    head = ("setting", "cycles", "lower bound", "cold s", "of CPU", "nodes cached s", "warm s", "layouts", "scheduler")
    seconds = ("cold_seconds", "cold_cpu_seconds", "nodes_cached_seconds", "warm_seconds")
    keys = ("name", "vsm_cycles", "lower_bound", *seconds)
    table = [(*(row[key] for key in keys), row["chosen"]["layout"], row["chosen"]["scheduler"]) for row in rows]
    print_table(f"{model}: schedulers and presets", head, table)


def _model(name: str) -> onnx.ModelProto:
    if name == EVAL_STEP:
        from runtime.studies.eval_step import eval_step_model

        return eval_step_model()
    from runtime.cli.compile_onnx import read_model
    from runtime.cli.errors import existing

    return read_model(existing(Path(name), "model"))


def _settings(only: list[str] | None) -> dict[str, dict[str, Any]]:
    """Options by the name of the scheduler or preset.  The annealing scheduler alone has steps enough for a bench."""
    from compiler.options import PRESETS
    from compiler.options.spelling import nearest
    from compiler.schedulers.schedule import SCHEDULERS

    every: dict[str, dict[str, Any]] = {name: {"scheduler": name} for name in SCHEDULERS}
    annealed = {"scheduler": "auto_recompute_sa", "sa_expected_run_iters": 4, "envs": {"CODEGEN_SA_STEPS": 100_000}}
    every["auto_recompute_sa"] = annealed
    every |= {name: {"option_json": name} for name in PRESETS}
    for name in only or ():
        if name not in every:
            raise UsageError(f"--only {name}: no such scheduler or preset{nearest(name, every)}; {', '.join(every)}")
    return {name: options for name, options in every.items() if not only or name in only}


def _warm_up(source: onnx.ModelProto) -> None:
    """Imports and the machine code of the annealing loop belong to the installation, not to a compilation."""
    small = {"CODEGEN_SA_STEPS": 1}
    with tempfile.TemporaryDirectory(prefix="mncore2-compile-bench-") as folder:
        _seconds(source, {"option_json": "O1", "envs": small}, Path(folder), None)


def _measure(source: onnx.ModelProto, options: dict[str, Any], folder: Path) -> dict[str, Any]:
    cache = folder / "cache"
    cpu = time.process_time()
    cold, report = _seconds(source, options, folder / "cold", cache)
    cpu = round(time.process_time() - cpu, 3)
    warm, _ = _seconds(source, options, folder / "warm", cache)
    (cache / "app").rename(folder / "unused")
    nodes, _ = _seconds(source, options, folder / "nodes", cache)
    return {
        "vsm_cycles": report["vsm_cycles"],
        "lower_bound": max(report["lower_bound_cycles"].values()),
        "cold_seconds": cold,
        "cold_cpu_seconds": cpu,
        "nodes_cached_seconds": nodes,
        "warm_seconds": warm,
        "chosen": report["chosen"],
        "candidates": len(report["candidates"]),
        "phases": {phase["name"]: phase["seconds"] for phase in report["phases"]},
    }


def _seconds(
    source: onnx.ModelProto, options: dict[str, Any], folder: Path, cache: Path | None
) -> tuple[float, dict[str, Any]]:
    from compiler.options import Options
    from compiler.phases import unwatched

    folder.mkdir(exist_ok=True)
    resolved = Options.resolve(options, os.environ)
    begin = time.perf_counter()
    outcome = compile_folder(source, resolved, folder, cache=cache, watcher=unwatched)
    return round(time.perf_counter() - begin, 3), outcome.report
