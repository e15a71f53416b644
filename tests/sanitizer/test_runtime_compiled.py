"""Programs of the compiler keep all rules of the run-time sanitizers."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.codegen import compile_model
from compiler.compiled import Compiled
from compiler.iospec import IOSpec
from compiler.layout.image import DramImage
from compiler.options import Options
from hw.lockstep import Store
from hw.sanitizer.runtime import Area, sanitize
from hw.state import Board
from tests.compiler import models
from tests.compiler.machine import store

BATCH = 125


def loaded_board(compiled: Compiled, leave_out: str = "") -> tuple[Board, list[Area]]:
    """A board with inputs and parameters in DRAM, and the areas that hold them."""
    rng = np.random.default_rng(0)
    board, areas = Board(), []
    values = dict(compiled.values)
    values["x"] = rng.standard_normal(compiled.inputs["x"].shape).astype(np.float32)
    values["t"] = rng.integers(0, 10, compiled.inputs["t"].shape)
    specs: dict[str, IOSpec] = {**compiled.params, **compiled.inputs}
    for name, spec in specs.items():
        if name != leave_out:
            store(board, spec, values[name])
            areas.append(Area(Store.DRAM, spec.addr, DramImage(spec.layout, spec.dtype).lws_per_group))
    return board, areas


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"scheduler": "always_from_dram"}, {"layout_planner": "legacy"}])
def test_an_evaluation_step_is_clean(options: dict[str, str]) -> None:
    compiled = compile_model(models.mlp(BATCH, [1, 16, 16], 64, 10), Options.resolve(options, {}))
    board, areas = loaded_board(compiled)
    assert [finding.message for finding in sanitize(compiled.program, board, mode="warn", loaded=areas)] == []


@pytest.mark.slow
def test_a_forgotten_parameter_is_found() -> None:
    compiled = compile_model(models.mlp(BATCH, [1, 16, 16], 64, 10), Options.resolve({}, {}))
    board, areas = loaded_board(compiled, leave_out=next(iter(compiled.params)))
    findings = sanitize(compiled.program, board, mode="warn", loaded=areas)
    assert {finding.family for finding in findings} == {"uninitialised"}
