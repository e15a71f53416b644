"""Rows dealt to the banks: the layouts, and classifiers whose products are spread by groups, bit for bit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import compiler.search
from compiler.codegen import compile_model
from compiler.graph import MNGraph
from compiler.layers.reference import run_reference
from compiler.layout import Layout
from compiler.layout.deal import deal_rows, dealable, undeal_rows
from compiler.layout.errors import LayoutError
from compiler.options import Options
from compiler.plan.strategy import variants
from tests.compiler import machine, models

DEALT = {
    "((8_L2B:1, 8_L1B:1, 2:1), (16_MAB:1, 4:2, 4_W:1, 4_PE:1))": (
        "((4_L1B:2, 4:2, 2_L2B:1, 2_L1B:1, 2:1), (2_MAB:2, 4_MAB:4, 2_MAB:1, 4:8, 4_W:1, 4_PE:1); B@[4_L2B:2])"
    ),
    "((8_L2B:1, 8_L1B:1, 1:1, 2_W:1); B@[PE,MAB])": (
        "((4_L1B:2, 4:1, 2_L2B:1, 2_L1B:1, 1:1, 2_W:1); B@[PE,MAB,4_L2B:2])"
    ),
    "((8_L2B:1, 8_L1B:1, 3:1), (4_MAB:1, 5:3), (4_MAB:4, 4_W:1, 4_PE:1))": (
        "((4_L1B:2, 4:3, 2_L2B:1, 2_L1B:1, 3:1), (2_MAB:4, 2_MAB:1, 5:12), (2_MAB:2, 2_MAB:8, 4_W:1, 4_PE:1);"
        " B@[4_L2B:2])"
    ),
}


@pytest.mark.parametrize("stored", DEALT)
def test_dealt_layouts_and_back(stored: str) -> None:
    layout = Layout.parse(stored)
    assert dealable(layout)
    dealt = deal_rows(layout)
    assert dealt.equivalent(Layout.parse(DEALT[stored]))
    back = undeal_rows(dealt)
    assert back is not None and back.equivalent(layout)


@pytest.mark.parametrize("text", ["((8_L2B:1, 2:1); B@[L1B,MAB,PE,W])", "((8_L2B:1, 8_L1B:1), (2_MAB:1); B@[8_MAB:2])"])
def test_layouts_that_cannot_be_dealt(text: str) -> None:
    layout = Layout.parse(text)
    assert not dealable(layout) and undeal_rows(layout) is None
    with pytest.raises(LayoutError, match="8_L2B:1, 8_L1B:1"):
        deal_rows(layout)


def _by_groups(graph: MNGraph, ahead: int) -> list[MNGraph]:
    """The variant by groups whose first weight comes before (`ahead` 1) or after the input."""
    found = []
    for one in variants(graph):
        first = next((node for node in one.nodes if node.attrs.get("banks") == "gN"), None)
        if first is not None and first.attrs.get("ahead", 0) == ahead:
            found.append(one)
    return found


@pytest.mark.parametrize("ahead", [0, 1])
@pytest.mark.parametrize(
    "batch, image, hidden, classes, bias",
    [
        (125, [1, 32, 32], 256, 10, True),
        (3, [20], 16, 2, False),
        (200, [300], 300, 40, True),
        (70, [100], 1100, 130, True),
    ],
)
def test_classifiers_by_groups(
    monkeypatch: pytest.MonkeyPatch, batch: int, image: list[int], hidden: int, classes: int, bias: bool, ahead: int
) -> None:
    """Rows per L1B of 1, 2 and 4, hidden layers that fill some MABs, all of them, and several tiles of each."""
    monkeypatch.setattr(compiler.search, "variants", lambda graph: _by_groups(graph, ahead))
    model = models.mlp(batch, image, hidden, classes, logits=True, bias=bias, seed=batch)
    compiled = compile_model(model, Options.resolve({}, {}))
    assert any(node.op_type == "MNCoreDealtDownload" for node in compiled.graph.nodes)
    rng = np.random.default_rng(batch)
    feeds: dict[str, NDArray[Any]] = {
        "x": rng.standard_normal((batch, *image)).astype(np.float32),
        "t": rng.integers(0, classes, batch),
    }
    got, want = machine.run(compiled, feeds), run_reference(compiled.graph, feeds)
    for name in got:
        stored = name if name in want else next(n for n in want if n.startswith(f"{name}_Upload"))
        np.testing.assert_array_equal(got[name], want[stored], err_msg=name)


def test_an_image_beyond_the_buffers_steps_aside() -> None:
    """600 rows of 512 take more than half of L2BM when dealt; another way to spread the products is taken."""
    compiled = compile_model(models.mlp(600, [512], 32, 10), Options.resolve({}, {}))
    assert all(node.op_type != "MNCoreDealtDownload" for node in compiled.graph.nodes)
    assert any("dealt to the banks" in str(entry.get("error")) for entry in compiled.report["candidates"])
