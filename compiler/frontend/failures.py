"""Turns what torch raises inside a trace into the exporter's typed errors, with the user's source line."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedOperatorException,
)

from compiler.frontend.errors import DataDependentError, DynamicShapeError, FrontendError, TraceError
from compiler.frontend.source import line_of_error

# `.numpy()` and `.tolist()` are refused by fake tensors with a plain RuntimeError that carries this text.
_HOST_READ = "not supported for tensor subclasses"

# Said of a real tensor that appears among fake ones.
_UNSEEN = "convert all Tensors to FakeTensors"

# torch logs what it raises anyway, and what it lacks for itself (torchvision).
_LOGGERS = ("torch._subclasses.fake_tensor", "torch.onnx._internal.exporter._registration")


@contextmanager
def quiet_loggers() -> Iterator[None]:
    """Inside, torch's messages about its own affairs stay out of the user's terminal."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=FutureWarning)
            warnings.filterwarnings("ignore", category=DeprecationWarning)
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def typed_errors() -> Iterator[None]:
    """Runs user code; every exception that leaves it is a FrontendError (the original one is its `__cause__`)."""
    try:
        yield
    except FrontendError:
        raise
    except DataDependentOutputException as error:
        raise _data_dependent(error) from error
    except DynamicOutputShapeException as error:
        raise DynamicShapeError(
            f"the shape of the result of {error.func} depends on values; all shapes must be static",
            source=line_of_error(error.__traceback__),
            hint="use a form of fixed size, e.g. torch.where or a mask instead of boolean indexing or nonzero",
        ) from error
    except UnsupportedOperatorException as error:
        raise TraceError(
            f"{error.func} cannot be traced without data", source=line_of_error(error.__traceback__)
        ) from error
    except Exception as error:
        if isinstance(error, RuntimeError) and _HOST_READ in str(error):
            raise _data_dependent(error) from error
        if isinstance(error, AssertionError) and _UNSEEN in str(error):
            raise TraceError(
                "code that autograd calls on the way back reads a tensor that the trace cannot see",
                source=line_of_error(error.__traceback__),
                hint="compile without torch.utils.checkpoint; a device keeps what the backward pass needs. In an own "
                "autograd.Function hand tensors over by save_for_backward",
            ) from error
        raise TraceError(
            f"the function failed while it was traced: {type(error).__name__}: {error}",
            source=line_of_error(error.__traceback__),
        ) from error


def _data_dependent(error: Exception) -> DataDependentError:
    return DataDependentError(
        "a Python value is made from the contents of a tensor; the device program cannot branch on data",
        source=line_of_error(error.__traceback__),
        hint="keep it a tensor: torch.where instead of `if`; no .item(), int(), float(), bool(), .tolist(), .numpy()",
    )
