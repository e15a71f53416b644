"""Programs and tensors on a simulated board: who owns which DRAM, and when data moves."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from compiler.graph.mntype import MNType
from hw.program import Program, Step
from runtime.app import App
from runtime.backend import DeviceFunction, DeviceTensor
from runtime.board_device import BoardDevice
from runtime.board_tensor import BoardTensor
from runtime.dram import Extent
from runtime.errors import AppFileError, DevicePoisonedError, ExecutionError
from runtime.locks import BoardLock
from runtime.observing import observing
from runtime.relocate import only_read
from tests.runtime.boards import OTHER_LAYOUT, SHAPE, SLOT, copy_app, spec


@pytest.fixture
def device() -> BoardDevice:
    return BoardDevice("emu2", None)


def numbers(seed: int) -> torch.Tensor:
    """Values that half precision holds exactly."""
    return torch.from_numpy(np.random.default_rng(seed).integers(-512, 512, SHAPE).astype(np.float32) / 64)


IDENTITY = copy_app({"x": spec("x", 0)}, {"y": spec("y", SLOT)}, scratch=20 * SLOT)


def test_a_call_moves_data_through_the_chip(device: BoardDevice) -> None:
    function = device.load_function(IDENTITY, {})
    result = function({"x": numbers(0)})["y"]
    assert result.shape == SHAPE and result.dtype == torch.float32
    assert torch.equal(result.fetch(), numbers(0))


def test_results_survive_later_calls(device: BoardDevice) -> None:
    function = device.load_function(IDENTITY, {})
    results = [function({"x": numbers(seed)})["y"] for seed in range(3)]
    for seed, result in enumerate(results):
        assert torch.equal(result.fetch(), numbers(seed))


def test_results_outlive_the_function(device: BoardDevice) -> None:
    function = device.load_function(IDENTITY, {})
    result = function({"x": numbers(0)})["y"]
    del function
    gc.collect()
    other = device.load_function(IDENTITY, {})
    other({"x": numbers(1)})
    assert torch.equal(result.fetch(), numbers(0))


def test_dram_is_given_back(device: BoardDevice) -> None:
    memory = device.executor.memory
    function = device.load_function(IDENTITY, {})
    held = memory.used
    for seed in range(5):
        kept = function({"x": numbers(seed)})["y"]
    del kept
    gc.collect()
    allocated = function.allocate_input("x")  # allocation collects what was given up
    assert memory.used <= held + SLOT
    del allocated, function
    gc.collect()
    device.load_function(IDENTITY, {})
    assert memory.used <= held + SLOT


def test_programs_share_a_board(device: BoardDevice) -> None:
    """Both were compiled for the same addresses; the second one is moved."""
    first, second = device.load_function(IDENTITY, {}), device.load_function(IDENTITY, {})
    a, b = first({"x": numbers(0)})["y"], second({"x": numbers(1)})["y"]
    assert torch.equal(a.fetch(), numbers(0)) and torch.equal(b.fetch(), numbers(1))


def test_results_feed_other_programs_without_the_host(device: BoardDevice) -> None:
    first = device.load_function(IDENTITY, {})
    half = device.load_function(copy_app({"x": spec("x", 0)}, {"y": spec("y", SLOT)}), {})
    other = device.load_function(copy_app({"x": spec("x", 0, OTHER_LAYOUT)}, {"y": spec("y", SLOT, OTHER_LAYOUT)}), {})
    result = first({"x": numbers(0)})["y"]
    assert torch.equal(half({"x": result})["y"].fetch(), numbers(0))
    assert torch.equal(other({"x": result})["y"].fetch(), numbers(0))  # through another layout
    assert torch.equal(first({"x": result})["y"].fetch(), numbers(0))  # its own result


def called(device: BoardDevice, function: DeviceFunction, x: torch.Tensor | DeviceTensor) -> tuple[Any, list[str]]:
    """The result of a call, and what is copied inside DRAM on the way."""
    seen: list[str] = []
    token = observing.set(lambda name, begin, end: seen.append(name))
    result = function({"x": x})["y"]
    observing.reset(token)
    device.wait()
    return result, seen


def test_a_program_is_moved_to_what_it_reads(device: BoardDevice) -> None:
    first, second = device.load_function(IDENTITY, {}), device.load_function(IDENTITY, {})
    for seed in range(3):  # a pipeline; the buffer between the programs is the same every time
        middle = first({"x": numbers(seed)})["y"]
        result, seen = called(device, second, middle)
        assert not seen
        assert torch.equal(result.fetch(), numbers(seed)) and torch.equal(middle.fetch(), numbers(seed))
        del result
    other = device.load_function(copy_app({"x": spec("x", 0, OTHER_LAYOUT)}, {"y": spec("y", SLOT, OTHER_LAYOUT)}), {})
    _, seen = called(device, other, first({"x": numbers(7)})["y"])
    assert seen == ["copy inside DRAM: x"]  # another layout


def test_a_loop_reads_results_where_they_are(device: BoardDevice) -> None:
    """Results that a call reads keep their place, and the new ones go where older ones were."""
    function = device.load_function(IDENTITY, {})
    state = function({"x": numbers(1)})["y"]
    for _ in range(6):
        state, seen = called(device, function, state)
        assert not seen and torch.equal(state.fetch(), numbers(1))
    assert len(function._forms) <= 4
    newer, _ = called(device, function, state)
    _, seen = called(device, function, numbers(2))
    assert seen == ["copy inside DRAM: earlier y"]
    assert torch.equal(state.fetch(), numbers(1)) and torch.equal(newer.fetch(), numbers(1))


def test_allocated_inputs_are_read_where_they_are(device: BoardDevice) -> None:
    function = device.load_function(IDENTITY, {})
    tensors = [function.allocate_input("x") for _ in range(2)]
    for seed in range(4):
        tensors[seed % 2].load(numbers(seed))
        result, seen = called(device, function, tensors[seed % 2])
        assert not seen and torch.equal(result.fetch(), numbers(seed))
        del result


def test_a_program_that_writes_to_its_input_gets_a_copy() -> None:
    program = IDENTITY.program
    assert only_read(program, [Extent(0, SLOT)]) and not only_read(program, [Extent(SLOT, SLOT)])


def test_allocated_inputs(device: BoardDevice) -> None:
    function = device.load_function(IDENTITY, {})
    tensor = function.allocate_input("x")
    assert not tensor.fetch().any()
    tensor.load(numbers(3), clone=False)
    assert torch.equal(function({"x": tensor})["y"].fetch(), numbers(3))


def with_param(layout: str, dtype: MNType = MNType.HALF) -> App:
    specs = {"w": spec("w", 0, layout, dtype)}, {"y": spec("y", SLOT, layout, dtype)}
    return copy_app({}, specs[1], specs[0])


def test_one_parameter_in_several_forms(device: BoardDevice) -> None:
    weight = device.tensor(numbers(0), reference=True)
    layouts = ["((8_L2B:1, 8_L1B:1, 2:1), (16_MAB:1, 4_W:1, 4_PE:1))", OTHER_LAYOUT]
    functions = [device.load_function(with_param(layout), {"w": weight}) for layout in layouts]
    for function in functions:
        assert torch.equal(function({})["y"].fetch(), numbers(0))
    weight.load(numbers(1))
    for function in functions:
        assert torch.equal(function({})["y"].fetch(), numbers(1))
    again = device.load_function(with_param(OTHER_LAYOUT), {"w": weight})  # finds the copy that is there
    assert torch.equal(again({})["y"].fetch(), numbers(1))


def test_references_are_read_at_first_use_only(device: BoardDevice) -> None:
    host = numbers(0)
    weight = device.tensor(host, reference=True)
    function = device.load_function(with_param(OTHER_LAYOUT), {"w": weight})
    host.copy_(numbers(1))
    assert torch.equal(function({})["y"].fetch(), numbers(1))
    host.copy_(numbers(2))
    assert torch.equal(function({})["y"].fetch(), numbers(1))
    assert not weight.changed


def test_load_without_clone_forgets_the_source(device: BoardDevice) -> None:
    weight = device.tensor(numbers(0))
    function = device.load_function(with_param(OTHER_LAYOUT), {"w": weight})
    source = numbers(1)
    weight.load(source, clone=False)
    source.zero_()
    assert torch.equal(weight.fetch(), numbers(1)) and weight.changed
    other = device.load_function(with_param("((8_L2B:1, 8_L1B:1, 2:1), (16_MAB:1, 4_W:1, 4_PE:1))"), {"w": weight})
    for f in (function, other):
        assert torch.equal(f({})["y"].fetch(), numbers(1))


def test_fetch_shows_what_the_device_holds(device: BoardDevice) -> None:
    weight = device.tensor(torch.full(SHAPE, 1 + 2.0**-11))
    assert weight.fetch().max() > 1  # nowhere in DRAM yet
    function = device.load_function(with_param(OTHER_LAYOUT), {"w": weight})
    function({})
    assert weight.fetch().max() == 1


def test_updates_stay_on_the_device(device: BoardDevice) -> None:
    """y = w; w = x"""
    app = copy_app(
        {"x": spec("x", 0)},
        {"w@updated": spec("w@updated", SLOT), "y": spec("y", 2 * SLOT, OTHER_LAYOUT)},
        {"w": spec("w", 3 * SLOT, OTHER_LAYOUT)},
        updates={"w": "w@updated"},
    )
    weight = device.tensor(numbers(0), reference=True)
    function = device.load_function(app, {"w": weight})
    for seed in range(3):
        results = function({"x": numbers(seed + 1)})
        assert set(results) == {"y"}
        assert torch.equal(results["y"].fetch(), numbers(seed))
        assert torch.equal(weight.fetch(), numbers(seed + 1)) and weight.changed


def test_failing_program_poisons_the_device(device: BoardDevice) -> None:
    function = device.load_function(IDENTITY, {})
    stuck = App("vsm", b"", {}, {}, {}, {}, decoded=Program((Step(wait=9, nop=True, line=1),), source="stuck"))
    result = function({"x": numbers(0)})["y"]
    device.load_function(stuck, {})({})
    with pytest.raises(ExecutionError, match="line 1"):
        result.fetch()  # what went wrong is told by the first call that waits
    with pytest.raises(DevicePoisonedError, match="line 1"):
        function({"x": numbers(1)})
    assert torch.equal(result.fetch(), numbers(0))  # what is there can still be inspected


def test_calls_return_before_the_run_and_keep_their_order(device: BoardDevice) -> None:
    """Inputs are read at the call: what the host does to them afterwards cannot show."""
    function = device.load_function(IDENTITY, {})
    x = torch.zeros_like(numbers(0))
    results = []
    for _ in range(40):
        results.append(function({"x": x})["y"])
        x += 1
    for number, result in enumerate(results):
        assert torch.equal(result.fetch(), torch.full_like(x, number))


def test_boards_account_for_time(tmp_path: Path) -> None:
    with BoardLock(tmp_path, 0) as lock:
        board = BoardDevice("mncore2:0", lock)
        function = board.load_function(IDENTITY, {})
        assert function.cycles is not None and function.cycles > 4 * SLOT / 16
        function({"x": numbers(0)})
        function({"x": numbers(1)})
        assert board.executor.busy_cycles == 2 * function.cycles
    assert BoardDevice("emu2", None).load_function(IDENTITY, {}).cycles is None


def test_programs_of_pfvm_are_refused(device: BoardDevice) -> None:
    with pytest.raises(AppFileError, match="compiled for a pfvm device"):
        device.load_function(App("onnx", b"", {}, {}, {}, {}), {})


def test_tensors_of_other_devices_are_accepted(device: BoardDevice) -> None:
    elsewhere = BoardDevice("emu2", None).tensor(numbers(5))
    assert isinstance(elsewhere, BoardTensor)
    function = device.load_function(IDENTITY, {})
    assert torch.equal(function({"x": elsewhere})["y"].fetch(), numbers(5))
