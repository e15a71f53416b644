"""From an ONNX model to a folder with its program and all artifacts, for the chip; what verbs of the command share."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runtime.app import App
from runtime.app_cache import CODEGEN, AppCache, app_key

if TYPE_CHECKING:
    import onnx

    from compiler.options import Options
    from compiler.phases import Watcher

APP, EXPORTED, OPTIMISED = "model.app", "model.onnx", "pfvm.onnx"


@dataclass(frozen=True)
class Outcome:
    """report: contents of report.json.  from_cache: whether a finished compilation was found."""

    report: dict[str, Any]
    from_cache: bool


def compile_folder(
    source: onnx.ModelProto, options: Options, folder: Path, *, cache: Path | None = None, watcher: Watcher
) -> Outcome:
    """Optimise and generate code into an empty folder, or copy an equal compilation from `cache`.

    Raises CompilerError and what else the rooms below refuse.
    """
    key = app_key(source, options, [b"onnx"])
    store = None if cache is None else AppCache(cache)
    if store is not None and store.restore(key, folder):
        return Outcome(dict(App.load(folder / APP).report), True)
    report = _compile(source, options, folder, None if cache is None else cache / CODEGEN, watcher)
    if store is not None:
        store.store(key, folder)
    return Outcome(report, False)


def _compile(
    source: onnx.ModelProto, options: Options, folder: Path, codegen_cache: Path | None, watcher: Watcher
) -> dict[str, Any]:
    import onnx

    from compiler.artifacts import optimize_logged, write_artifacts
    from compiler.codegen import compile_model

    onnx.save(source, folder / EXPORTED)
    optimised = optimize_logged(source, options, folder)
    onnx.save(optimised, folder / OPTIMISED)
    compiled = compile_model(optimised, options, cache_dir=codegen_cache, watcher=watcher)
    write_artifacts(compiled, options, folder)
    inputs = compiled.inputs
    App(
        kind="vsm",
        code=compiled.program.source.encode(),
        inputs=inputs,
        outputs=compiled.outputs,
        params=compiled.params,
        values=compiled.values,
        ignored_inputs=frozenset(value.name for value in source.graph.input) - set(inputs) - set(compiled.params),
        report=compiled.report,
        decoded=compiled.program,
    ).save(folder / APP)
    return compiled.report
