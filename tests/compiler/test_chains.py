"""Chains of element-wise operators in one node: random ones against the operators one by one, on the chip."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import helper

from compiler.chain import CHAINS, STEP_OPERATORS, Chain, Link
from compiler.codegen import compile_model
from compiler.compiled import Compiled
from compiler.options import Options
from tests.compiler import machine, models

UNARY = {"Neg", "Abs", "Sqrt", "Reciprocal", "Sign"}
SCALARS = {"rate": (), "scale": (1,)}
CONSTANT = np.float32(0.37)


class Drawn:
    """A random chain over x, y, z (one shape), two scalars and a constant, as one node and as a node for each step."""

    def __init__(self, seed: int, shape: tuple[int, ...], length: int) -> None:
        rng = np.random.default_rng(seed)
        self.inputs = ["x", "y", "z", *SCALARS, "constant"]
        whole, links = [0, 1, 2], []
        for _ in range(length):
            op_type = str(rng.choice(sorted(STEP_OPERATORS)))
            operands = [int(rng.choice(whole))]
            if op_type not in UNARY:
                operands.insert(int(rng.integers(2)), int(rng.choice([*whole[-4:], *range(len(self.inputs))])))
            links.append(Link(op_type, tuple(operands)))
            whole.append(len(self.inputs) + len(links) - 1)
        made = whole[3:]
        results = sorted({made[-1], *(int(n) for n in rng.choice(made, 2))})
        self.chain = Chain(tuple(links), tuple(results))
        self.outputs = [f"out{number}" for number in results]
        self.shape = shape
        sizes = {name: SCALARS.get(name, shape) for name in self.inputs if name != "constant"}
        self.feeds = {name: (rng.standard_normal(size) * 3).astype(np.float32) for name, size in sizes.items()}
        if self.feeds["x"].size > 4:
            self.feeds["x"].flat[:4] = [0.0, -0.0, np.inf, 1e-30]

    def fused(self) -> onnx.ModelProto:
        node = helper.make_node(
            "ChainerUpdate", self.inputs, self.outputs, domain="mncore", **self.chain.attributes()
        )
        return self._model([node], {})

    def plain(self) -> onnx.ModelProto:
        names = dict(enumerate(self.inputs)) | dict(zip(self.chain.results, self.outputs, strict=True))
        nodes, inner = [], {}
        for number, link in enumerate(self.chain.links, len(self.inputs)):
            if number not in names:
                names[number] = f"t{number}"
                inner[names[number]] = ("float", self.shape)
            nodes.append(helper.make_node(link.op_type, [names[n] for n in link.operands], [names[number]]))
        return self._model(nodes, inner)

    def _model(self, nodes: list[onnx.NodeProto], inner: dict[str, Any]) -> onnx.ModelProto:
        inputs = {name: ("float", data.shape) for name, data in self.feeds.items()}
        outputs = {name: ("float", self.shape) for name in self.outputs}
        return models.build(nodes, inputs, outputs, inner, {"constant": CONSTANT})


def _run(model: onnx.ModelProto, drawn: Drawn, **options: Any) -> tuple[Compiled, dict[str, NDArray[Any]]]:
    compiled = compile_model(model, Options.resolve({"layout_planner": "legacy", **options}, {}))
    feeds = {name: drawn.feeds[name] for name in compiled.inputs}
    return compiled, machine.run(compiled, feeds)


def _chains(compiled: Compiled) -> int:
    return sum(node.op_type in CHAINS for node in compiled.graph.nodes)


def _check(drawn: Drawn, **options: Any) -> Compiled:
    compiled, got = _run(drawn.fused(), drawn, **options)
    _, wanted = _run(drawn.plain(), drawn, **options)
    for name in drawn.outputs:
        np.testing.assert_array_equal(got[name], wanted[name], err_msg=f"{name} of {drawn.chain}")
    return compiled


@pytest.mark.parametrize("seed, shape, length", [(1, (7, 5), 6), (2, (67,), 11), (3, (3, 1, 2), 19)])
def test_random_chains(seed: int, shape: tuple[int, ...], length: int) -> None:
    assert _chains(_check(Drawn(seed, shape, length))) == 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10, 30))
def test_more_random_chains(seed: int) -> None:
    shape = [(1,), (130, 9), (2, 3, 5), (64, 64)][seed % 4]
    _check(Drawn(seed, shape, seed + 2), scheduler=["spill_opt", "always_from_dram"][seed % 2])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(40, 46))
def test_random_chains_of_doubles(seed: int) -> None:
    assert _chains(_check(Drawn(seed, (17, 6), 3 + seed % 9), float_dtype="double")) == 1


def test_a_chain_of_doubles() -> None:
    _check(Drawn(4, (5, 3), 5), float_dtype="double")


def test_rule_half_computes_operator_by_operator() -> None:
    assert _chains(_check(Drawn(5, (9, 4), 7), float_dtype="half")) == 0


@pytest.mark.parametrize("scheduler", ["reuse_consecutive", "spill_opt"])
def test_a_chain_in_time_slices(scheduler: str) -> None:
    drawn = Drawn(6, (301, 67), 4)
    assert _chains(_check(drawn, scheduler=scheduler, sram_budget=0.02)) > 1


def test_phases_share_nothing_but_operands_and_results() -> None:
    state = (Link("Mul", (1, 3)), Link("Add", (5, 2)))
    step = (Link("Mul", (4, 6)), Link("Sub", (0, 7)))
    alone = Chain((*state, *step), (6, 8)).phases(5)
    assert [(phase.links, phase.results) for phase in alone] == [((5, 6), (6,)), ((7, 8), (8,))]
    shared = Chain((*state, Link("Mul", (4, 5)), Link("Sub", (0, 7))), (6, 8)).phases(5)
    assert [(phase.links, phase.results) for phase in shared] == [((5, 6, 7, 8), (6, 8))]
