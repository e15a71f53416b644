"""The planned graph of the evaluation step, against the public listing's facts and a golden text."""

from __future__ import annotations

from pathlib import Path

import pytest

from compiler.codegen import compile_model
from compiler.graph import to_l3ir
from compiler.options import Options
from tests.compiler import models

GOLDEN = Path(__file__).parent / "data" / "eval_step.l3ir.txt"


@pytest.fixture(scope="module")
def compiled():  # type: ignore[no-untyped-def]
    return compile_model(models.mlp(125, [1, 32, 32], 256, 10), Options.resolve({}, {}))


def test_l3ir_is_the_golden_text(compiled) -> None:  # type: ignore[no-untyped-def]
    assert to_l3ir(compiled.graph) == GOLDEN.read_text()


def test_what_the_public_listing_shows_is_the_same_here() -> None:
    """DRAM addresses of t, x and both parameters, layouts of x, the view and the first product (compiler.md 4, 6)."""
    plain = compile_model(models.mlp(125, [1, 32, 32], 256, 10), Options.resolve({"layout_planner": "legacy"}, {}))
    values = plain.graph.values
    assert [values[name].addr for name in ("t", "x", "attr_0", "attr_1")] == [0, 1024, 9216, 25600]
    assert str(values["x"].layout.layout) == ("((8_L2B:1, 8_L1B:1, 2:1), (), (16_MAB:1, 2:4), (2:2, 4_W:1, 4_PE:1))")
    assert str(values["view"].layout.layout) == "((8_L2B:1, 8_L1B:1, 2:1), (16_MAB:1, 4:2, 4_W:1, 4_PE:1))"
    assert str(values["addmm"].layout.layout) == "((8_L2B:1, 8_L1B:1, 2:1), (16_MAB:1, 4_W:1, 4_PE:1))"
    assert values["view"].parent == "x_Download_0"


def test_report_adds_up_and_counts_flops_as_the_vendor_does(compiled) -> None:  # type: ignore[no-untyped-def]
    report = compiled.report
    assert report["flops"] == 66_273_875
    assert report["core_freq"] == 750.0
    assert report["vsm_cycles"] <= 4_500
    assert sum(layer["cycles"] for layer in report["layers"]) == report["vsm_cycles"]
    assert sum(report["causes"].values()) == report["vsm_cycles"]
    assert report["host_ops"] == []
    assert all(bound <= report["vsm_cycles"] for bound in report["lower_bound_cycles"].values())


def test_default_planner_beats_the_plain_layouts(compiled) -> None:  # type: ignore[no-untyped-def]
    plain = compile_model(models.mlp(125, [1, 32, 32], 256, 10), Options.resolve({"layout_planner": "legacy"}, {}))
    assert compiled.report["vsm_cycles"] < plain.report["vsm_cycles"] <= 7_500
    same = ("t", "x", "correct")
    assert [str(compiled.graph.values[n].layout) for n in same] == [str(plain.graph.values[n].layout) for n in same]
    assert [compiled.graph.values[n].addr for n in ("t", "x")] == [plain.graph.values[n].addr for n in ("t", "x")]
