"""The layer of docs/writing_a_layer.md works as written."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from compiler.codegen import compile_model
from compiler.layers import registry
from compiler.layers.base import Layer
from compiler.layers.reference import run_reference
from compiler.options import Options
from tests.compiler import machine, models

GUIDE = Path(__file__).parents[2] / "docs" / "writing_a_layer.md"


@pytest.fixture
def twice(monkeypatch: pytest.MonkeyPatch) -> Layer:
    """The guide's layer, known to the compiler during one test."""
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    layer: Layer = names["Twice"]()
    monkeypatch.setitem(registry.layers(), "Twice", layer)
    return layer


@pytest.mark.parametrize("shape", [(7, 5), (1,), (64, 33)])
def test_the_guides_layer_compiles_and_gives_its_references_bits(twice: Layer, shape: tuple[int, ...]) -> None:
    nodes = [helper.make_node("Twice", ["x"], ["y"]), helper.make_node("Relu", ["y"], ["z"])]
    model = models.build(nodes, {"x": ("float", shape)}, {"z": ("float", shape)}, {"y": ("float", shape)})
    compiled = compile_model(model, Options.resolve({"layout_planner": "legacy"}, {}))
    feeds = {"x": np.random.default_rng(1).standard_normal(shape).astype(np.float32)}
    got = machine.run(compiled, feeds)["z"]
    np.testing.assert_array_equal(got, run_reference(compiled.graph, feeds)[compiled.stored["z"]])
    np.testing.assert_array_equal(got.view(np.float32), np.maximum(feeds["x"] * 2, 0))


def test_every_method_of_the_interface_is_in_the_guide() -> None:
    text = GUIDE.read_text()
    public = [name for name in vars(Layer) if not name.startswith("_") and name not in ("op_types", "variant")]
    assert [name for name in public if f"`{name}`" not in text and f"def {name}" not in text] == []
