"""Softmax and its relatives, means, norms and losses: opened, compiled and run, against the reference and NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import onnx
import pytest
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from onnx import helper

from compiler.codegen import compile_model
from compiler.frontend import export
from compiler.layers.reference import run_reference
from compiler.options import Options
from compiler.pfvm import optimize
from tests.compiler import machine, models

OPTIONS = Options.resolve({}, {})
SLOW = partial(pytest.param, marks=pytest.mark.slow)


def _on_chip(model: onnx.ModelProto, feeds: Mapping[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Raw outputs, equal to the reference bit for bit."""
    compiled = compile_model(model, OPTIONS)
    raw = run_reference(compiled.graph, feeds)
    got = machine.run(compiled, feeds)
    made = {name for node in compiled.graph.nodes for name in node.outputs}
    for name, bits in got.items():
        stored = name if name in made else next(n for n in raw if n.startswith(f"{name}_Upload"))
        np.testing.assert_array_equal(bits, raw[stored], err_msg=name)
    return got


def _run(
    op_type: str,
    feeds: Mapping[str, NDArray[Any]],
    shape: Sequence[int],
    constants: Mapping[str, NDArray[Any]] | None = None,
    **attrs: Any,
) -> NDArray[np.float32]:
    """The output of a model of one node."""
    node = helper.make_node(op_type, [*feeds, *(constants or {})], ["y"], **attrs)
    kinds = {name: ("int" if data.dtype.kind == "i" else "float", data.shape) for name, data in feeds.items()}
    model = models.build([node], kinds, {"y": ("float", shape)}, constants=constants)
    return _on_chip(model, feeds)["y"].view(np.float32)


def _softmax(x: NDArray[Any], axis: int) -> NDArray[Any]:
    powers = np.exp(x.astype(np.float64) - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


@pytest.mark.parametrize("shape, axis", [((125, 10), 1), SLOW((7, 300), 0), SLOW((3, 5, 6), -1)])
def test_softmax(shape: tuple[int, ...], axis: int) -> None:
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32) * 5
    want = _softmax(x, axis)
    np.testing.assert_allclose(_run("Softmax", {"x": x}, shape, axis=axis), want, rtol=3e-6, atol=1e-7)
    np.testing.assert_allclose(_run("LogSoftmax", {"x": x}, shape, axis=axis), np.log(want), rtol=3e-6, atol=3e-6)


@pytest.mark.parametrize("axes", [SLOW((0,)), (1,), SLOW((0, 1))])
def test_means_and_norms(axes: tuple[int, ...]) -> None:
    x = np.random.default_rng(2).standard_normal((70, 33)).astype(np.float32)
    wide = x.astype(np.float64)
    shape = tuple(1 if n in axes else extent for n, extent in enumerate(x.shape))
    want = {
        "ReduceMean": wide.mean(axis=axes),
        "ReduceL1": np.abs(wide).sum(axis=axes),
        "ReduceL2": np.sqrt((wide * wide).sum(axis=axes)),
        "ReduceSumSquare": (wide * wide).sum(axis=axes),
        "ReduceLogSumExp": np.log(np.exp(wide).sum(axis=axes)),
    }
    for op_type, numbers in want.items():
        got = _run(op_type, {"x": x}, shape, {"axes": np.array(axes)})
        np.testing.assert_allclose(got, numbers.reshape(shape), rtol=3e-6, atol=1e-6, err_msg=op_type)


@pytest.mark.parametrize(
    "reduction, weighted",
    [("mean", True), *(SLOW(*case) for case in (("mean", False), ("sum", False), ("sum", True), ("none", True)))],
)
def test_losses(reduction: str, weighted: bool) -> None:
    rng = np.random.default_rng(3)
    x, t = rng.standard_normal((70, 10)).astype(np.float32), rng.integers(0, 10, 70)
    t[::7] = -100
    constants = {"w": rng.uniform(0.5, 2, 10).astype(np.float32)} if weighted else {}
    weight = torch.from_numpy(constants["w"]) if weighted else None
    want = F.cross_entropy(torch.from_numpy(x), torch.from_numpy(t), weight, reduction=reduction).numpy()
    shape = [70] if reduction == "none" else []
    attrs = {"reduction": reduction, "ignore_index": -100}
    got = _run("SoftmaxCrossEntropyLoss", {"x": x, "t": t}, shape, constants, **attrs)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)
    logs = torch.log_softmax(torch.from_numpy(x), 1).numpy()
    got = _run("NegativeLogLikelihoodLoss", {"x": logs, "t": t}, shape, constants, **attrs)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_loss_and_its_gradient_as_torch_exports_them() -> None:
    """Gathers and scatters of the exported backward pass become comparisons; nothing else moves between PEs."""

    def step(inp: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        x = inp["x"].detach().requires_grad_()
        loss = F.cross_entropy(x, inp["t"])
        return {"loss": loss, "gradient": torch.autograd.grad(loss, [x])[0]}

    rng = np.random.default_rng(4)
    sample = {"x": torch.randn(125, 10, generator=torch.Generator().manual_seed(4)), "t": torch.zeros(125).long()}
    sample["t"][:] = torch.from_numpy(rng.integers(0, 10, 125))
    model = optimize(export(step, sample).model)
    got = _on_chip(model, {name: value.numpy() for name, value in sample.items()})
    want = step(sample)
    np.testing.assert_allclose(got["loss"].view(np.float32), want["loss"].detach().numpy(), rtol=1e-5)
    np.testing.assert_allclose(got["gradient"].view(np.float32), want["gradient"].numpy(), rtol=1e-5, atol=1e-8)
