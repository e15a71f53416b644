"""State that stays on the chip between calls, views of results as inputs, several models and contexts at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import torch

from mlsdk import Context, MNDevice, TensorProxy, set_tensor_name, set_tensor_name_in_module

Inputs = Mapping[str, torch.Tensor]
Outputs = dict[str, torch.Tensor]


@pytest.fixture(scope="module")
def device() -> MNDevice:
    return MNDevice("emu2")


@pytest.fixture
def context(device: MNDevice) -> Context:
    return Context(device)


def whole_numbers(*shape: int, seed: int = 0) -> torch.Tensor:
    """Small whole numbers: sums and products of them are exact in every format."""
    return torch.randint(-3, 4, shape, generator=torch.Generator().manual_seed(seed)).float()


def buffer(context: Context, contents: torch.Tensor, name: str = "buffer") -> torch.Tensor:
    """A registered buffer."""
    set_tensor_name(contents, name)
    context.register_buffer(contents)
    return contents


def test_gradients_accumulate_over_calls_without_zero_grad(context: Context, tmp_path: Path) -> None:
    """The way of fine-tuning with a host optimizer (mlsdk.md 6): sums go down, weights and zeros go up."""
    model = torch.nn.Linear(12, 5, bias=False)
    with torch.no_grad():
        model.weight.copy_(whole_numbers(5, 12))
    set_tensor_name(model.weight, "model@weight")
    context.register_param(model.weight)
    model.weight.grad = torch.nn.Parameter(torch.zeros(5, 12))
    gradient = buffer(context, model.weight.grad, "model@weight@grad")

    def step(inp: Inputs) -> Outputs:
        loss = (model(inp["x"]) * inp["y"]).sum()
        loss.backward()
        return {"loss": loss}

    x, y = whole_numbers(3, 7, 12, seed=1), whole_numbers(3, 7, 5, seed=2)
    compiled = context.compile(step, {"x": x[0], "y": y[0]}, tmp_path / "f", quiet=True)
    assert not gradient.any()  # tracing changed nothing
    for number in range(3):
        loss = compiled({"x": x[number], "y": y[number]})["loss"].item()
        assert loss == (x[number] @ model.weight.T * y[number]).sum().item()
    context.synchronize()
    assert torch.equal(gradient, torch.einsum("nbo,nbi->oi", y, x))

    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=False)
    for tensor in (model.weight, gradient):
        context.get_registered_value_proxy(tensor).load_from(tensor, clone=False)
    assert compiled({"x": x[0], "y": y[0]})["loss"].item() == (x[0] @ model.weight.T * y[0]).sum().item()
    context.synchronize()
    assert torch.equal(gradient, y[0].T @ x[0])


def test_statistics_of_a_batch_norm(context: Context, tmp_path: Path) -> None:
    norm, twin = torch.nn.BatchNorm1d(6), torch.nn.BatchNorm1d(6)
    context.registry.register("norm", norm)
    compiled = context.compile(
        lambda inp: {"y": norm(inp["x"])}, {"x": torch.zeros(9, 6)}, tmp_path / "f", quiet=True
    )
    for seed in range(3):
        x = torch.randn(9, 6, generator=torch.Generator().manual_seed(seed))
        torch.testing.assert_close(compiled({"x": x})["y"].cpu(), twin(x).detach(), atol=1e-4, rtol=1e-4)
    context.synchronize()
    assert norm.num_batches_tracked == 3  # an integer that is updated in place
    torch.testing.assert_close(norm.running_mean, twin.running_mean, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(norm.running_var, twin.running_var, atol=1e-5, rtol=1e-4)


def test_cache_that_shifts_by_slices(context: Context, tmp_path: Path) -> None:
    cache = buffer(context, torch.zeros(2, 6, 4))

    def step(inp: Inputs) -> Outputs:
        cache.copy_(torch.cat([cache[:, 1:], inp["new"]], dim=1))
        return {"sum": cache.sum(1)}

    news = whole_numbers(8, 2, 1, 4)
    compiled = context.compile(step, {"new": news[0]}, tmp_path / "f", quiet=True)
    for number, new in enumerate(news):
        sums = compiled({"new": new})["sum"].cpu()
        assert torch.equal(sums, news[max(0, number - 5) : number + 1].sum(0)[:, 0])
    assert not cache.any()  # the host's copy changes only by synchronize
    context.synchronize()
    assert torch.equal(cache, news[2:, :, 0].transpose(0, 1))
    context.get_registered_value_proxy(cache).load_from(cache.zero_(), clone=False)
    assert torch.equal(compiled({"new": news[0]})["sum"].cpu(), news[0][:, 0])


def test_cache_written_at_a_fixed_place(context: Context, tmp_path: Path) -> None:
    cache = buffer(context, whole_numbers(3, 8))

    def step(inp: Inputs) -> Outputs:
        cache[:, 2:4] = inp["new"]
        cache[1] += 1.0
        return {"y": cache * 2.0}

    expected = cache.clone()
    new = whole_numbers(3, 2, seed=1)
    compiled = context.compile(step, {"new": new}, tmp_path / "f", quiet=True)
    for _ in range(2):
        expected[:, 2:4] = new
        expected[1] += 1.0
        assert torch.equal(compiled({"new": new})["y"].cpu(), expected * 2)
    context.synchronize()
    assert torch.equal(cache, expected)


@pytest.mark.parametrize("way", ["index_copy", "index_put", "scatter"])
def test_cache_written_where_an_input_says(context: Context, tmp_path: Path, way: str) -> None:
    cache = buffer(context, whole_numbers(3, 8))

    def step(inp: Inputs) -> Outputs:
        if way == "index_copy":
            cache.index_copy_(1, inp["at"], inp["new"])
        elif way == "index_put":
            cache[:, inp["at"]] = inp["new"]
        else:
            cache.scatter_(1, inp["at"].reshape(1, 1).expand(3, 1), inp["new"])
        return {"y": cache + 0.0}

    expected = cache.clone()
    compiled = context.compile(step, {"at": torch.zeros(1, dtype=torch.int64), "new": torch.zeros(3, 1)},
                               tmp_path / "f", quiet=True)  # fmt: skip
    for at in (5, 0, 7):
        new = whole_numbers(3, 1, seed=at)
        expected[:, at : at + 1] = new
        assert torch.equal(compiled({"at": torch.tensor([at]), "new": new})["y"].cpu(), expected)
    context.synchronize()
    assert torch.equal(cache, expected)


Write = Callable[[torch.Tensor, Inputs], object]
SEVERAL: dict[str, Write] = {
    "index_copy": lambda cache, inp: cache.index_copy_(1, inp["at"], inp["new"]),
    "in every row": lambda cache, inp: cache.__setitem__((slice(None), inp["at"]), inp["new"]),
    "one for each row": lambda cache, inp: cache.__setitem__((torch.arange(3), inp["at"]), inp["new"][:, 0]),
    "scatter": lambda cache, inp: cache.scatter_(1, (inp["at"] + torch.arange(3)[:, None]) % 8, inp["new"]),
    "added": lambda cache, inp: cache.index_add_(1, inp["at"], inp["new"]),
    "with a step": lambda cache, inp: cache.__setitem__((slice(None), slice(1, 6, 2)), inp["new"]),
}


@pytest.mark.parametrize(
    "way",
    ["in every row", "one for each row", "with a step"]
    + [pytest.param(way, marks=pytest.mark.slow) for way in ("index_copy", "scatter", "added")],
)
def test_cache_written_at_several_places(context: Context, tmp_path: Path, way: str) -> None:
    cache = buffer(context, whole_numbers(3, 8))
    expected = cache.clone()

    def step(inp: Inputs) -> Outputs:
        SEVERAL[way](cache, inp)
        return {"y": cache + 0.0}

    sample = {"at": torch.zeros(3, dtype=torch.int64), "new": torch.zeros(3, 3)}
    compiled = context.compile(step, sample, tmp_path / "f", quiet=True)
    for at in ([5, 0, 7], [1, 3, 2]):
        inputs = {"at": torch.tensor(at), "new": whole_numbers(3, 3, seed=at[0])}
        SEVERAL[way](expected, inputs)
        assert torch.equal(compiled(inputs)["y"].cpu(), expected)
    context.synchronize()
    assert torch.equal(cache, expected)


def test_views_of_results_are_inputs(context: Context, tmp_path: Path) -> None:
    """Splits, chunks, slices, transpositions and views with the rest of a batch behind them."""
    double = context.compile(lambda i: {"y": i["x"] * 2.0}, {"x": torch.zeros(6, 8)}, tmp_path / "f", quiet=True)
    negate = context.compile(lambda i: {"z": -i["v"]}, {"v": torch.zeros(3, 8)}, tmp_path / "g", quiet=True)
    x = whole_numbers(6, 8)
    y = double({"x": x})["y"]
    assert isinstance(y, TensorProxy)
    views = {
        "split": (y.split(3)[1], 2 * x[3:]),
        "chunk": (y.chunk(2)[0], 2 * x[:3]),
        "slice": (y[1:4], 2 * x[1:4]),
        "steps": (y[::2], 2 * x[::2]),
        "view": (y.view(2, 3, 8)[1], 2 * x[3:]),
        "transposed": (y.detach().reshape(8, 6).T[:3], (2 * x).reshape(8, 6).T[:3]),
        "expanded": (y[:1].expand(3, 8), 2 * x[:1].expand(3, 8)),
        "torch.cat": (torch.cat([y[:1], y[4:]]), 2 * x[[0, 4, 5]]),
    }
    for name, (view, wanted) in views.items():
        assert torch.equal(negate({"v": view})["z"].cpu(), -wanted), name
    values, indices = torch.topk(y, 2)
    assert torch.equal(values, (2 * x).topk(2)[0]) and indices.shape == (6, 2)
    assert torch.allclose(y, 2 * x)  # type: ignore[arg-type]


def _applied(model: torch.nn.Module) -> Callable[[Inputs], Outputs]:
    return lambda inp: {"y": model(inp["x"])}


def test_models_of_equal_names_in_two_contexts(device: MNDevice, tmp_path: Path) -> None:
    """Contexts on one board and on another do not see each other's tensors; two prefixes share a context."""
    contexts = [Context(device), Context(device), Context(MNDevice("emu2"))]
    compiled, weights = [], []
    for number, context in enumerate(contexts):
        model = torch.nn.Linear(8, 4, bias=False)
        with torch.no_grad():
            model.weight.copy_(whole_numbers(4, 8, seed=number))
        set_tensor_name_in_module(model, "model")
        context.register_param(model.weight)
        weights.append(model.weight)
        sample = {"x": torch.zeros(2, 8)}
        compiled.append(context.compile(_applied(model), sample, tmp_path / str(number), quiet=True))
    x = whole_numbers(2, 8, seed=9)
    for _ in range(2):
        for function, weight in zip(compiled, weights, strict=True):
            assert torch.equal(function({"x": x})["y"].cpu(), (x @ weight.T).detach())
    contexts[0].invalidate()
    assert torch.equal(compiled[1]({"x": x})["y"].cpu(), (x @ weights[1].T).detach())
