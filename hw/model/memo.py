"""A memo keyed by the identity of an object, dropped with the object."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class IdentityMemo(Generic[K, V]):
    """Remembers `compute(key)` as long as `key` lives; for immutable keys whose own hash would cost too much."""

    def __init__(self, compute: Callable[[K], V]) -> None:
        self._compute = compute
        self._values: dict[int, tuple[weakref.ref[K], V]] = {}
        self._lock = threading.Lock()

    def __call__(self, key: K) -> V:
        """The remembered or new value."""
        identity = id(key)
        with self._lock:
            found = self._values.get(identity)
        if found is not None and found[0]() is key:
            return found[1]
        value = self._compute(key)
        with self._lock:
            self._values[identity] = (weakref.ref(key, lambda _: self._values.pop(identity, None)), value)
        return value
