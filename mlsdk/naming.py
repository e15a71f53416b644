"""Names of tensors: how graphs and the registry of a context tell them apart (mlsdk.md 7)."""

from __future__ import annotations

import torch

from compiler.frontend import tensor_names
from compiler.frontend.errors import TensorNameError
from mlsdk.errors import RegistrationError
from mlsdk.optimizers import MNCoreOptimizer


def set_tensor_name(t: torch.Tensor, name: str) -> None:
    """Give the tensor object a name; a later call replaces it.  Raises RegistrationError for an unusable name.

    A copy or a view of the tensor is another object and has no name.
    """
    try:
        tensor_names.set_tensor_name(t, name)
    except TensorNameError as error:
        raise RegistrationError(str(error)) from error


def get_tensor_name(t: torch.Tensor) -> str | None:
    """The name of the tensor object, or None."""
    return tensor_names.get_tensor_name(t)


def set_tensor_name_in_module(module: torch.nn.Module, prefix: str) -> None:
    """Name every parameter and buffer of the module `<prefix>@<path>`, with `_` for the dots of the path.

    A tensor that several places of the module share is named once, by its first place.  Raises RegistrationError if two
    tensors would get one name.
    """
    taken: dict[str, str] = {}
    for path, tensor in (*module.named_parameters(), *module.named_buffers()):
        name = f"{prefix}@{path.replace('.', '_')}"
        if name in taken:
            raise RegistrationError(f"{taken[name]!r} and {path!r} of the module would both be named {name!r}")
        taken[name] = path
        set_tensor_name(tensor, name)


def set_buffer_name_in_optimizer(opt: MNCoreOptimizer, prefix: str) -> None:
    """Name every state tensor of a device optimizer `<prefix>@<parameter>@<state>`, and the rate `<prefix>@lr`.

    The parameter is called by its tensor name, or by its number where it has none.  Raises RegistrationError for an
    optimizer of another kind: its state does not exist before the first step.
    """
    if not isinstance(opt, MNCoreOptimizer):
        raise RegistrationError(
            f"{prefix!r}: expected a device optimizer such as MNCoreSGD, got {type(opt).__name__}, which makes its "
            "state at its first step"
        )
    parameters = [p for group in opt.param_groups for p in group["params"]]
    owners = {id(p): get_tensor_name(p) or str(number) for number, p in enumerate(parameters)}
    for name, p, tensor in opt.state_tensors():
        set_tensor_name(tensor, f"{prefix}@{name}" if p is None else f"{prefix}@{owners[id(p)]}@{name}")
