"""Key/value caches as one tensor (layers, 2, batch, kv_heads, length, head_dim), which a compiled function can take and
give (mlsdk.md 13).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import torch

from mlsdk.errors import CacheStructureError, ShapeMismatchError
from mlsdk.proxy import TensorLike

LegacyCache = tuple[tuple[torch.Tensor, torch.Tensor], ...]


def kv_cache_to_tensor(cache: Any) -> torch.Tensor:
    """Stack a cache into one tensor.

    cache: pairs (key, value), one for each layer, or an object that holds them: with `to_legacy_cache()`, with lists
    `key_cache` and `value_cache`, with `layers` whose members have `keys` and `values`, or with members that have `key`
    and `value` (PLaMo's).  Raises CacheStructureError for anything else.
    """
    pairs = [torch.stack([key, value]) for key, value in _pairs(cache)]
    if not pairs:
        raise CacheStructureError("the cache is empty: it has no layer yet")
    return torch.stack(pairs)


def kv_cache_to_legacy(tensor: TensorLike) -> LegacyCache:
    """The pairs (key, value) of all layers, each (batch, kv_heads, length, head_dim).  Raises ShapeMismatchError."""
    _check(tensor)
    return tuple((layer[0], layer[1]) for layer in tensor)


def kv_cache_to_plamo(tensor: TensorLike) -> PlamoCache:
    """The cache in the form in which PLaMo's attention layers use it.  Raises ShapeMismatchError."""
    return PlamoCache(kv_cache_to_legacy(tensor))


class PlamoAttentionCache:
    """Key and value of one layer, each (batch, kv_heads, length, head_dim)."""

    def __init__(self, key: torch.Tensor, value: torch.Tensor) -> None:
        self.key = key
        self.value = value


class PlamoCache:
    """What PLaMo's layers ask of a cache; PLaMo's own class comes with its models and is not needed."""

    def __init__(self, pairs: Iterable[tuple[torch.Tensor, torch.Tensor]]) -> None:
        self.cache = [PlamoAttentionCache(key, value) for key, value in pairs]

    def __len__(self) -> int:
        return len(self.cache)

    def __getitem__(self, layer_idx: int) -> PlamoAttentionCache:
        return self.cache[layer_idx]

    def __iter__(self) -> Iterator[PlamoAttentionCache]:
        return iter(self.cache)

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Length of the cache of a layer."""
        return self.cache[layer_idx].key.shape[2]

    def append_kv(
        self, key: torch.Tensor, value: torch.Tensor, layer_idx: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """The layer's cache with new keys and values behind it; the cache itself stays as it is."""
        held = self.cache[layer_idx]
        return torch.cat([held.key, key], dim=2), torch.cat([held.value, value], dim=2)

    def update_attention(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """`append_kv`, kept."""
        full = self.append_kv(key_states, value_states, layer_idx)
        self.cache[layer_idx] = PlamoAttentionCache(*full)
        return full


def _pairs(cache: Any) -> list[tuple[torch.Tensor, torch.Tensor]]:
    if hasattr(cache, "to_legacy_cache"):
        cache = cache.to_legacy_cache()
    elif hasattr(cache, "key_cache") and hasattr(cache, "value_cache"):
        cache = zip(cache.key_cache, cache.value_cache, strict=True)
    elif hasattr(cache, "layers"):
        cache = [(layer.keys, layer.values) for layer in cache.layers]
    if not isinstance(cache, Iterable):
        raise CacheStructureError(f"expected pairs (key, value) of all layers or a cache, got {type(cache).__name__}")
    return [_pair(layer, number) for number, layer in enumerate(cache)]


def _pair(layer: Any, number: int) -> tuple[torch.Tensor, torch.Tensor]:
    if hasattr(layer, "key") and hasattr(layer, "value"):
        return layer.key, layer.value
    if isinstance(layer, (tuple, list)) and len(layer) == 2:
        return layer[0], layer[1]
    raise CacheStructureError(f"layer {number} of the cache: expected (key, value), got {type(layer).__name__}")


def _check(tensor: TensorLike) -> None:
    if len(tensor.shape) != 6 or tensor.shape[1] != 2:
        raise ShapeMismatchError(
            "expected a cache of shape (layers, 2, batch, kv_heads, length, head_dim), got "
            f"{tuple(tensor.shape)}"
        )
