"""Random graphs through the whole compiler, under every scheduler, planner and preset.

Three opinions must agree: the simulated chip gives the bits of the layers' references; these lie close to what ONNX
says, computed on torch; and the run-time sanitizers find no uninitialised read, race or stray address.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, assume, given, settings
from numpy.typing import NDArray

from compiler.codegen import compile_model
from compiler.compiled import Compiled
from compiler.errors import DoesNotFit
from compiler.graph import MNType
from compiler.layers.base import raw_float
from compiler.layers.reference import run_reference
from compiler.options import Options
from compiler.pfvm import optimize, run
from hw.lockstep.stores import Store
from hw.sanitizer.runtime import Area
from hw.state import Board
from isa.debugger import sanitize
from tests.compiler import machine
from tests.compiler.random_graphs import OPERATORS, Drawn, graphs

#: Outputs that a small error changes as a whole.
STEPS = {
    *("Floor", "Ceil", "Round", "Sign", "ArgMax", "ArgMin"),
    *("Equal", "Less", "Greater", "LessOrEqual", "GreaterOrEqual"),
}
#: Largest error of single precision, relative to the largest element of an output.
CLOSE = 2e-3
#: Values of these need time slices where a tenth of local memory may be used.
LARGE = ("unary", "binary", "reduce", "transpose", "concat", "slice", "product", "softmax")
LARGE_EXTENTS = (3, 64, 125, 1000, 3001, 8192)
SHORT: dict[str, Any] = {"CODEGEN_SA_STEPS": 1000}
OPTIONS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "always_from_dram": {"scheduler": "always_from_dram", "layout_planner": "bidi"},
    "reuse_consecutive": {"scheduler": "reuse_consecutive", "layout_planner": "legacy", "float_dtype": "half"},
    "spill_opt": {"scheduler": "spill_opt", "layout_planner": "bidi", "sram_budget": 0.2},
    "auto_recompute_sa": {"scheduler": "auto_recompute_sa", "layout_planner": "legacy", "envs": SHORT},
    "float": {"float_dtype": "float", "layout_planner": "legacy"},
    "single products": {"float_dtype": "float", "envs": {"CODEGEN_OP_DEF": "Gemm=Single,MatMul=Single"}},
    "double": {"float_dtype": "double"},
    **{preset: {"option_json": preset, "envs": SHORT} for preset in ("O0", "O1", "O2", "O3", "O4")},
    "debug": {"option_json": "debug"},
}


@cache
def used_board() -> Board:
    """A board full of junk, first random, later what other programs left: nothing may depend on it."""
    board = Board()
    board.dirty()
    return board


def few(examples: int) -> settings:
    """The same examples at every run, so that a failure stays one."""
    return settings(
        max_examples=examples, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
    )


def compiled_of(drawn: Drawn, options: dict[str, Any]) -> Compiled:
    return compile_model(optimize(drawn.model), Options.resolve(options, {}))


#: Operators that are refused by name in double precision.
SINGLE_ONLY = {"Erf", "Gelu", "ReduceProd"}


def check(drawn: Drawn, options: dict[str, Any]) -> Compiled:
    """Compile and compare all outputs bit by bit, and with torch where single precision was asked for."""
    if options.get("float_dtype") == "double":
        assume(not SINGLE_ONLY & {node.op_type for node in drawn.model.graph.node})
    compiled = compiled_of(drawn, options)
    feeds = {name: drawn.feeds[name] for name in compiled.inputs}
    got = machine.run(compiled, feeds, used_board())
    raw = run_reference(compiled.graph, feeds)
    for name, stored in compiled.stored.items():
        np.testing.assert_array_equal(got[name], raw[stored], err_msg=f"{name} of {drawn}")
    if options.get("float_dtype") == "float":
        check_meaning(drawn, compiled, got)
    return compiled


def check_meaning(drawn: Drawn, compiled: Compiled, got: dict[str, NDArray[Any]]) -> None:
    """The results are those of the model as it was before any pass, in torch's single precision."""
    if STEPS & {node.op_type for node in drawn.model.graph.node}:
        return
    inputs = {value.name for value in drawn.model.graph.input}
    want = run(drawn.model, {name: torch.from_numpy(data) for name, data in drawn.feeds.items() if name in inputs})
    for name, tensor in want.items():
        value, expected = compiled.graph.values[compiled.stored[name]], tensor.numpy()
        if value.dtype is MNType.FLOAT:
            scale = max(1.0, float(np.abs(expected).max()))
            result = raw_float(value, got[name])
            np.testing.assert_allclose(result, expected, CLOSE, CLOSE * scale, err_msg=f"{name} of {drawn}")
        else:
            np.testing.assert_array_equal(got[name].astype(np.int32), expected.astype(np.int32), err_msg=name)


