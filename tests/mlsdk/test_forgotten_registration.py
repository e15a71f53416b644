"""What is not registered, or is no tensor or mapping, is said and not passed over."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

import pytest
import torch

from mlsdk import Context, MNDevice, set_tensor_name_in_module, storage
from mlsdk.errors import CompileError, RegistrationError


@pytest.mark.parametrize("registered", [False, True])
def test_statistics_that_nobody_brings_back_are_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, registered: bool
) -> None:
    norm = torch.nn.BatchNorm1d(3)
    context = Context(MNDevice("pfvm:cpu"))
    set_tensor_name_in_module(norm, "norm")
    for tensor in (*norm.parameters(), *(norm.buffers() if registered else ())):
        context.register_param(tensor)

    def step(inp: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        return {"y": norm(inp["x"])}

    with caplog.at_level(logging.WARNING, "mlsdk"):
        context.compile(step, {"x": torch.zeros(4, 3)}, storage.path(str(tmp_path)))
    notices = [record.getMessage() for record in caplog.records if "not registered" in record.getMessage()]
    assert len(notices) == (not registered)
    assert all("norm@running_mean" in notice and "register_buffer" in notice for notice in notices)


def test_wrong_kinds_are_typed_errors(tmp_path: Path) -> None:
    context = Context(MNDevice("pfvm:cpu"))
    with pytest.raises(RegistrationError, match="expected a tensor, got int"):
        context.register_param(3)  # type: ignore[arg-type]
    with pytest.raises(CompileError, match="expected a mapping"):
        context.compile(lambda inp: {}, [torch.zeros(2)], storage.path(str(tmp_path)))  # type: ignore[arg-type]
