"""Torch tensors as the host arrays that transfers work on, and back.  bfloat16 travels as float32: NumPy has none."""

from __future__ import annotations

import numpy as np
import torch


def to_array(tensor: torch.Tensor) -> np.ndarray:
    """The values of a tensor, wherever it lives; shares memory where it can."""
    plain = tensor.detach().cpu().contiguous()
    return (plain.float() if plain.dtype is torch.bfloat16 else plain).numpy()


def to_tensor(array: np.ndarray, dtype: torch.dtype) -> torch.Tensor:
    """A new tensor of `dtype` with the values of `array`."""
    return torch.from_numpy(np.array(array)).to(dtype)
