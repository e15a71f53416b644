"""Forward and backward of activation functions as PyTorch exports them: compiled, run on the chip, held against
torch.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch
import torch.nn.functional as F

from compiler.codegen import compile_model
from compiler.frontend import export
from compiler.graph import decode
from compiler.options import Options
from compiler.pfvm import optimize
from tests.compiler import machine

NAMES = ("relu", "leaky_relu", "gelu", "silu", "elu", "hardswish", "softplus", "mish", "tanh", "sigmoid")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", NAMES)
def test_gradient_on_the_chip_is_that_of_torch(name: str) -> None:
    torch.manual_seed(0)
    x, weight = torch.randn(20, 6) * 3, torch.randn(6)

    def step(inp: dict[str, Any]) -> dict[str, Any]:
        a = inp["x"].clone().requires_grad_(True)
        (getattr(F, name)(a) * inp["w"]).sum().backward()
        return {"grad": a.grad}

    sample = {"x": x, "w": weight}
    model = optimize(export(step, sample, training=True).model)
    compiled = compile_model(model, Options.resolve({}, {}))
    got = machine.run(compiled, {key: value.numpy() for key, value in sample.items()})["grad"]
    torch.testing.assert_close(torch.from_numpy(decode(got, compiled.outputs["grad"].dtype)), step(sample)["grad"])
