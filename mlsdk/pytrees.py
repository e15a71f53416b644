"""Containers of tensors: class decorators that let `compile_automap` look inside own types (mlsdk.md 12), and the names
of the tensors inside a container.

Tuples, lists, dicts and their nestings need no decorator.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

from torch.utils import _pytree

from mlsdk.errors import PytreeError

_Class = TypeVar("_Class", bound=type)


def register_pytree_namedtuple(cls: _Class) -> _Class:
    """Class decorator: instances of this named tuple are containers.  Raises PytreeError for another class."""
    if not (isinstance(cls, type) and issubclass(cls, tuple) and hasattr(cls, "_fields")):
        raise PytreeError(f"register_pytree_namedtuple: expected a named tuple class, got {cls!r}")
    return cls


def register_pytree_dataclass(cls: _Class) -> _Class:
    """Class decorator, to stand above `@dataclass`: its fields are looked into.

    Raises PytreeError for another class.
    """
    if not (isinstance(cls, type) and dataclasses.is_dataclass(cls)):
        raise PytreeError(f"register_pytree_dataclass: expected a dataclass, got {cls!r}; put it above @dataclass")
    if cls not in _pytree.SUPPORTED_NODES:
        _pytree.register_dataclass(cls)
    return cls


class Structure:
    """The shape of a container: which leaves are tensors, under which names, and what the other leaves are.

    Names are the path joined by `_`, e.g. `args_0_x`, below `prefix` if there is one.  `is_tensor(leaf)` tells tensors
    from values that are fixed.
    """

    def __init__(self, tree: Any, prefix: str, is_tensor: Callable[[object], bool]) -> None:
        leaves, self._spec = _pytree.tree_flatten_with_path(tree)
        self._is_tensor = is_tensor
        self._names: list[str | None] = []
        self._fixed: list[Any] = []
        for path, leaf in leaves:
            name = "_".join([*([prefix] if prefix else []), *map(_step, path)])
            self._names.append(name if is_tensor(leaf) else None)
            self._fixed.append(None if is_tensor(leaf) else leaf)

    @property
    def names(self) -> list[str]:
        """Names of the tensors in order."""
        return [name for name in self._names if name is not None]

    def flatten(self, tree: Any, what: str) -> dict[str, Any]:
        """The tensors of a container of this structure by name.  Raises PytreeError when it has another one."""
        leaves, spec = _pytree.tree_flatten(tree)
        if spec != self._spec:
            raise PytreeError(f"{what} have the structure {spec}, compiled for {self._spec}")
        found: dict[str, Any] = {}
        for name, fixed, leaf in zip(self._names, self._fixed, leaves, strict=True):
            if name is not None:
                found[name] = leaf
            elif self._is_tensor(leaf) or leaf != fixed:
                raise PytreeError(f"{what}: the value {leaf!r} was {fixed!r} when the function was compiled")
        return found

    def unflatten(self, tensors: Mapping[str, Any]) -> Any:
        """A container of this structure with `tensors[name]` at its tensor leaves."""
        pairs: Iterator[tuple[str | None, Any]] = zip(self._names, self._fixed, strict=True)
        return _pytree.tree_unflatten([fixed if name is None else tensors[name] for name, fixed in pairs], self._spec)


def _step(key: Any) -> str:
    for attribute in ("key", "idx", "name"):
        if hasattr(key, attribute):
            return str(getattr(key, attribute)).replace(".", "_")
    return str(key)
