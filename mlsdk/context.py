"""`Context`: registered tensors and compiled functions of one device (mlsdk.md 3)."""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import torch

from mlsdk.automap import Automap, AutomapFunction
from mlsdk.cache import CacheOptions
from mlsdk.codegen_dir import APP
from mlsdk.compilation import Function, Request, compile_app, compiler_errors
from mlsdk.compiled import CompiledFunction
from mlsdk.device import MNDevice
from mlsdk.errors import AppFileError, CompileError, CompileOptionError, ContextClosedError, RegistrationError
from mlsdk.iospec import IOSpec
from mlsdk.legacy import LegacyStep, check_request
from mlsdk.optimizers import MNCoreOptimizer
from mlsdk.proxy import TensorLike, TensorProxy
from mlsdk.registry import Registry
from runtime.app import App
from runtime.backend import DeviceTensor
from runtime.errors import did_you_mean
from runtime.host import to_tensor
from runtime.specs import torch_dtype

# Weak, so that a forgotten context does not keep its board.
_current: ContextVar[weakref.ref[Context] | None] = ContextVar("mlsdk_current_context", default=None)


class Context:
    """Where functions are compiled for a device and tensors are registered with it.

    Several contexts may share a device.  The first context of a program becomes the current one by itself.
    """

    def __init__(self, device: MNDevice) -> None:
        self._device = device
        self._registry = Registry(device.backend)
        self._functions: weakref.WeakSet[CompiledFunction] = weakref.WeakSet()
        self._is_open = True
        if Context.current() is None:
            Context.switch_context(self)

    @staticmethod
    def switch_context(ctx: Context) -> None:
        """Make `ctx` the current context."""
        _current.set(weakref.ref(ctx))

    @staticmethod
    def current() -> Context | None:
        """The current context, if there is any."""
        reference = _current.get()
        return None if reference is None else reference()

    @property
    def registry(self) -> Registry:
        """The registered tensors; `registry.register(prefix, module)` registers a whole module."""
        return self._registry

    def register_param(self, p: torch.Tensor) -> TensorProxy:
        """Make a named parameter live on the device (set_tensor_name first) and return its proxy.

        Programs then use and update the device's copy; `synchronize` brings it back.  An unregistered parameter
        becomes a constant of the compiled program.  Registering twice is harmless.  Raises RegistrationError.
        """
        self._check_open()
        entry = self._registry.add(p)
        return TensorProxy(entry.value, entry.name)

    def register_buffer(self, b: torch.Tensor) -> TensorProxy:
        """As `register_param`, for a buffer."""
        return self.register_param(b)

    def register_optimizer_buffers(self, opt: MNCoreOptimizer) -> None:
        """Register all state tensors of a device optimizer (name them by set_buffer_name_in_optimizer first).

        The learning rate is one of them, so that MNCoreLRScheduler can change it.  Raises RegistrationError.
        """
        self._check_open()
        if not isinstance(opt, MNCoreOptimizer):
            raise RegistrationError(f"expected a device optimizer such as MNCoreSGD, got {type(opt).__name__}")
        self._registry.add_states(opt)

    def get_registered_value_proxy(self, t: torch.Tensor) -> TensorProxy:
        """The proxy of a registered tensor.  Raises RegistrationError."""
        self._check_open()
        entry = self._registry.find(t)
        return TensorProxy(entry.value, entry.name)

    def compile(
        self,
        function: Function,
        inputs: Mapping[str, TensorLike],
        codegen_dir: str | os.PathLike[str],
        *,
        options: Mapping[str, Any] | None = None,
        cache_options: CacheOptions | None = None,
        num_compiler_threads: int | None = None,
        quiet: bool = False,
        training: bool = True,
        export_kwargs: Mapping[str, Any] | None = None,
        optimizers: Sequence[type] | None = None,
        io_spec_constraints: Mapping[str, IOSpec] | None = None,
    ) -> CompiledFunction:
        """Compile `function(mapping) -> mapping` for the device.

        inputs: a sample; only names, shapes and dtypes matter, nothing is computed.  codegen_dir: folder of all
        artifacts; it changes only when the compilation has succeeded.  options: see compiler.md 9.  cache_options:
        reuse of finished programs. num_compiler_threads: None or -1 lets the compiler choose.  quiet: no notices.
        training: whether gradients are recorded while the function is traced.  export_kwargs: {"use_fx2onnx": True}
        is the only exporter.  optimizers: classes of torch optimizers, for the older training route that
        options={"backprop": True} asks for (mlsdk.legacy).  io_spec_constraints: inputs and outputs that must lie on
        the device as specs of another compiled function say.  Raises CompileError or CompileOptionError.
        """
        self._check_open()
        if not isinstance(inputs, Mapping):
            raise CompileError(f'inputs: expected a mapping such as {{"x": x}}, got {type(inputs).__name__}')
        _check_exporter(export_kwargs)
        if optimizers is not None or (options or {}).get("backprop"):
            check_request(optimizers, self._registry.legacy_optimizers)
            function = LegacyStep(function, inputs, self._registry.legacy_optimizers)
            inputs = function.sample
        target = Path(codegen_dir)
        constraints = dict(io_spec_constraints or {})
        request = Request(
            function,
            inputs,
            target,
            dict(options or {}),
            cache_options,
            num_compiler_threads,
            quiet,
            training,
            constraints,
        )
        app = compile_app(self._device.backend, self._registry, request)
        with compiler_errors():
            compiled = self._load(target.name, app)
        _check_constraints(compiled, constraints)
        return compiled

    def compile_automap(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        codegen_dir: str | os.PathLike[str],
        **keywords: Any,
    ) -> AutomapFunction:
        """Compile a function of any signature.

        args, kwargs: sample arguments, containers of tensors (register own classes, see mlsdk.pytrees); leaves that are
        no tensors become part of the program.  keywords: as for `compile`.  The result is called like the original and
        gives its structure with proxies in place of tensors.  Raises as `compile`, and PytreeError.
        """
        mapped = Automap(function, args, kwargs)
        return mapped.bind(self.compile(mapped, mapped.sample, codegen_dir, **keywords))

    def load_codegen_dir(self, codegen_dir: str | os.PathLike[str]) -> CompiledFunction:
        """Load a finished compilation without tracing anything (seed 4.3).

        Parameters may be registered before or after.  Raises AppFileError if the folder holds no complete, unaltered
        program, or one for another kind of device.
        """
        self._check_open()
        target = Path(codegen_dir)
        return self._load(target.name, App.load(target / APP))

    def synchronize(self) -> None:
        """Wait for the device and bring every registered value that changed there back into its host tensor."""
        self._check_open()
        self._device.backend.wait()
        for entry in self._registry:
            if entry.host is not None and entry.value.changed:
                with torch.no_grad():
                    entry.host.copy_(entry.value.fetch())
                entry.value.changed = False

    def invalidate(self) -> None:
        """Give up everything this context holds on the device and refuse further work.  The device stays open."""
        self._is_open = False
        self._registry.clear()
        for function in list(self._functions):
            function.release()
        if Context.current() is self:
            _current.set(None)

    def _load(self, name: str, app: App) -> CompiledFunction:
        own = {key: self._parameter(key, app) for key in app.params if key not in app.images}
        params = {key: own[app.images.get(key, key)] for key in app.params}
        params |= {key: self._written(key, app) for key in app.updates if key not in app.params}
        function = self._device.backend.load_function(app, params)
        compiled = CompiledFunction(name, app, function, self._check_open)
        self._functions.add(compiled)
        return compiled

    def _parameter(self, key: str, app: App) -> DeviceTensor:
        """The device's tensor of a parameter: the registered one, or a constant that belongs to the program alone."""
        if key not in app.values:
            raise AppFileError(f"the program file has no contents for its parameter {key!r}; compile again")
        contents = to_tensor(app.values[key], torch_dtype(app.params[key].onnx_dtype))
        if key in app.registered:
            return self._registry.named(key, contents).value
        return self._device.backend.tensor(contents)

    def _written(self, key: str, app: App) -> DeviceTensor:
        """The device's tensor of a parameter that the program writes without ever reading it."""
        spec = app.outputs[app.updates[key]]
        contents = torch.zeros(spec.shape, dtype=torch_dtype(spec.onnx_dtype))
        if key in app.registered:
            return self._registry.named(key, contents).value
        return self._device.backend.tensor(contents)

    def _check_open(self) -> None:
        if not self._is_open:
            raise ContextClosedError("the context was invalidated; make a new Context on the device")


def _check_exporter(export_kwargs: Mapping[str, Any] | None) -> None:
    for key, value in (export_kwargs or {}).items():
        if key != "use_fx2onnx":
            raise CompileOptionError(f"export_kwargs: unknown key {key!r}{did_you_mean(key, ['use_fx2onnx'])}")
        if not value:
            raise CompileOptionError(
                "export_kwargs: use_fx2onnx=False asks for the legacy exporter, which does not exist here"
            )


def _check_constraints(compiled: CompiledFunction, constraints: Mapping[str, IOSpec]) -> None:
    """The compiler brings inputs and outputs into their forms; what is left are shapes and dtypes."""
    specs = {**compiled.output_specs, **compiled.input_specs}
    for key, wanted in constraints.items():
        if key not in specs:
            raise CompileError(f"io_spec_constraints: {key!r} is no input or output{did_you_mean(key, specs)}")
        given, taken = specs[key], wanted
        if key in compiled.input_specs:
            given, taken = wanted, specs[key]
        if not given.is_memcopyable_to(taken):
            raise CompileError(f"io_spec_constraints: {key!r} became {specs[key]}, which does not agree with {wanted}")
