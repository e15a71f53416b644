"""A call works with what registered tensors hold when it is made, however late the board gets to it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import torch

from mlsdk import Context, MNDevice, set_tensor_name, storage
from runtime.board_tensor import BoardTensor


def test_changes_of_a_registered_tensor_after_the_call_do_not_show(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settle = BoardTensor.settle

    def late(self: BoardTensor, *arguments: object) -> None:
        time.sleep(0.2)
        settle(self, *arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(BoardTensor, "settle", late)
    context = Context(MNDevice("emu2"))
    weight = torch.full((4, 8), 2.0)
    set_tensor_name(weight, "weight")
    context.register_buffer(weight)
    double = context.compile(
        lambda inp: {"y": inp["x"] * weight}, {"x": torch.zeros(4, 8)}, storage.path(str(tmp_path)), training=False
    )
    result = double({"x": torch.ones(4, 8)})["y"]
    weight.fill_(5.0)
    assert torch.equal(result.cpu(), torch.full((4, 8), 2.0))
