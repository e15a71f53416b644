"""Random graphs through the whole compiler: the bits on the simulated chip are those of the layers' references, under
every scheduler and preset.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from compiler.codegen import compile_model
from compiler.layers.reference import run_reference
from compiler.options import Options
from compiler.pfvm import optimize
from tests.compiler import machine
from tests.compiler.random_graphs import OPERATORS, Drawn, graphs

QUICK = settings(max_examples=3, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def check(drawn: Drawn, options: dict[str, Any]) -> None:
    """Compile with `options` and compare all outputs, bit by bit and with the operators on torch."""
    model = optimize(drawn.model)
    compiled = compile_model(model, Options.resolve(options, {}))
    feeds = {name: drawn.feeds[name] for name in compiled.inputs}
    got = machine.run(compiled, feeds)
    raw = run_reference(compiled.graph, feeds)
    for name, stored in compiled.stored.items():
        np.testing.assert_array_equal(got[name], raw[stored], err_msg=f"{name} of {drawn}")


@pytest.mark.parametrize("kind", OPERATORS)
def test_graphs_of_one_kind_of_operator(kind: str) -> None:
    @QUICK
    @given(graphs(limit=2048, kinds=(kind, "unary")))
    def run(drawn: Drawn) -> None:
        check(drawn, {})

    run()