def check_hazards(drawn: Drawn, options: dict[str, Any]) -> None:
    """No sanitizer speaks.  That padding is read before it was written is left out: `check` runs on a board of junk."""
    compiled = compiled_of(drawn, options)
    board, loaded = Board(), []
    for specs, data in ((compiled.params, compiled.values), (compiled.inputs, drawn.feeds)):
        for name, spec in specs.items():
            machine.store(board, spec, data[name])
            loaded.append(Area(Store.DRAM, spec.addr, machine.image_of(spec).lws_per_group))
    found = sanitize(compiled.program, board, mode="warn", loaded=loaded)
    findings = [finding for finding in found if finding.family != "uninitialised"]
    assert not findings, f"{findings[0]}\nof {drawn}"


@pytest.mark.parametrize("kind", OPERATORS)
def test_graphs_of_one_kind_of_operator(kind: str) -> None:
    @few(2)
    @given(graphs(limit=2048, kinds=(kind, "unary")))
    def run(drawn: Drawn) -> None:
        check(drawn, {})

    run()


@pytest.mark.parametrize("name", OPTIONS)
def test_schedulers_planners_and_presets(name: str) -> None:
    @few(2)
    @given(graphs(limit=1024))
    def run(drawn: Drawn) -> None:
        check(drawn, OPTIONS[name])

    run()


def test_no_hazard_in_random_graphs() -> None:
    @few(2)
    @given(graphs(limit=512))
    def run(drawn: Drawn) -> None:
        check_hazards(drawn, OPTIONS["float"])

    run()


@pytest.mark.slow
@pytest.mark.parametrize("kind", OPERATORS)
@pytest.mark.parametrize("name", ["defaults", "float", "spill_opt"])
def test_many_graphs_of_one_kind_of_operator(kind: str, name: str) -> None:
    @few(10)
    @given(graphs(limit=8192, kinds=(kind, "unary", "binary")))
    def run(drawn: Drawn) -> None:
        check(drawn, OPTIONS[name])

    run()


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS)
def test_many_graphs(name: str) -> None:
    @few(8 if name in ("O3", "O4") else 40)
    @given(graphs(limit=4096))
    def run(drawn: Drawn) -> None:
        check(drawn, OPTIONS[name])

    run()


@pytest.mark.slow
def test_graphs_in_time_slices() -> None:
    """Values beyond local memory; what cannot be cut is refused with the value and its size."""

    @few(12)
    @given(graphs(limit=2_000_000, kinds=LARGE, extents=LARGE_EXTENTS, most=5))
    def run(drawn: Drawn) -> None:
        try:
            check(drawn, {"layout_planner": "legacy", "sram_budget": 0.1})
        except DoesNotFit as refusal:
            assert "long words of" in str(refusal)

    run()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["defaults", "float", "always_from_dram", "spill_opt"])
def test_no_hazard_in_many_random_graphs(name: str) -> None:
    @few(15)
    @given(graphs(limit=2048))
    def run(drawn: Drawn) -> None:
        check_hazards(drawn, OPTIONS[name])

    run()
