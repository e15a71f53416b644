"""`compile_automap`: any signature in, the same structure out, on the device that runs ONNX operator by operator."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from mlsdk import Context, MNDevice, TensorProxy, register_pytree_dataclass, register_pytree_namedtuple
from mlsdk.errors import PytreeError


@register_pytree_namedtuple
class Pair(NamedTuple):
    left: torch.Tensor
    right: torch.Tensor


@register_pytree_dataclass
@dataclass
class Box:
    content: torch.Tensor
    note: str


@pytest.fixture
def context() -> Context:
    return Context(MNDevice("pfvm:cpu"))


def test_containers_of_every_kind_come_back_with_proxies(context: Context, tmp_path: Path) -> None:
    def function(pair: Pair, boxes: list[Box], *, scale: float, more: dict[str, torch.Tensor]) -> dict[str, Any]:
        total = (pair.left + pair.right) * scale
        return {"box": Box(total + boxes[0].content, boxes[0].note), "pair": Pair(total, more["z"] - 1), "n": 3}

    one, two = torch.ones(2, 3), torch.full((2, 3), 2.0)
    args = (Pair(one, two), [Box(two, "kept")])
    compiled = context.compile_automap(function, args, {"scale": 2.0, "more": {"z": one}}, tmp_path / "f")
    assert list(compiled.compiled.input_specs) == ["args_0_left", "args_0_right", "args_1_0_content", "kwargs_more_z"]
    result = compiled(Pair(two, two), [Box(one, "kept")], scale=2.0, more={"z": two})
    assert result["n"] == 3 and result["box"].note == "kept"
    assert isinstance(result["pair"], Pair) and isinstance(result["pair"].left, TensorProxy)
    assert torch.equal(result["box"].content.cpu(), torch.full((2, 3), 9.0))
    assert torch.equal(result["pair"].right.cpu(), one)


def test_a_bare_tensor_gives_one_proxy(context: Context, tmp_path: Path) -> None:
    compiled = context.compile_automap(lambda a, b: a + b, (torch.ones(4),), {"b": torch.ones(4)}, tmp_path / "f")
    assert torch.equal(compiled(torch.ones(4), b=torch.ones(4)).cpu(), torch.full((4,), 2.0))


def test_another_structure_or_value_is_refused(context: Context, tmp_path: Path) -> None:
    compiled = context.compile_automap(lambda a, k: a * k, (torch.ones(4), 3), {}, tmp_path / "f")
    with pytest.raises(PytreeError, match="was 3 when"):
        compiled(torch.ones(4), 4)
    with pytest.raises(PytreeError, match="structure"):
        compiled(torch.ones(4))
    with pytest.raises(PytreeError, match="named tuple"):
        register_pytree_namedtuple(dict)
    with pytest.raises(PytreeError, match="above @dataclass"):
        register_pytree_dataclass(Pair)
