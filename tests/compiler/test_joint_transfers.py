"""Small parameters travel together: one transfer brings them, one takes their new contents back; no bit changes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, helper

from compiler.codegen import compile_model
from compiler.compiled import Compiled
from compiler.emit.asm import Asm
from compiler.emit.joint import Part, upload_together
from compiler.emit.transfer import Route
from compiler.options import Options
from hw.engine import execute
from hw.program import Mv
from hw.state import Board
from isa.assemble import assemble
from isa.debugger import sanitize
from isa.pack import pack, vsm_text
from tests.compiler import machine, models

NAMES = ("a", "b", "c", "d")
RNG = np.random.default_rng(11)
DATA = {name: np.asarray(RNG.standard_normal(), np.float32) for name in NAMES}
X = np.asarray(RNG.standard_normal(), np.float32)


def _model() -> ModelProto:
    """Each parameter takes x times the one before, as optimizers' chains do."""
    nodes = []
    for before, name in zip(("x", *NAMES), NAMES, strict=False):
        nodes += [
            helper.make_node("Mul", [before, "x"], [f"{name}_step"]),
            helper.make_node("Add", [name, f"{name}_step"], [f"{name}_new"]),
        ]
    scalar = ("float", [])
    return models.build(
        nodes,
        {"x": scalar},
        {f"{name}_new": scalar for name in NAMES},
        {f"{name}_step": scalar for name in NAMES},
        dict(DATA),
    )


def _compile(given: dict[str, Any]) -> Compiled:
    options = Options.resolve({"scheduler": "spill_opt", **given}, {})
    return compile_model(_model(), options, updates={name: f"{name}_new" for name in NAMES})


def _run(compiled: Compiled, calls: int) -> dict[str, np.ndarray[Any, Any]]:
    board = Board()
    for name, spec in compiled.params.items():
        machine.store(board, spec, compiled.values[name])
    machine.store(board, compiled.inputs["x"], X)
    for _ in range(calls):
        execute(compiled.program, board)
    return {name: machine.load(board, compiled.outputs[f"{name}_new"]).view(np.uint32) for name in NAMES}


def _expected(calls: int) -> dict[str, np.ndarray[Any, Any]]:
    now = dict(DATA)
    for _ in range(calls):
        before = {"x": X, **now}
        now = {name: now[name] + before[source] * X for source, name in zip(("x", *NAMES), NAMES, strict=False)}
    return {name: value.view(np.uint32) for name, value in now.items()}


def _transfers(compiled: Compiled) -> int:
    return sum(isinstance(line, Mv) for line in compiled.program.lines)


def test_parameters_come_and_go_by_one_transfer_each_and_stay_exact_over_calls() -> None:
    joined = _compile({})
    assert sorted(joined.report["updated_in_place"]) == list(NAMES)
    assert _transfers(joined) == 3  # x, the parameters, their new contents
    (download,) = [node for node in joined.graph.nodes if node.op_type == "MNCoreDownload" and len(node.inputs) > 1]
    assert sorted(download.inputs) == list(NAMES)
    found, expected = _run(joined, 3), _expected(3)
    for name in NAMES:
        np.testing.assert_array_equal(found[name], expected[name])


@pytest.mark.parametrize(
    "given", [{"layout_planner": "legacy"}, {"envs": {"CODEGEN_USE_MERGE": "0"}}, {"sram_budget": 0.004}]
)
def test_programs_without_joint_transfers_compute_the_same(given: dict[str, Any]) -> None:
    alone = _compile(given)
    assert _transfers(alone) > 3
    found, expected = _run(alone, 2), _expected(2)
    for name in NAMES:
        np.testing.assert_array_equal(found[name], expected[name])


def test_parts_that_lie_apart_leave_by_transfers_from_places_of_their_own() -> None:
    route = Route.of(_compile({}).params["a"].layout)
    asm = Asm()
    upload_together(asm, [Part(route, dram, "m", 4 * k) for k, dram in enumerate((0, 1024, 1040, 4096))])
    lines = assemble("\n".join(asm.lines), check_hazards=False).lines
    program = assemble(vsm_text(pack(lines)))
    assert sum(isinstance(line, Mv) for line in program.lines) == 3
    found = sanitize(program, Board(), mode="warn")
    assert [finding.message for finding in found if finding.family != "uninitialised"] == []
