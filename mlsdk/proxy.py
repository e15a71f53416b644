"""`TensorProxy`: the host's handle of a tensor on the device (mlsdk.md 5).

Any torch operation on a proxy brings the data to the host first and continues there with an ordinary tensor;
passing the proxy itself to a compiled function uses the device's copy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias, Union

import torch
from torch.utils._pytree import tree_map

from mlsdk.errors import DTypeMismatchError, ShapeMismatchError
from mlsdk.tracing import trace_event
from runtime.backend import DeviceTensor


class TensorProxy:
    """A tensor on a device.  Made by compiled functions and contexts, not by programs."""

    def __init__(self, value: DeviceTensor, name: str = "") -> None:
        self._value = value
        self._name = name

    @property
    def shape(self) -> torch.Size:
        """The shape, as of a tensor."""
        return torch.Size(self._value.shape)

    @property
    def dtype(self) -> torch.dtype:
        """The framework's dtype: float32 also where the device keeps half precision (mlsdk.md 17.7)."""
        return self._value.dtype

    def cpu(self) -> torch.Tensor:
        """Wait for the device and bring the contents to a new tensor."""
        with trace_event(f"device to host {self._name}".rstrip()):
            return self._value.fetch()

    def item(self) -> int | float | bool:
        """The value of a one-element tensor as a Python scalar."""
        return self.cpu().item()

    def load_from(self, tensor: TensorLike, clone: bool = True) -> None:
        """Start a copy from `tensor` (a tensor or another proxy) to the device.

        `clone` True copies first, so later changes of `tensor` do no harm; False queues a reference.  Raises
        ShapeMismatchError or DTypeMismatchError if it differs from what the proxy was made for.
        """
        source = tensor.cpu() if isinstance(tensor, TensorProxy) else tensor
        where = f"tensor for {self._name or 'this proxy'}"
        check_tensor(source, self._value.shape, self._value.dtype, where)
        with trace_event(f"host to device {self._name}".rstrip()):
            self._value.load(source.detach(), clone=clone)

    @property
    def device_tensor(self) -> DeviceTensor:
        """The device's side of the proxy (for the runtime; programs have no use for it)."""
        return self._value

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Let proxies stand wherever torch takes a tensor."""
        host_args, host_kwargs = tree_map(_to_host, (args, dict(kwargs or {})))
        return func(*host_args, **host_kwargs)

    def __getattr__(self, name: str) -> Any:
        # `device` is absent on purpose: a proxy has no torch device (mlsdk.md 5).
        if name.startswith("_") or name == "device":
            raise AttributeError(f"a TensorProxy has no attribute {name!r}; .cpu() gives an ordinary tensor")
        return getattr(self.cpu(), name)

    def __getitem__(self, index: Any) -> torch.Tensor:
        return self.cpu()[_to_host_tree(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        contents = self.cpu()
        contents[_to_host_tree(index)] = _to_host(value)
        self.load_from(contents, clone=False)

    def __len__(self) -> int:
        return len(self.cpu())

    def __iter__(self) -> Iterator[torch.Tensor]:
        return iter(self.cpu())

    def __bool__(self) -> bool:
        return bool(self.cpu())

    def __int__(self) -> int:
        return int(self.cpu())

    def __float__(self) -> float:
        return float(self.cpu())

    def __index__(self) -> int:
        return self.cpu().__index__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self.cpu().numpy()
        return array if dtype is None else array.astype(dtype)

    def __reduce_ex__(self, protocol: Any) -> Any:
        # What is saved or copied outlives the device, so it is an ordinary tensor.
        return self.cpu().__reduce_ex__(protocol)

    def __copy__(self) -> torch.Tensor:
        return self.cpu()

    def __deepcopy__(self, memo: Any) -> torch.Tensor:
        return self.cpu()

    def __format__(self, spec: str) -> str:
        return format(self.cpu(), spec)

    def __repr__(self) -> str:
        label = f"{self._name!r}, " if self._name else ""
        return f"TensorProxy({label}shape={tuple(self.shape)}, dtype={self.dtype})"

    # Comparison makes a tensor, as it does for tensors; identity serves as the hash, also as for tensors.
    __hash__ = object.__hash__


TensorLike: TypeAlias = Union[torch.Tensor, TensorProxy]  # noqa: UP007 - a runtime object that programs import


def check_tensor(tensor: object, shape: tuple[int, ...], dtype: torch.dtype, where: str) -> None:
    """Raise the matching error unless `tensor` is a tensor or proxy of that shape and dtype."""
    if not isinstance(tensor, (torch.Tensor, TensorProxy)):
        raise DTypeMismatchError(f"{where}: expected a torch tensor or a TensorProxy, got {type(tensor).__name__}")
    if tuple(tensor.shape) != tuple(shape):
        raise ShapeMismatchError(
            f"{where}: expected shape {tuple(shape)}, got {tuple(tensor.shape)}; shapes are static"
        )
    if tensor.dtype != dtype:
        raise DTypeMismatchError(f"{where}: expected {dtype}, got {tensor.dtype}; convert it with .to({dtype})")


def _to_host(value: Any) -> Any:
    return value.cpu() if isinstance(value, TensorProxy) else value


def _to_host_tree(value: Any) -> Any:
    return tree_map(_to_host, value)


_UNARY = ("neg", "pos", "abs", "invert")
_COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
_ARITHMETIC = (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
)
_REFLECTED = tuple(f"r{name}" for name in _ARITHMETIC)
_OPERATORS = _UNARY + _COMPARISONS + _ARITHMETIC + _REFLECTED


def _operator(name: str) -> Callable[..., Any]:
    def apply(self: TensorProxy, *others: Any) -> Any:
        return getattr(self.cpu(), name)(*map(_to_host, others))

    apply.__name__ = name
    apply.__doc__ = f"As torch.Tensor.{name}, on the host."
    return apply


for _name in _OPERATORS:
    setattr(TensorProxy, f"__{_name}__", _operator(f"__{_name}__"))
