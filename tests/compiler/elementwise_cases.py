"""Compiles element-wise models, runs them on the simulated chip and holds them against the NumPy reference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from compiler.codegen import compile_model
from compiler.compiled import Compiled
from compiler.graph import decode
from compiler.layers.reference import run_reference
from compiler.options import Options
from hw.state import Board
from tests.compiler import machine, models

KINDS = {"f": "float", "i": "int", "b": "bool"}
MAGNITUDES = np.array([0, 1, 1.5, 2.5, 0.49999997, 2.0**-126, 3.4028235e38, np.inf], np.float32)
FLOATS = np.concatenate([MAGNITUDES, -MAGNITUDES])
INTEGERS = np.array([0, 1, -1, 2, 7, -8, 2**31 - 1, -(2**31), 65536], np.int64)


def floats(rng: np.random.Generator, shape: Sequence[int], *, special: float = 0.1) -> NDArray[np.float32]:
    """Normal numbers over a wide range, with boundary values among them."""
    wide = rng.standard_normal(shape) * np.exp2(rng.integers(-12, 12, shape))
    return np.where(rng.random(shape) < special, rng.choice(FLOATS, shape), wide).astype(np.float32)


def integers(rng: np.random.Generator, shape: Sequence[int]) -> NDArray[np.int64]:
    """Small and boundary integers; small ones meet each other often."""
    return np.where(rng.random(shape) < 0.3, rng.choice(INTEGERS, shape), rng.integers(-5, 6, shape)).astype(np.int64)


def sample(rng: np.random.Generator, kind: str, shape: Sequence[int]) -> NDArray[Any]:
    """Random data of a kind: "f", "i" or "b"."""
    if kind == "b":
        return np.asarray(rng.random(shape) < 0.5)
    return floats(rng, shape) if kind == "f" else integers(rng, shape)


def run(
    nodes: Sequence[onnx.NodeProto],
    feeds: Mapping[str, NDArray[Any]],
    outputs: Mapping[str, tuple[str, Sequence[int]]],
    *,
    inner: Mapping[str, tuple[str, Sequence[int]]] | None = None,
    constants: Mapping[str, NDArray[Any]] | None = None,
    options: Options | None = None,
) -> tuple[Compiled, dict[str, NDArray[Any]]]:
    """The compiled program and its outputs as host values; asserts that every output has the reference's bits."""
    named = {name: (_kind(data), data.shape) for name, data in feeds.items()}
    kinds = {name: (KINDS[kind], shape) for name, (kind, shape) in outputs.items()}
    held = {name: (KINDS[kind], shape) for name, (kind, shape) in (inner or {}).items()}
    model = models.build(nodes, named, kinds, held, constants)
    compiled = compile_model(model, options or Options.resolve({}, {}))
    got = machine.run(compiled, feeds, Board())
    raw = run_reference(compiled.graph, feeds)
    made = {name for node in compiled.graph.nodes for name in node.outputs}
    for name, bits in got.items():
        stored = name if name in made else next(n for n in raw if n.startswith(f"{name}_Upload"))
        np.testing.assert_array_equal(bits, raw[stored], err_msg=name)
    return compiled, {name: decode(bits, compiled.outputs[name].dtype) for name, bits in got.items()}


def _kind(data: NDArray[Any]) -> str:
    return {"f": "float", "i": "int", "b": "bool"}[data.dtype.kind]
