"""Reads by index tensors and cuts become operators that every device has; fused layers of torch have gradients."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from compiler.frontend import export
from compiler.frontend.indexing import RULES
from compiler.pfvm import PfvmProgram, optimize

_aten = torch.ops.aten


def test_indices_along_any_axes() -> None:
    x, rule = torch.randn(3, 5, 4, 2), RULES[_aten.index.Tensor]
    rows, columns = torch.tensor([0, 2, -1]), torch.tensor([[1], [-2]])
    places: list[list[Tensor | None]] = [
        [rows],
        [None, columns],
        [rows, columns],
        [None, columns, columns * 0 + 1],
        [rows, None, columns],
        [None, None, torch.tensor(2)],
    ]
    for where in places:
        assert torch.equal(rule(x, where), _aten.index.Tensor(x, where))
    assert rule(x, [x[..., 0, 0] > 0]) is NotImplemented


@pytest.mark.parametrize("offset", [0, 1, -2, 4, 9, -9])
def test_diagonals(offset: int) -> None:
    x = torch.randn(2, 5, 4)
    assert torch.equal(RULES[_aten.diagonal.default](x, offset, 1, 2), torch.diagonal(x, offset, 1, 2))
    assert torch.equal(RULES[_aten.diagonal.default](x, offset, -1, 0), torch.diagonal(x, offset, -1, 0))


def _cut_by_sizes(inp: dict[str, Tensor]) -> Tensor:
    return torch.cat(inp["x"].split([1, 3, 2], 1)[::-1], 1)


def _chunks_one_by_one(inp: dict[str, Tensor]) -> Tensor:
    return F.silu(inp["x"].chunk(2, -1)[0]) * inp["x"].chunk(2, -1)[1]


def _uneven_chunks(inp: dict[str, Tensor]) -> Tensor:
    return inp["x"].split(4, 1)[-1]


def _pairs(inp: dict[str, Tensor]) -> Tensor:
    return inp["x"][torch.arange(5), inp["i"]]


def _causal_attention(inp: dict[str, Tensor]) -> Tensor:
    x = inp["x"].view(1, 5, 6).requires_grad_()
    return F.scaled_dot_product_attention(x, x * 2, x + 1, is_causal=True)


_CELL = nn.LSTM(6, 3, batch_first=True)


def _recurrent(inp: dict[str, Tensor]) -> Tensor:
    result: Tensor = _CELL(inp["x"].view(1, 5, 6))[0]
    return result


@pytest.mark.parametrize(
    "read", [_cut_by_sizes, _chunks_one_by_one, _uneven_chunks, _pairs, _causal_attention, _recurrent]
)
def test_exported_and_optimised_models_give_torchs_values(read: Callable[..., Tensor]) -> None:
    sample = {"x": torch.randn(5, 6), "i": torch.tensor([0, 5, 2, 2, 1])}
    exported = export(lambda inp: {"y": read(inp)}, sample)
    kinds = {node.op_type for node in exported.model.graph.node}
    assert not kinds & {"SplitToSequence", "SequenceAt", "GatherND"}
    feeds = {name: sample[name] for name in exported.inputs}
    feeds |= {name: tensor.detach() for name, tensor in exported.params.items()}
    got = PfvmProgram(optimize(exported.model))(feeds)["y"]
    torch.testing.assert_close(got, read(sample).detach(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("module", [nn.MultiheadAttention(4, 2, batch_first=True), nn.GRU(4, 4, batch_first=True)])
def test_gradients_of_layers_that_torch_fuses(module: nn.Module) -> None:
    sample = {"x": torch.randn(2, 3, 4)}

    def step(inp: dict[str, Tensor]) -> dict[str, Tensor]:
        module.zero_grad()
        x = inp["x"].detach().requires_grad_()
        inputs = (x, x, x) if isinstance(module, nn.MultiheadAttention) else (x,)
        module(*inputs)[0].square().sum().backward()
        assert x.grad is not None
        return {"gradient": x.grad}

    exported = export(step, sample)
    feeds = sample | {name: tensor.detach() for name, tensor in exported.params.items()}
    got = PfvmProgram(optimize(exported.model))(feeds)["gradient"]
    torch.testing.assert_close(got, step(sample)["gradient"], rtol=1e-4, atol=1e-5)
