"""Llama models cut into stages that are compiled one by one (mlsdk.md 13).

A model is known by the attributes that the classes of Hugging Face have: `model.embed_tokens`, `model.rotary_emb`,
`model.layers`, `model.norm` and `lm_head`.  Stages share the model's parameters; each takes and gives named tensors.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from mlsdk.errors import ModelStructureError
from mlsdk.experimental.llm.kv_cache import LegacyCache, kv_cache_to_legacy

_PARTS = ("embed_tokens", "rotary_emb", "layers", "norm")


def split_llama(model: nn.Module, n_stages: int) -> list[nn.Module]:
    """`FirstStage`, n_stages - 2 of `MiddleStage` with equal shares of the decoder layers, and
    `LastStage`.  The last middle stage may have fewer layers.

    Raises ModelStructureError for a model without the attributes above or a number of stages that leaves one empty.
    """
    inner = getattr(model, "model", None)
    missing = [f"model.{part}" for part in _PARTS if not hasattr(inner, part)]
    missing += [] if hasattr(model, "lm_head") else ["lm_head"]
    if inner is None or missing:
        raise ModelStructureError(f"{type(model).__name__} is no Llama model: it has no {', '.join(missing)}")
    layers = list(inner.layers)
    if n_stages < 3:
        raise ModelStructureError(f"n_stages must be 3 or more (embedding, decoder layers, head), got {n_stages}")
    size = -(-len(layers) // (n_stages - 2))
    groups = [layers[start : start + size] for start in range(0, len(layers), size)]
    if len(groups) != n_stages - 2:
        raise ModelStructureError(
            f"{len(layers)} layers over {n_stages - 2} stages, {size} in each, leave stages empty; use n_stages="
            f"{len(groups) + 2}"
        )
    middle = [MiddleStage(group, number * size) for number, group in enumerate(groups)]
    head: Any = model.lm_head
    return [FirstStage(inner.embed_tokens, inner.rotary_emb), *middle, LastStage(inner.norm, head)]


class FirstStage(nn.Module):
    """Embedding of the tokens and of their positions."""

    def __init__(self, embed_tokens: nn.Module, rotary_emb: nn.Module) -> None:
        super().__init__()
        self.embed_tokens = embed_tokens
        self.rotary_emb = rotary_emb

    def forward(self, input_ids: torch.Tensor, position_ids: torch.Tensor) -> dict[str, torch.Tensor]:
        """Both (batch, length) -> hidden_states_out (batch, length, hidden) and position_embeddings_{cos,sin}_out.
        """
        hidden_states = self.embed_tokens(input_ids)
        cos, sin = self.rotary_emb(hidden_states, position_ids)
        return {
            "hidden_states_out": hidden_states,
            "position_embeddings_cos_out": cos,
            "position_embeddings_sin_out": sin,
        }


class MiddleStage(nn.Module):
    """Decoder layers.  `first`: the number of the first one in the whole model."""

    def __init__(self, layers: Sequence[nn.Module], first: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)
        self._first = first

    def forward(
        self,
        hidden_states: torch.Tensor,
        position_embeddings_cos: torch.Tensor,
        position_embeddings_sin: torch.Tensor,
        attention_mask: torch.Tensor,
        position_ids: torch.Tensor,
        past_key_values: LegacyCache | torch.Tensor | None = None,
    ) -> dict[str, Any]:
        """past_key_values: pairs of this stage's layers, or the tensor of them.

        Gives hidden_states_out and past_key_values_out, the pairs with the new keys and values behind the old ones.
        """
        if isinstance(past_key_values, torch.Tensor):
            past_key_values = kv_cache_to_legacy(past_key_values)
        cache = StageCache(self._first, past_key_values or ())
        for layer in self.layers:
            given = {
                "attention_mask": attention_mask,
                "position_ids": position_ids,
                "past_key_value": cache,
                "past_key_values": cache,
                "use_cache": True,
                "position_embeddings": (position_embeddings_cos, position_embeddings_sin),
            }
            result = layer(hidden_states, **_accepted(layer, given))
            hidden_states = result if isinstance(result, torch.Tensor) else result[0]
        return {"hidden_states_out": hidden_states, "past_key_values_out": cache.to_legacy_cache()}


class LastStage(nn.Module):
    """Final norm and head."""

    def __init__(self, norm: nn.Module, lm_head: nn.Module) -> None:
        super().__init__()
        self.norm = norm
        self.lm_head = lm_head

    def forward(self, hidden_states: torch.Tensor) -> dict[str, torch.Tensor]:
        """(batch, length, hidden) -> logits (batch, length, vocabulary)."""
        return {"logits": self.lm_head(self.norm(hidden_states))}


class StageCache:
    """What attention layers ask of a cache, for the layers of one stage, which keep their numbers in the model."""

    def __init__(self, first: int, pairs: LegacyCache) -> None:
        self._pairs = {first + number: pair for number, pair in enumerate(pairs)}

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, layer_idx: int, cache_kwargs: Any = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append to the cache of a layer and return all of it; cache_kwargs: of no use for a plain cache."""
        full = key_states, value_states
        if layer_idx in self._pairs:
            key, value = self._pairs[layer_idx]
            full = torch.cat([key, key_states], dim=-2), torch.cat([value, value_states], dim=-2)
        self._pairs[layer_idx] = full
        return full

    def get_seq_length(self, layer_idx: int = 0) -> int:
        """Length of the cache of a layer, 0 before its first update."""
        return self._pairs[layer_idx][0].shape[-2] if layer_idx in self._pairs else 0

    def to_legacy_cache(self) -> LegacyCache:
        """The pairs in the order of the layers."""
        return tuple(self._pairs[number] for number in sorted(self._pairs))


def _accepted(layer: nn.Module, given: dict[str, Any]) -> dict[str, Any]:
    """The arguments that a decoder layer takes by name; the name of the cache differs between versions."""
    parameters = inspect.signature(layer.forward).parameters
    cache = "past_key_value" if "past_key_value" in parameters else "past_key_values"
    takes_all = any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values())
    return {name: value for name, value in given.items() if name in parameters or (takes_all and name == cache)}
