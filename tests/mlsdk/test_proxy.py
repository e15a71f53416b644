"""TensorProxy: what programs do with proxies, on device tensors of pfvm:cpu."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mlsdk import TensorLike, TensorProxy
from mlsdk.errors import DTypeMismatchError, ShapeMismatchError, TensorError
from runtime.pfvm_device import PfvmTensor


def proxy(values: Any) -> TensorProxy:
    return TensorProxy(PfvmTensor(torch.as_tensor(values), torch.device("cpu")), "p")


X = torch.arange(12.0).reshape(3, 4)


def test_basics() -> None:
    p = proxy(X)
    assert p.shape == (3, 4) and isinstance(p.shape, torch.Size) and p.dtype == torch.float32
    assert torch.equal(p.cpu(), X)
    p.cpu().zero_()
    assert torch.equal(p.cpu(), X)  # a new tensor every time
    assert repr(p) == "TensorProxy('p', shape=(3, 4), dtype=torch.float32)"
    assert len(p) == 3 and len(list(p)) == 3


def test_scalars() -> None:
    p = proxy(7)
    assert p.item() == 7 and int(p) == 7 and float(p) == 7.0 and [0] * 8 and list(range(8))[p] == 7
    assert bool(proxy(0)) is False
    assert f"{p}" == "7" and f"{proxy(0.5):.2f}" == "0.50"


def test_there_is_no_device() -> None:
    assert not hasattr(proxy(X), "device")
    with pytest.raises(AttributeError, match="cpu"):
        _ = proxy(X).device
    with pytest.raises(AttributeError):
        _ = proxy(X).nonsense


@pytest.mark.parametrize(
    "operation",
    [
        lambda p: p + 1,
        lambda p: 1 + p,
        lambda p: X + p,
        lambda p: p + X,
        lambda p: p - p,
        lambda p: 2 * p,
        lambda p: p / 3,
        lambda p: 3 / (p + 1),
        lambda p: p // 2,
        lambda p: p % 5,
        lambda p: p**2,
        lambda p: 2**p,
        lambda p: p @ X.T,
        lambda p: X.T @ p,
        lambda p: -p,
        lambda p: abs(p),
        lambda p: p > 3,
        lambda p: p == X,
        lambda p: p != 0,
        lambda p: p[:, -2:],
        lambda p: p[1],
        lambda p: p[torch.tensor(1)],
        lambda p: p[..., 0],
        lambda p: p.view(4, 3),
        lambda p: p.detach(),
        lambda p: p.sum(0),
        lambda p: p.T,
        lambda p: p.split(2)[1],
        lambda p: p.chunk(2)[0],
        lambda p: torch.cat([p, X, p]),
        lambda p: torch.topk(p, 2).values,
        lambda p: torch.max(p, 1)[1],
        lambda p: torch.where(p > 2, p, -p),
        lambda p: torch.nn.functional.relu(p - 5),
    ],
)
def test_stands_for_a_tensor(operation: Any) -> None:
    expected = operation(X)
    result = operation(proxy(X))
    assert isinstance(result, torch.Tensor) and result.dtype == expected.dtype
    assert torch.equal(result, expected)


def test_allclose_and_numpy() -> None:
    assert torch.allclose(proxy(X), X)
    assert torch.allclose(X, proxy(X))
    np.testing.assert_array_equal(np.asarray(proxy(X)), X.numpy())
    assert np.asarray(proxy(X), dtype=np.float64).dtype == np.float64


def test_accumulation_as_in_training_loops() -> None:
    loss: Any = 0.0
    for step in range(3):
        loss += (proxy(3.0) - loss) / (step + 1)
    assert float(loss) == 3.0


def test_masked_assignment() -> None:
    p = proxy(X)
    p[p > 5] = -1.0
    assert torch.equal(p.cpu(), torch.where(X > 5, -1.0, X))
    p[0, 1:3] = torch.tensor([8.0, 9.0])
    assert p[0].tolist() == [0, 8, 9, 3]
    view = p.detach()
    view[view < 0] = 0
    assert view.min() == 0 and p.cpu().min() == -1


def test_load_from() -> None:
    p = proxy(X)
    source = X + 1
    p.load_from(source)
    source.zero_()
    assert torch.equal(p.cpu(), X + 1)
    p.load_from(proxy(X * 2), clone=False)
    assert torch.equal(p.cpu(), X * 2)
    p.load_from(torch.nn.Parameter(X))
    assert not p.cpu().requires_grad


def test_load_from_checks_shape_and_dtype() -> None:
    p = proxy(X)
    with pytest.raises(ShapeMismatchError, match=r"expected shape \(3, 4\), got \(4, 3\)"):
        p.load_from(X.T)
    with pytest.raises(DTypeMismatchError, match=r"expected torch.float32, got torch.float64.*\.to\(torch.float32\)"):
        p.load_from(X.double())
    with pytest.raises(DTypeMismatchError, match="expected a torch tensor or a TensorProxy, got list"):
        p.load_from([1, 2])  # type: ignore[arg-type]
    with pytest.raises(TensorError):
        p.load_from(proxy(X.T))
    assert torch.equal(p.cpu(), X)


def test_tensor_like_names_both() -> None:
    assert isinstance(X, TensorLike) and isinstance(proxy(X), TensorLike)


def test_saved_and_copied_proxies_are_tensors(tmp_path: Path) -> None:
    torch.save({"loss": proxy(X)}, tmp_path / "saved.pt")
    for found in (torch.load(tmp_path / "saved.pt")["loss"], copy.deepcopy([proxy(X)])[0], copy.copy(proxy(X))):
        assert type(found) is torch.Tensor and torch.equal(found, X)
