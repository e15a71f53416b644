"""Updates of parameters go over the old contents where the program has read them all by then."""

from __future__ import annotations

import numpy as np
from onnx import helper

from compiler.codegen import compile_model
from compiler.options import Options
from hw.engine import execute
from hw.state import Board
from tests.compiler import machine, models

OPTIONS = Options.resolve({"layout_planner": "legacy"}, {})


def test_a_state_accumulates_over_runs_without_being_moved() -> None:
    nodes = [helper.make_node("Add", ["p", "x"], ["p_new"])]
    model = models.build(
        nodes, {"x": ("float", [7, 5])}, {"p_new": ("float", [7, 5])}, constants={"p": np.ones((7, 5), np.float32)}
    )
    compiled = compile_model(model, OPTIONS, updates={"p": "p_new"})
    assert compiled.report["updated_in_place"] == ["p"]
    assert compiled.outputs["p_new"].addr == compiled.params["p"].addr
    board = Board()
    machine.store(board, compiled.params["p"], compiled.values["p"])
    machine.store(board, compiled.inputs["x"], np.full((7, 5), 2, np.float32))
    for _ in range(3):
        execute(compiled.program, board)
    assert (machine.load(board, compiled.outputs["p_new"]).view(np.float32) == 7).all()


def test_a_state_that_comes_back_in_another_layout_keeps_its_place() -> None:
    nodes = [helper.make_node("Transpose", ["p"], ["t"], perm=[1, 0]), helper.make_node("Add", ["t", "x"], ["p_new"])]
    model = models.build(
        nodes,
        {"x": ("float", [5, 5])},
        {"p_new": ("float", [5, 5])},
        {"t": ("float", [5, 5])},
        {"p": np.ones((5, 5), np.float32)},
    )
    compiled = compile_model(model, OPTIONS, updates={"p": "p_new"})
    assert compiled.report["updated_in_place"] == []
    assert compiled.outputs["p_new"].addr != compiled.params["p"].addr

