"""`io_spec_constraints` on the chip: data of one program is read by another as it lies, with the bits of a copy."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from mlsdk import Context, IOSpec, MNDevice, TensorProxy
from mlsdk.compiled import CompiledFunction
from mlsdk.errors import CompileError
from runtime.board_tensor import BoardTensor

SHAPE = (5, 21)  # padded on both axes in every layout
GENERATOR = torch.Generator().manual_seed(0)
X = torch.randn(SHAPE, generator=GENERATOR)
WEIGHT = torch.randn(SHAPE[1], 21, generator=GENERATOR)


@pytest.fixture(scope="module")
def context() -> Context:
    return Context(MNDevice("emu2"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("constraints")


def product(context: Context, folder: Path, **constraints: IOSpec) -> CompiledFunction:
    """Half results in the layout of a matrix product."""
    return context.compile(
        lambda i: {"h": i["x"] @ WEIGHT}, {"x": X}, folder, training=False, quiet=True, io_spec_constraints=constraints
    )


def sums(context: Context, folder: Path, **constraints: IOSpec) -> CompiledFunction:
    """Reads zeros in the padding of a Float input."""
    return context.compile(
        lambda i: {"s": i["v"].sum(1)}, {"v": X}, folder, training=False, quiet=True, io_spec_constraints=constraints
    )


@pytest.fixture(scope="module")
def programs(context: Context, folder: Path) -> tuple[CompiledFunction, CompiledFunction]:
    return product(context, folder / "product"), sums(context, folder / "sums")


def same_as_over_the_host(consumer: CompiledFunction, h: TensorProxy) -> None:
    over_host = consumer({"v": h.cpu()})["s"].cpu()
    assert torch.equal(consumer({"v": h})["s"].cpu(), over_host)
    torch.testing.assert_close(over_host, h.cpu().sum(1), atol=1e-2, rtol=1e-2)


def test_free_programs_differ_and_agree_over_the_host(
    programs: tuple[CompiledFunction, CompiledFunction],
) -> None:
    producer, consumer = programs
    assert not producer.output_specs["h"].is_memcopyable_to(consumer.input_specs["v"])
    same_as_over_the_host(consumer, producer({"x": X})["h"])


@pytest.mark.parametrize("end", ["input", "output"])
def test_constrained_ends_meet_without_the_host(
    programs: tuple[CompiledFunction, CompiledFunction],
    context: Context,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    end: str,
) -> None:
    producer, consumer = programs
    free = consumer({"v": producer({"x": X})["h"].cpu()})["s"].cpu()
    if end == "input":
        consumer = sums(context, tmp_path / "f", v=producer.output_specs["h"])
    else:
        producer = product(context, tmp_path / "f", h=consumer.input_specs["v"])
    given, taken = producer.output_specs["h"], consumer.input_specs["v"]
    assert given.is_memcopyable_to(taken) and (given.layout, given.device_dtype) == (taken.layout, taken.device_dtype)
    h = producer({"x": X})["h"]
    consumer({"v": X})  # sends the parameters of both
    context.synchronize()
    with monkeypatch.context() as patch:
        patch.setattr(BoardTensor, "_host_value", lambda self: pytest.fail("the data took the way over the host"))
        proxy = consumer({"v": h})["s"]
        context.synchronize()
    assert torch.equal(proxy.cpu(), free)
    same_as_over_the_host(consumer, h)


def test_undefined_padding_never_stands_for_zeros(context: Context, tmp_path: Path) -> None:
    """Both programs lay the value alike; x + 1 leaves ones in its padding, the sum needs zeros."""
    shifted = context.compile(lambda i: {"h": i["x"] + 1}, {"x": X}, tmp_path / "f", training=False, quiet=True)
    consumer = sums(context, tmp_path / "g")
    given, taken = shifted.output_specs["h"], consumer.input_specs["v"]
    assert (given.layout, given.device_dtype) == (taken.layout, taken.device_dtype)
    assert given.pad_bits is None and taken.pad_bits == 0
    assert not given.is_memcopyable_to(taken) and taken.is_memcopyable_to(given)
    same_as_over_the_host(consumer, shifted({"x": X})["h"])
    refilled = context.compile(
        lambda i: {"h": i["x"] + 1}, {"x": X}, tmp_path / "h", training=False, quiet=True,
        io_spec_constraints={"h": taken},
    )  # fmt: skip
    assert refilled.output_specs["h"].is_memcopyable_to(taken)
    same_as_over_the_host(consumer, refilled({"x": X})["h"])


def test_what_cannot_agree_is_refused(
    programs: tuple[CompiledFunction, CompiledFunction], context: Context, tmp_path: Path
) -> None:
    spec = programs[1].input_specs["v"]
    other_shape = programs[1].output_specs["s"]
    of_pfvm = IOSpec("v", SHAPE, torch.float32)
    integers = IOSpec("v", SHAPE, torch.float32, "Int", spec.layout, 0)
    for constraints, words in (
        ({"w": spec}, "'w' is no input or output"),
        ({"v": other_shape}, r"'v' has shape \(5, 21\), its spec is for \(5,\)"),
        ({"v": of_pfvm}, "has no layout"),
        ({"v": integers}, "which cannot become Int"),
        ({"v": IOSpec("v", SHAPE, torch.float32, "Float", spec.layout, 5)}, "no padding of Float holds 0x5"),
    ):
        with pytest.raises(CompileError, match=words):
            sums(context, tmp_path / "f", **constraints)
