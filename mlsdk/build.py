"""From an exported model to an `App`, with the artifacts of each stage written into a folder (compiler.md 2)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from compiler.graph.mntype import OnnxType
from compiler.phases import Watcher
from mlsdk.iospec import IOSpec, form_of
from runtime.app import ONNX, App
from runtime.host import to_array
from runtime.specs import TensorSpec

if TYPE_CHECKING:
    import onnx

    from compiler.frontend import Exported
    from compiler.options import Options

EXPORTED = "model.onnx"
OPTIONS = "option.json"


@dataclass(frozen=True)
class ChipBuild:
    """How code is generated for the chip: where node simulations are kept (None: nowhere), who watches, and what inputs
    and outputs must be.
    """

    simulations: Path | None
    watcher: Watcher
    constraints: Mapping[str, IOSpec]


def build_app(
    exported: Exported, registered: frozenset[str], options: Options, folder: Path, chip: ChipBuild | None
) -> App:
    """Optimise and, for the chip, generate code.

    Writes model.onnx, pfvm.onnx and option.json into `folder`, for the chip also what code generation has to tell.
    `chip`: None for pfvm devices.  `registered`: the parameters whose contents belong to a context; for pfvm devices
    the others stay inside the model.
    """
    from compiler.artifacts import optimize_logged

    external = bool(options["MNCORE_USE_EXTERNAL_DATA_FORMAT"])
    _save(exported.model, folder / EXPORTED, external)
    optimised = optimize_logged(exported.model, options, folder)
    _save(optimised, folder / ONNX, external)
    if chip is None:
        return _build_for_pfvm(exported, optimised, registered, options, folder)
    return _build_for_chip(exported, optimised, registered, options, folder, chip)


def _save(model: onnx.ModelProto, path: Path, external: bool) -> None:
    """Write a model; with `external` its large tensors go to `<name>.data` beside it (seed 4.2.3.36)."""
    import onnx

    if not external:
        onnx.save(model, path)
        return
    copy = onnx.ModelProto()  # saving moves the tensors out of the model it is given
    copy.CopyFrom(model)
    onnx.save(copy, path, save_as_external_data=True, location=f"{path.name}.data")


def _build_for_pfvm(
    exported: Exported, optimised: onnx.ModelProto, registered: frozenset[str], options: Options, folder: Path
) -> App:
    (folder / OPTIONS).write_text(json.dumps(options.to_option_json(), indent=4))
    state = registered | set(exported.updates)
    graph = optimised.graph
    params = {
        i.name: TensorSpec(i.name, tuple(i.dims), OnnxType.from_code(i.data_type))
        for i in graph.initializer
        if i.name in state
    }
    inputs = _value_specs(value for value in graph.input if value.name not in params)
    return App(
        kind="onnx",
        code=optimised.SerializeToString(deterministic=True),
        inputs=inputs,
        outputs=_value_specs(graph.output),
        params=params,
        values={name: to_array(exported.params[name]) for name in params},
        registered=registered & {*params, *exported.updates},
        updates=exported.updates,
        ignored_inputs=_ignored(exported, inputs),
    )


def _build_for_chip(
    exported: Exported,
    optimised: onnx.ModelProto,
    registered: frozenset[str],
    options: Options,
    folder: Path,
    chip: ChipBuild,
) -> App:
    from compiler.artifacts import write_artifacts
    from compiler.codegen import compile_model

    compiled = compile_model(
        optimised,
        options,
        updates=exported.updates,
        forms={name: form_of(name, spec) for name, spec in chip.constraints.items()},
        cache_dir=chip.simulations,
        watcher=chip.watcher,
    )
    write_artifacts(compiled, options, folder)
    return App(
        kind="vsm",
        code=compiled.program.source.encode(),
        inputs=compiled.inputs,
        outputs=compiled.outputs,
        params=compiled.params,
        images=compiled.images,
        values={name: data for name, data in compiled.values.items() if name not in compiled.images},
        registered=registered & {*compiled.params, *exported.updates},
        updates=exported.updates,
        ignored_inputs=_ignored(exported, compiled.inputs),
        report=compiled.report,
        decoded=compiled.program,
    )


def _ignored(exported: Exported, inputs: Iterable[str]) -> frozenset[str]:
    """Keys of the sample that the program does not read, or no longer reads after optimisation."""
    return frozenset([*exported.inputs, *exported.unused_inputs]) - set(inputs)


def _value_specs(values: Iterable[onnx.ValueInfoProto]) -> dict[str, TensorSpec]:
    return {value.name: _value_spec(value) for value in values}


def _value_spec(value: onnx.ValueInfoProto) -> TensorSpec:
    tensor = value.type.tensor_type
    return TensorSpec(value.name, tuple(d.dim_value for d in tensor.shape.dim), OnnxType.from_code(tensor.elem_type))
