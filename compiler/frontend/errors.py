"""Errors of the exporter: each is a FrontendError and names the user's source line when there is one."""

from __future__ import annotations

from compiler.frontend.source import SourceLine


class FrontendError(Exception):
    """Base of all export errors.

    Attributes: `source` = the user's line or None, `hint` = what to do instead (may be empty).
    """

    def __init__(self, message: str, *, source: SourceLine | None = None, hint: str = "") -> None:
        text = message
        if source is not None:
            text += f"\n  at {source}"
        if hint:
            text += f"\n  hint: {hint}"
        super().__init__(text)
        self.text = text
        self.source = source
        self.hint = hint

    def __str__(self) -> str:
        return self.text


class InputError(FrontendError):
    """The sample is not a mapping of names to dense tensors."""


class MissingInputError(FrontendError, KeyError):
    """The function read a key that the sample does not have.  Also a KeyError, for functions that catch those."""


class OutputError(FrontendError):
    """The function did not return a mapping of names to tensors."""


class DynamicShapeError(FrontendError):
    """An operation has a result whose shape depends on values; shapes are static on the device."""


class DataDependentError(FrontendError):
    """A Python value was made from a tensor's contents (`.item()`, `if tensor:`), so the trace cannot go on."""


class UnsupportedOperatorError(FrontendError):
    """An ATen operator has no translation to ONNX.  `operator` is its name, e.g. `aten.nonzero.default`."""

    def __init__(self, operator: str, message: str, *, source: SourceLine | None = None, hint: str = "") -> None:
        super().__init__(message, source=source, hint=hint)
        self.operator = operator


class MutationError(FrontendError):
    """A tensor was changed in place where the change cannot be carried back, e.g. an input of the function."""


class TensorNameError(FrontendError):
    """Two tensors claim one name, or a name is not usable."""


class TraceError(FrontendError):
    """The function itself failed while it was traced; the original exception is `__cause__`."""
