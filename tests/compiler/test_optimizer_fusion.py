"""Fused updates of optimizers: what is fused, and that no bit differs from the operators one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import onnx
import pytest
import torch
from numpy.typing import NDArray
from onnx import helper

from compiler.chain import CHAINS, RATES
from compiler.codegen import compile_model
from compiler.compiled import Compiled
from compiler.frontend import export
from compiler.frontend.roles import PARAMETER, ROLE_KEY
from compiler.layers.reference import run_reference
from compiler.options import Options
from compiler.pfvm import PfvmProgram, flops, optimize
from hw.engine import execute
from hw.state import Board
from mlsdk.optimizers import MNCoreAdam, MNCoreAdamW, MNCoreOptimizer, MNCoreSGD
from tests.compiler import machine, models

Make = Callable[[list[torch.nn.Parameter]], MNCoreOptimizer]

#: Optimizer, name of its fused operator, results of that.
CASES: dict[str, tuple[Make, str, int]] = {
    "sgd": (lambda p: MNCoreSGD(p, 0.1), "ChainerSGD", 1),
    "sgd_decay": (lambda p: MNCoreSGD(p, 0.1, weight_decay=0.01), "ChainerSGD", 1),
    "momentum": (lambda p: MNCoreSGD(p, 0.1, 0.9), "ChainerMomentum", 2),
    "nesterov": (lambda p: MNCoreSGD(p, 0.1, 0.9, 0.0, 0.01, True), "ChainerMomentum", 2),
    "dampening": (lambda p: MNCoreSGD(p, 0.1, 0.9, 0.3, 0.01), "ChainerMomentum", 2),
    "adam": (lambda p: MNCoreAdam(p, 0.01), "ChainerAdam", 3),
    "adam_chainer": (lambda p: MNCoreAdam(p, 0.01, weight_decay=0.1, chainer_use_torch=False), "ChainerAdam", 3),
    "adamw": (lambda p: MNCoreAdamW(p, 0.01), "ChainerAdamW", 3),
    "adamw_no_decay": (lambda p: MNCoreAdamW(p, 0.01, weight_decay=0.0), "ChainerAdam", 3),
}
STEPS = 3


class Step:
    """One update of a parameter by gradients that come as an input: its exported model and their values."""

    def __init__(self, make: Make, shape: tuple[int, ...]) -> None:
        torch.manual_seed(len(shape))
        parameter = torch.nn.Parameter(torch.randn(shape))
        optimizer = make([parameter])
        names = {id(parameter): "p"} | {id(tensor): name for name, _, tensor in optimizer.state_tensors()}

        def update(inputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
            with torch.no_grad():
                optimizer.update(parameter, inputs["g"], optimizer.state[parameter], optimizer.param_groups[0])
            return {"size": inputs["g"].sum()}

        exported = export(update, {"g": torch.zeros(shape)}, tensor_names=lambda t: names.get(id(t)), training=True)
        self.model, self.updates = exported.model, exported.updates
        self.state = {name: tensor.detach().clone().numpy() for name, tensor in exported.params.items()}
        rng = np.random.default_rng(7)
        self.gradients = [rng.standard_normal(shape).astype(np.float32) * 10.0**k for k in range(STEPS)]

    def compiled(self, fuse: bool, **options: Any) -> Compiled:
        model = optimize(self.model, fuse_updates=fuse)
        return compile_model(model, Options.resolve({"layout_planner": "legacy", **options}, {}), updates=self.updates)


def _fused(model: onnx.ModelProto) -> list[onnx.NodeProto]:
    return [node for node in model.graph.node if node.op_type in CHAINS and node.op_type != RATES]


def _on_pfvm(step: Step, model: onnx.ModelProto) -> list[dict[str, NDArray[Any]]]:
    program, state, seen = PfvmProgram(model), dict(step.state), []
    for gradient in step.gradients:
        feeds = {name: torch.from_numpy(value) for name, value in (state | {"g": gradient}).items()}
        results = {name: value.numpy() for name, value in program(feeds).items()}
        state |= {name: results[output] for name, output in step.updates.items()}
        seen.append(results)
    return seen


def _on_chip(step: Step, compiled: Compiled) -> list[dict[str, NDArray[Any]]]:
    assert sorted(compiled.report["updated_in_place"]) == sorted(step.updates)
    board, seen = Board(), []
    for name, spec in compiled.params.items():
        machine.store(board, spec, compiled.values[name])
    for gradient in step.gradients:
        machine.store(board, compiled.inputs["g"], gradient)
        execute(compiled.program, board)
        seen.append({name: machine.load(board, spec) for name, spec in compiled.outputs.items()})
    return seen


def _assert_equal_bits(got: list[dict[str, NDArray[Any]]], wanted: list[dict[str, NDArray[Any]]]) -> None:
    for number, (one, other) in enumerate(zip(got, wanted, strict=True)):
        assert one.keys() == other.keys()
        for name, value in one.items():
            assert value.tobytes() == other[name].tobytes(), f"{name} after step {number}"


@pytest.mark.parametrize("case", CASES)
def test_an_update_becomes_one_node_with_the_same_bits_on_torch(case: str) -> None:
    make, name, results = CASES[case]
    step = Step(make, (5, 3))
    fused, plain = optimize(step.model), optimize(step.model, fuse_updates=False)
    assert [(node.op_type, len(node.output)) for node in _fused(fused)] == [(name, results)]
    assert not _fused(plain) and len(plain.graph.node) >= len(fused.graph.node) + results
    full = [node for node in fused.graph.node if node.output[0] not in step.updates.values() and node.domain == ""]
    shapes = {info.name: [d.dim_value for d in info.type.tensor_type.shape.dim] for info in fused.graph.value_info}
    assert all(shapes.get(node.output[0]) in ([], None) for node in full)  # only scalars are left outside
    assert flops(fused) == flops(plain)
    onnx.checker.check_model(fused)
    _assert_equal_bits(_on_pfvm(step, fused), _on_pfvm(step, plain))


ON_CHIP = [case if case in ("nesterov", "adamw") else pytest.param(case, marks=pytest.mark.slow) for case in CASES]


@pytest.mark.parametrize("case", ON_CHIP)
def test_the_chip_gives_the_same_bits(case: str) -> None:
    step = Step(CASES[case][0], (37, 5))
    fused = step.compiled(True)
    assert sum(node.op_type in CHAINS and node.op_type != RATES for node in fused.graph.nodes) == 1
    got = _on_chip(step, fused)
    _assert_equal_bits(got, _on_chip(step, step.compiled(False)))
    raw = run_reference(fused.graph, {"g": step.gradients[0]})
    for name, stored in fused.stored.items():
        assert raw[stored].tobytes() == got[0][name].tobytes(), name


def _program(nodes: list[onnx.NodeProto], params: Mapping[str, tuple[int, ...]], outputs: list[str]) -> onnx.ModelProto:
    """A program that changes its parameters; inputs g and h, and everything else, are of shape 4 x 3 or single."""
    sizes = {"g": (4, 3), "h": (4, 3), **params}
    constants = {name: np.ones(shape, np.float32) for name, shape in params.items()} | {"c": np.float32(0.9)}
    made = {name: ("float", sizes[name.split("@")[0]]) for name in outputs}
    model = models.build(nodes, {name: ("float", (4, 3)) for name in "gh"}, made, constants=constants)
    for name, shape in params.items():
        info = helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        info.metadata_props.add(key=ROLE_KEY, value=PARAMETER)
        model.graph.value_info.append(info)
    return model


def _kinds(model: onnx.ModelProto) -> list[str]:
    return [node.op_type for node in optimize(model).graph.node]


def test_a_gradient_made_of_two_values_is_made_before_the_update() -> None:
    nodes = [
        helper.make_node("Add", ["g", "h"], ["both"]),
        helper.make_node("Mul", ["both", "c"], ["scaled"]),
        helper.make_node("Sub", ["p", "scaled"], ["p@updated"]),
    ]
    assert _kinds(_program(nodes, {"p": (4, 3)}, ["p@updated"])) == ["Add", "ChainerSGD"]


def test_what_others_read_stays_outside() -> None:
    nodes = [
        helper.make_node("Mul", ["v", "c"], ["kept"]),
        helper.make_node("Add", ["kept", "g"], ["v@updated"]),
        helper.make_node("Mul", ["v@updated", "c"], ["step"]),
        helper.make_node("Sub", ["p", "step"], ["p@updated"]),
        helper.make_node("Relu", ["v@updated"], ["h@seen"]),
    ]
    model = _program(nodes, {"p": (4, 3), "v": (4, 3)}, ["v@updated", "p@updated", "h@seen"])
    assert _kinds(model) == ["ChainerSGD", "ChainerSGD", "Relu"]


def test_a_scalar_state_of_several_steps_goes_with_the_rates() -> None:
    nodes = [
        helper.make_node("Mul", ["n", "c"], ["less"]),
        helper.make_node("Add", ["less", "c"], ["n@updated"]),
        helper.make_node("Mul", ["n@updated", "g"], ["step"]),
        helper.make_node("Sub", ["p", "step"], ["p@updated"]),
    ]
    model = _program(nodes, {"n": (), "p": (4, 3)}, ["n@updated", "p@updated"])
    assert _kinds(model) == ["ChainerUpdateRates", "ChainerSGD"]
    fused, plain = optimize(model), optimize(model, fuse_updates=False)
    feeds = {name: torch.rand(4, 3) for name in "gh"}
    one, other = PfvmProgram(fused)(feeds), PfvmProgram(plain)(feeds)
    assert all(torch.equal(one[name], other[name]) for name in other)


def test_a_program_without_updates_has_nothing_to_fuse() -> None:
    nodes = [helper.make_node("Mul", ["g", "h"], ["x"]), helper.make_node("Add", ["x", "p"], ["g@sum"])]
    assert _kinds(_program(nodes, {"p": (4, 3)}, ["g@sum"])) == ["Mul", "Add"]


def test_a_gradient_that_is_a_sum_stays_outside() -> None:
    """A part of the sum has one source itself; taken in without the rest, the update would need its own result."""
    torch.manual_seed(0)
    model = torch.nn.Linear(6, 4)
    optimizer = MNCoreSGD(model.parameters(), 0.1)

    def step(inputs: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        optimizer.zero_grad()
        loss = model(inputs["x"]).pow(2).mean() + model(inputs["x"]).mean() + model(inputs["x"]).abs().mean()
        loss.backward()
        optimizer.step()
        return {"loss": loss}

    optimised = optimize(export(step, {"x": torch.randn(8, 6)}).model)
    fused = _fused(optimised)
    assert {node.op_type for node in fused} <= {"ChainerSGD"} and all(len(node.output) == 1 for node in fused)
    onnx.checker.check_model(optimised)
    known = {value.name for value in (*optimised.graph.input, *optimised.graph.initializer)}
    for node in optimised.graph.node:
        assert known >= {name for name in node.input if name}, node.name
        known |= set(node.output)
