"""Merging layers by packing them together changes no bit, against the same program with one layer after the other."""

from __future__ import annotations

import numpy as np
import pytest

from compiler.codegen import compile_model
from compiler.compiled import Compiled
from compiler.options import Options
from tests.compiler import machine, models


def _compile(scheduler: str, merge: int) -> Compiled:
    options = {"scheduler": scheduler, "layout_planner": "legacy", "envs": {"CODEGEN_USE_MERGE": str(merge)}}
    return compile_model(models.mlp(70, [40], 32, 5, logits=True), Options.resolve(options, {}))


@pytest.mark.parametrize("scheduler", ["always_from_dram", "reuse_consecutive", "spill_opt"])
def test_merged_code_computes_the_same_bits_in_less_time(scheduler: str) -> None:
    merged, apart = _compile(scheduler, 1), _compile(scheduler, 0)
    rng = np.random.default_rng(3)
    feeds = {"x": rng.standard_normal((70, 40)).astype(np.float32), "t": rng.integers(0, 5, 70)}
    expected = machine.run(apart, feeds)
    for name, bits in machine.run(merged, feeds).items():
        np.testing.assert_array_equal(bits, expected[name], err_msg=name)
    assert merged.report["vsm_cycles"] < apart.report["vsm_cycles"]
    layers = [line for line in apart.program.source.splitlines() if line.startswith("#@layer")]
    assert len(layers) == len([node for node in apart.graph.nodes if node.op_type not in ("Constant", "Reshape")])
