"""Names of tensors: a weak side table, so that naming neither keeps a tensor alive nor changes the tensor (mlsdk.md 7).

The table is the one piece of state that `set_tensor_name` needs by its signature.  It is keyed by identity: a copy,
a view or a deep copy of a named tensor has no name.
"""

from __future__ import annotations

from collections.abc import MutableMapping

import torch
from torch.utils.weak import WeakTensorKeyDictionary

from compiler.frontend.errors import TensorNameError

_names: MutableMapping[torch.Tensor, str] = WeakTensorKeyDictionary()


def set_tensor_name(tensor: torch.Tensor, name: str) -> None:
    """Give `tensor` a name; a later call replaces it.  Graph values and registered values are called by it.

    Raises TensorNameError for something that is not a tensor or a name that is not a non-empty string.
    """
    if not isinstance(tensor, torch.Tensor):
        raise TensorNameError(f"only a torch.Tensor can be named, got {type(tensor).__name__}")
    if not isinstance(name, str) or not name:
        raise TensorNameError(f"a tensor name is a non-empty string, got {name!r}")
    _names[tensor] = name


def get_tensor_name(tensor: torch.Tensor) -> str | None:
    """The name given by `set_tensor_name`, or None."""
    return _names.get(tensor)
