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


@pytest.mark.parametrize("bounds", [(0, 7, 2), (1, None, 3), (-3, None, 2), (5, 2, 2), (6, 99, 5)])
def test_slices_with_steps(bounds: tuple[int, int | None, int]) -> None:
    x = torch.randn(7, 3)
    source = torch.randn_like(x[slice(*bounds)])
    operator = _aten.slice_scatter.default
    assert torch.equal(RULES[operator](x, source, 0, *bounds), operator(x, source, 0, *bounds))


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


@pytest.mark.parametrize("accumulate", [False, True])
def test_positions_along_several_axes(accumulate: bool) -> None:
    x, put = torch.randn(3, 5, 4, 2), _aten.index_put.default
    rows, columns = torch.tensor([0, 2, -1]), torch.tensor([[1], [-2]])
    places: list[list[torch.Tensor | None]] = [
        [rows, columns],
        [None, columns, columns * 0 + 1],
        [rows, None, columns],
        [None, columns],
    ]
    for where in places:
        values = torch.randn_like(_aten.index.Tensor(x, where))
        if not accumulate and where[0] is rows:
            values = values[:1, :1].expand_as(values)  # places may be equal: then any of the values may stay
        got, want = RULES[put](x, where, values, accumulate), put(x, where, values, accumulate)
        torch.testing.assert_close(got, want, rtol=1e-6, atol=1e-6)


def test_masks_with_one_value() -> None:
    x, put = torch.randn(3, 5, 4), _aten.index_put.default
    for mask in (x > 0, x[..., 0] > 0, x[:, 0, 0] > 0):
        assert torch.equal(RULES[put](x, [mask], torch.tensor(2.5)), put(x, [mask], torch.tensor(2.5)))


def test_gradient_of_a_table() -> None:
    rule, operator = RULES[_aten.embedding_dense_backward.default], _aten.embedding_dense_backward.default
    gradient, index = torch.randn(2, 3, 4), torch.tensor([[0, 4, 4], [1, 4, 0]])
    for padding in (-1, 4):
        given = (gradient, index, 6, padding, False)
        torch.testing.assert_close(rule(*given), operator(*given))


@pytest.mark.parametrize("bounds", [(0, 3, 1), (2, 5, 1), (1, 99, 2), (3, 3, 1)])
@pytest.mark.parametrize("dim", [0, 1, -1])
def test_gradients_of_slices(bounds: tuple[int, int, int], dim: int) -> None:
    shape, operator = (5, 6, 4), _aten.slice_backward.default
    gradient = torch.randn_like(torch.zeros(shape).movedim(dim, 0)[slice(*bounds)].movedim(0, dim))
    assert torch.equal(RULES[operator](gradient, shape, dim, *bounds), operator(gradient, shape, dim, *bounds))
    select, row = _aten.select_backward.default, torch.zeros(shape).select(dim, 1) + 1
    for index in (0, 3, -1):
        assert torch.equal(RULES[select](row, shape, dim, index), select(row, shape, dim, index))


def test_what_is_left_alone() -> None:
    x = torch.zeros(4, 4)
    assert RULES[_aten.index_put.default](x, [x > 0], x[0]) is NotImplemented
    assert RULES[_aten.embedding_dense_backward.default](x, x.long(), 4, -1, True) is NotImplemented


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
