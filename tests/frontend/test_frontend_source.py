"""Which frames count as the user's."""

from __future__ import annotations

import json
import os

import onnx_ir
import pytest
import torch

from compiler.frontend import source
from compiler.frontend.source import current_line, line_of_error

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(source.__file__))))


@pytest.mark.parametrize(
    ("file", "mine"),
    [
        (__file__, True),
        (onnx_ir.__file__, True),
        (f"{_ROOT}/mlsdk/examples/mnist.py", True),
        (torch.nn.Linear.__init__.__code__.co_filename, False),
        (json.__file__, False),
        (source.__file__, False),
        (f"{_ROOT}/fx2onnx/linter.py", False),
        (f"{_ROOT}/mlsdk/optimizers.py", False),
        ("<string>", False),
    ],
)
def test_user_files(file: str, mine: bool) -> None:
    assert source._is_user(file) is mine


def test_current_line_and_error_line() -> None:
    line = current_line()
    assert line is not None and line.text == "line = current_line()"
    assert line.short == f"test_frontend_source.py:{line.line}"
    try:
        json.loads("{")
    except ValueError as error:
        found = line_of_error(error.__traceback__)
    assert found is not None and found.text == 'json.loads("{")'
    assert str(found).startswith(f"{__file__}:{found.line}, in test_current_line")


def test_no_user_code() -> None:
    assert line_of_error(None) is None
