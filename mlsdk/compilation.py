"""One compilation: options, export, cache, code, and the folder of artifacts, with all errors of the rooms below."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from compiler.phases import Watcher, unwatched
from mlsdk.blame import HINT, with_line
from mlsdk.build import ChipBuild, build_app
from mlsdk.cache import CacheOptions
from mlsdk.codegen_dir import APP, staged, warn_about_other, write_listing
from mlsdk.errors import CompileError, CompileOptionError
from mlsdk.iospec import IOSpec
from mlsdk.naming import get_tensor_name
from mlsdk.proxy import TensorLike, TensorProxy
from mlsdk.registry import Registry
from runtime.app import ONNX, App
from runtime.app_cache import CODEGEN, AppCache, app_key
from runtime.backend import Device
from runtime.files import write_atomically
from runtime.progress import watching

if TYPE_CHECKING:
    import onnx

    from compiler.frontend import Exported
    from compiler.options import Options

Function = Callable[[Any], Mapping[str, torch.Tensor]]
_log = logging.getLogger("mlsdk")


@dataclass(frozen=True)
class Request:
    """The arguments of `Context.compile` that decide the result."""

    function: Function
    inputs: Mapping[str, TensorLike]
    target: Path
    options: dict[str, Any]
    cache: CacheOptions | None
    threads: int | None
    quiet: bool
    training: bool
    constraints: Mapping[str, IOSpec]


def compile_app(device: Device, registry: Registry, request: Request) -> App:
    """Compile for `device` and publish the artifacts.  Raises CompileError or CompileOptionError."""
    begin = time.perf_counter()
    options = _resolve_options(request)
    exported = _export(request)
    registered = _registered(exported, registry)
    key = _key(device, exported, registered, options, request.constraints)
    caching = request.cache
    cache = AppCache(caching.directory) if caching is not None and caching.enable_app_cache else None
    simulations = Path(caching.directory) / CODEGEN if caching is not None and caching.enable_codegen_cache else None
    if not request.quiet:
        warn_about_other(request.target, key)
        for notice in (*options.notices(), *_forgotten(exported, registered)):
            _log.warning("%s", notice)
    with staged(request.target) as stage:
        if cache is not None and cache.restore(key, stage):
            app = App.load(stage / APP)
        else:
            with compiler_errors(exported.model), _progress(request) as watcher:
                chip = ChipBuild(simulations, watcher, request.constraints) if device.uses_chip else None
                app = build_app(exported, registered, options, stage, chip)
            app.save(stage / APP)
            write_listing(stage, key)
            if cache is not None:
                cache.store(key, stage)
    _copy_optimised_model(options, request.target)
    if not request.quiet:
        _log.info("compiled %s in %.1f s", request.target, time.perf_counter() - begin)
    return app


def _progress(request: Request) -> AbstractContextManager[Watcher]:
    return nullcontext(unwatched) if request.quiet else watching(f"compiling {request.target.name}")


def _resolve_options(request: Request) -> Options:
    from compiler.options import OptionError, Options

    options = dict(request.options)
    if request.threads is not None and request.threads != -1:
        options.setdefault("num_threads", request.threads)
    try:
        return Options.resolve(options, os.environ)
    except OptionError as error:
        raise CompileOptionError(str(error)) from error


def _export(request: Request) -> Exported:
    from compiler.frontend import export

    sample = {key: _sample(value) for key, value in request.inputs.items()}
    with compiler_errors():
        return export(request.function, sample, tensor_names=get_tensor_name, training=request.training)


def _sample(value: TensorLike) -> torch.Tensor:
    """Only shape and dtype of a sample matter, so a proxy's contents stay on the device."""
    return torch.empty(value.shape, dtype=value.dtype) if isinstance(value, TensorProxy) else value


def _registered(exported: Exported, registry: Registry) -> frozenset[str]:
    """Parameters of the program that live in the registry; the others are constants of the program."""
    return frozenset(name for name, tensor in exported.params.items() if registry.contains(tensor))


def _forgotten(exported: Exported, registered: frozenset[str]) -> list[str]:
    """A notice about tensors that the function changes on the device, from where nothing will bring them back."""
    names = [name for name in exported.updates if name not in registered]
    if not names:
        return []
    shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
    return [
        f"the function changes {len(names)} tensor(s) that are not registered ({shown}): `synchronize` will not bring "
        "the new contents back; use register_param, register_buffer or register_optimizer_buffers"
    ]


def _key(
    device: Device,
    exported: Exported,
    registered: frozenset[str],
    options: Options,
    constraints: Mapping[str, IOSpec],
) -> str:
    """What decides the program: graph, constants, options, kind of device, specs of inputs and outputs, the compiler;
    not registered contents.
    """
    import onnx

    model = onnx.ModelProto()
    model.CopyFrom(exported.model)
    for initializer in model.graph.initializer:
        if initializer.name in registered:
            initializer.ClearField("raw_data")
    kind = b"chip" if device.uses_chip else b"pfvm"
    specs = repr(sorted(constraints.items(), key=lambda item: item[0])).encode()
    return app_key(model, options, [kind, "\0".join(sorted(registered)).encode(), specs])


def _copy_optimised_model(options: Options, target: Path) -> None:
    """Honour `out_onnx`: the optimised model also at the path the user asked for."""
    if options["out_onnx"] is None:
        return
    wanted, present = Path(options["out_onnx"]), target / ONNX
    if wanted.resolve() != present.resolve():
        try:
            write_atomically(wanted, present.read_bytes())
        except OSError as error:
            raise CompileOptionError(f"out_onnx: cannot write {wanted}: {error}") from error


@contextmanager
def compiler_errors(*models: onnx.ModelProto) -> Iterator[None]:
    """Turn the errors of the rooms below into CompileError, keeping them as the cause.

    models: where values that a message names are made, for the user's line.
    """
    from compiler.errors import CompilerError, UnsupportedOperator
    from compiler.frontend import FrontendError
    from compiler.graph import GraphError
    from compiler.layout import LayoutError
    from compiler.pfvm import PfvmError
    from hw.model import ModelError
    from isa.errors import AsmError

    try:
        yield
    except (CompilerError, FrontendError, GraphError, LayoutError, PfvmError, AsmError, ModelError) as error:
        hint = f"\n  hint: {HINT}" if isinstance(error, UnsupportedOperator) else ""
        raise CompileError(with_line(str(error), models) + hint) from error
