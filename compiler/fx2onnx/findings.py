"""What can be said about a function without running it: its signature and the Python values it takes from outside."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

_FROZEN_TYPES = (bool, int, float, complex, str, list, dict, set)


def signature_problem(function: Callable[..., Any], args: Sequence[Any]) -> str:
    """Why `function(*args)` is not one mapping in, or an empty string."""
    if len(args) != 1:
        return f"a step function takes one mapping of names to tensors; the sample has {len(args)} arguments"
    if not isinstance(args[0], Mapping):
        return f"a step function takes one mapping of names to tensors, not {type(args[0]).__name__}"
    try:
        inspect.signature(function).bind(args[0])
    except TypeError as error:
        return f"a step function takes one mapping of names to tensors: {error}"
    except ValueError:
        return ""  # a callable written in C has no signature to look at
    return ""


def frozen_objects(function: Callable[..., Any]) -> Iterator[tuple[str, str]]:
    """(name, type) of the plain Python values among the function's globals and closure variables."""
    try:
        variables = inspect.getclosurevars(function)
    except TypeError:
        return  # not a Python function
    for name, value in {**variables.globals, **variables.nonlocals}.items():
        if isinstance(value, _FROZEN_TYPES):
            yield name, type(value).__name__
