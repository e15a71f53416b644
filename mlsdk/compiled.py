"""`CompiledFunction`: a function on a device, called like the original (mlsdk.md 4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from compiler.report.notebook import Report
from hw.html import table
from mlsdk.errors import ContextClosedError, MissingInputError, UnknownInputError
from mlsdk.iospec import IOSpec
from mlsdk.proxy import TensorLike, TensorProxy, check_tensor
from mlsdk.tracing import trace_event
from runtime.app import App
from runtime.backend import DeviceFunction
from runtime.errors import did_you_mean


class CompiledFunction:
    """Made by `Context.compile` and `Context.load_codegen_dir`."""

    def __init__(self, name: str, app: App, function: DeviceFunction, check_open: Callable[[], None]) -> None:
        self._name = name
        self._app = app
        self._loaded: DeviceFunction | None = function
        self._check_open = check_open
        hidden = set(app.updates.values())
        self._inputs = {key: IOSpec.of(spec) for key, spec in app.inputs.items()}
        self._outputs = {key: IOSpec.of(spec) for key, spec in app.outputs.items() if key not in hidden}

    @property
    def input_specs(self) -> Mapping[str, IOSpec]:
        """What each input must be."""
        return self._inputs

    @property
    def output_specs(self) -> Mapping[str, IOSpec]:
        """What each result is."""
        return self._outputs

    @property
    def report(self) -> Mapping[str, Any]:
        """The contents of report.json, e.g. `vsm_cycles` and `flops`; empty on pfvm devices."""
        return Report(self._app.report)

    def allocate_input_proxy(self) -> dict[str, TensorProxy]:
        """Allocate device memory for every input and return its proxies, to be filled by `load_from` before a call."""
        function = self._function()
        return {key: TensorProxy(function.allocate_input(key), key) for key in self._inputs}

    def __call__(self, inputs: Mapping[str, TensorLike]) -> dict[str, TensorProxy]:
        """Run the function once on tensors or proxies, in any mixture.

        Shapes and dtypes are those of the sample.  Keys that the sample had but the function does not read are ignored.
        Raises MissingInputError, UnknownInputError, ShapeMismatchError or DTypeMismatchError.
        """
        function = self._function()
        arguments = self._checked(inputs)
        with trace_event(f"call {self._name}", cycles=function.cycles):
            results = function(arguments)
        return {key: TensorProxy(results[key], key) for key in self._outputs}

    def release(self) -> None:
        """Give up the device's resources; the function cannot be called any more."""
        self._loaded = None

    def _function(self) -> DeviceFunction:
        self._check_open()
        if self._loaded is None:
            raise ContextClosedError(f"{self._name}: its device resources were released")
        return self._loaded

    def _checked(self, inputs: Mapping[str, TensorLike]) -> dict[str, Any]:
        if not isinstance(inputs, Mapping):
            raise MissingInputError(
                f"{self._name}: expected a mapping of names to tensors, got {type(inputs).__name__}"
            )
        for key in inputs:
            if key not in self._inputs and key not in self._app.ignored_inputs:
                hint = did_you_mean(str(key), self._inputs)
                raise UnknownInputError(f"{self._name}: unknown input {key!r}{hint} (inputs are {self._names()})")
        arguments: dict[str, Any] = {}
        for key, spec in self._inputs.items():
            if key not in inputs:
                raise MissingInputError(f"{self._name}: input {key!r} is missing (inputs are {self._names()})")
            value = inputs[key]
            check_tensor(value, spec.shape, spec.dtype, f"{self._name}: input {key!r}")
            arguments[key] = value.device_tensor if isinstance(value, TensorProxy) else value
        return arguments

    def _names(self) -> str:
        return ", ".join(map(repr, self._inputs)) or "none"

    def _repr_html_(self) -> str:
        """For notebooks: inputs and outputs, and the report where there is one."""
        specs = [
            (kind, name, tuple(spec.shape), spec.dtype)
            for kind, group in (("input", self._inputs), ("output", self._outputs))
            for name, spec in group.items()
        ]
        report = Report(self._app.report)
        return table(self._name, ("", "name", "shape", "dtype"), specs) + (report._repr_html_() if report else "")

    def __repr__(self) -> str:
        return f"CompiledFunction({self._name!r}, inputs: {self._names()})"
