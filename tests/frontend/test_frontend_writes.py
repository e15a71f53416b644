"""Writes into parts of a tensor: the rules agree with torch on all kinds of places, and no ScatterND is exported."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from compiler.frontend import export
from compiler.frontend.writes import RULES

_aten = torch.ops.aten


@pytest.mark.parametrize("bounds", [(0, 3), (2, 5), (-2, None), (None, None), (3, 3), (4, 2), (1, 99), (-99, 2)])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_slices(bounds: tuple[int | None, int | None], dim: int) -> None:
    x = torch.randn(5, 7, 6)
    source = torch.randn_like(x.movedim(dim, 0)[slice(*bounds)].movedim(0, dim))
    operator = _aten.slice_scatter.default
    assert torch.equal(RULES[operator](x, source, dim, *bounds), operator(x, source, dim, *bounds))


@pytest.mark.parametrize("index", [0, 2, 4, -1, -5])
def test_single_positions(index: int) -> None:
    x, source = torch.randn(3, 5), torch.randn(3)
    operator = _aten.select_scatter.default
    assert torch.equal(RULES[operator](x, source, 1, index), operator(x, source, 1, index))


def test_positions_in_tensors() -> None:
    x, index = torch.randn(3, 5, 4), torch.tensor([4, 1])
    source = torch.randn(3, 2, 4)
    copy, put = _aten.index_copy.default, _aten.index_put.default
    assert torch.equal(RULES[copy](x, 1, index, source), copy(x, 1, index, source))
    assert torch.equal(RULES[put](x, [None, index], source), put(x, [None, index], source))
    one = torch.tensor(1.5)  # one value for all positions
    assert torch.equal(RULES[put](x, [index % 3], one), put(x, [index % 3], one))


def test_what_is_left_alone() -> None:
    x = torch.zeros(4, 4)
    assert RULES[_aten.slice_scatter.default](x, x[::2], 0, 0, 4, 2) is NotImplemented
    assert RULES[_aten.index_put.default](x, [x > 0], x[0]) is NotImplemented
    assert RULES[_aten.index_put.default](x, [torch.tensor([0])], x[:1], True) is NotImplemented


def _slice(cache: torch.Tensor, inp: dict[str, torch.Tensor]) -> None:
    cache[1:3, 2] = inp["new"]


def _position(cache: torch.Tensor, inp: dict[str, torch.Tensor]) -> None:
    cache[inp["at"]] = inp["new"].sum()


@pytest.mark.parametrize("write", [_slice, _position])
def test_export(write: Callable[..., None]) -> None:
    cache = torch.zeros(4, 5)

    def step(inp: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        write(cache, inp)
        return {"y": cache + inp["new"].sum() + inp["at"].sum()}

    sample = {"new": torch.ones(2), "at": torch.tensor([3])}
    exported = export(step, sample, tensor_names=lambda tensor: None, training=False)
    kinds = {node.op_type for node in exported.model.graph.node}
    assert "ScatterND" not in kinds and len(exported.updates) == 1
