"""Attention masks of static shape, made on the host (mlsdk.md 13)."""

from __future__ import annotations

import torch

from mlsdk.errors import ShapeMismatchError


def prepare_4d_causal_attention_mask_with_cache_position(
    mask_2d: torch.Tensor, position_ids: torch.Tensor, dtype: torch.dtype
) -> torch.Tensor:
    """The additive mask (batch, 1, query, key): 0 where a query sees a key, the lowest value of `dtype` elsewhere.

    mask_2d: integers or bool (batch, key), 0 for the padding on the left.  position_ids: integers (batch, query) or
    (1, query).  The last query stands at the last key, as in a prompt with padding on the left and in a cache that
    shifts; so it does not matter whether positions count the padding.  A query sees the tokens up to its own
    position.  Raises ShapeMismatchError.
    """
    if mask_2d.dim() != 2:
        raise ShapeMismatchError(f"mask_2d: expected (batch, key), got {tuple(mask_2d.shape)}")
    batch, keys = mask_2d.shape
    if position_ids.dim() != 2 or position_ids.shape[0] not in (1, batch):
        raise ShapeMismatchError(
            f"position_ids: expected ({batch}, query) or (1, query), got {tuple(position_ids.shape)}"
        )
    key_positions = position_ids[:, -1:] - torch.arange(keys - 1, -1, -1)
    sees = (key_positions[:, None, :] <= position_ids[:, :, None]) & (mask_2d != 0)[:, None, :]
    return torch.zeros(sees.shape, dtype=dtype).masked_fill(~sees, torch.finfo(dtype).min)[:, None]
