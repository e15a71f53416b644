"""Context and CompiledFunction on pfvm:cpu, which needs the exporter and PFVM only."""

from __future__ import annotations

import gc
import inspect
import json
import logging
import os
from collections import UserDict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import onnx
import pytest
import torch

from mlsdk import (
    CacheOptions,
    CompiledFunction,
    Context,
    IOSpec,
    MNDevice,
    TensorProxy,
    set_tensor_name_in_module,
    trace_scope,
)
from mlsdk import codegen_dir as codegen_module
from mlsdk.errors import (
    AppFileError,
    CompileError,
    CompileOptionError,
    ContextClosedError,
    DTypeMismatchError,
    MissingInputError,
    RegistrationError,
    ShapeMismatchError,
    UnknownInputError,
)

X, Y = torch.arange(12.0).reshape(3, 4), torch.ones(3, 4)
SAMPLE = {"x": X, "y": Y, "unused": torch.zeros(1)}


def add(inp: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {"sum": inp["x"] + inp["y"], "large": inp["x"].sum() > 3}


@pytest.fixture(scope="module")
def context() -> Context:
    return Context(MNDevice("pfvm:cpu"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compiled") / "add"


@pytest.fixture(scope="module")
def compiled(context: Context, folder: Path) -> CompiledFunction:
    return context.compile(add, SAMPLE, folder)


def test_signature_is_the_published_one() -> None:
    names = (
        "self function inputs codegen_dir options cache_options num_compiler_threads quiet training export_kwargs "
        "optimizers io_spec_constraints"
    )
    parameters = inspect.signature(Context.compile).parameters
    assert list(parameters) == names.split()
    assert all(p.kind is p.KEYWORD_ONLY for p in list(parameters.values())[4:])
    assert parameters["training"].default is True and parameters["options"].default is None


def test_call(compiled: CompiledFunction) -> None:
    result = compiled({"x": X, "y": Y})
    assert list(result) == ["sum", "large"] and all(isinstance(value, TensorProxy) for value in result.values())
    assert torch.equal(result["sum"].cpu(), X + 1) and result["large"].item() is True
    result["extra"] = result["sum"]  # the mapping belongs to the caller


def test_specs(compiled: CompiledFunction) -> None:
    assert compiled.input_specs["x"] == IOSpec("x", (3, 4), torch.float32)
    assert set(compiled.input_specs) == {"x", "y"} and set(compiled.output_specs) == {"sum", "large"}
    assert compiled.output_specs["large"].dtype == torch.bool
    assert compiled.output_specs["sum"].is_memcopyable_to(compiled.input_specs["y"])


def test_proxies_and_mappings_as_inputs(compiled: CompiledFunction) -> None:
    first = compiled({"x": X, "y": Y})["sum"]
    assert torch.equal(compiled(UserDict(SAMPLE | {"x": first}))["sum"].cpu(), X + 2)
    proxies = compiled.allocate_input_proxy()
    assert set(proxies) == {"x", "y"} and not proxies["x"].cpu().any()
    proxies["x"].load_from(X, clone=False)
    proxies["y"] = first
    assert torch.equal(compiled(proxies)["sum"].cpu(), 2 * X + 1)


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        ({"x": X}, MissingInputError, r"input 'y' is missing \(inputs are 'x', 'y'\)"),
        ({"x": X, "y": Y, "z": Y}, UnknownInputError, "unknown input 'z'"),
        ({"x": X, "yy": Y}, UnknownInputError, "did you mean 'y'"),
        ({"x": X.T, "y": Y}, ShapeMismatchError, r"input 'x': expected shape \(3, 4\), got \(4, 3\)"),
        ({"x": X.double(), "y": Y}, DTypeMismatchError, r"input 'x': expected torch.float32, got torch.float64"),
        ({"x": [1.0], "y": Y}, DTypeMismatchError, "expected a torch tensor or a TensorProxy, got list"),
        ([X, Y], MissingInputError, "expected a mapping"),
    ],
)
def test_bad_calls(compiled: CompiledFunction, inputs: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        compiled(inputs)


def test_artifacts(compiled: CompiledFunction, folder: Path) -> None:
    assert {p.name for p in folder.iterdir()} == {
        "model.onnx",
        "pfvm.onnx",
        "option.json",
        "model.app",
        "artifacts.json",
        "CLOG.log",
    }
    for name in ("model.onnx", "pfvm.onnx"):
        assert [value.name for value in onnx.load(folder / name).graph.output] == ["sum", "large"]
    assert "--scheduler=reuse_consecutive" in json.loads((folder / "option.json").read_text())["args"]
    assert os.listdir(folder.parent) == ["add"]


def test_load_codegen_dir(compiled: CompiledFunction, folder: Path) -> None:
    loaded = Context(MNDevice("pfvm:cpu")).load_codegen_dir(str(folder))
    assert torch.equal(loaded(SAMPLE)["sum"].cpu(), X + 1)
    assert loaded.input_specs == compiled.input_specs


def test_load_codegen_dir_errors(context: Context, compiled: CompiledFunction, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(AppFileError, match=r"no model\.app in"):
        context.load_codegen_dir(tmp_path)
    (tmp_path / "model.app").write_bytes((folder / "model.app").read_bytes()[:-100])
    with pytest.raises(AppFileError, match="truncated"):
        context.load_codegen_dir(tmp_path)
    with pytest.raises(AppFileError, match="compiled for a pfvm device"):
        Context(MNDevice("emu2")).load_codegen_dir(folder)


class TestOptions:
    """Options, option files and other arguments of compile."""

    def test_unknown_option(self, context: Context, tmp_path: Path) -> None:
        with pytest.raises(CompileOptionError, match="did you mean 'scheduler'"):
            context.compile(add, SAMPLE, tmp_path / "c", options={"schedular": "spill_opt"})
        assert os.listdir(tmp_path) == []

    @pytest.mark.parametrize("content", [None, b"", b"{", b"[]", b'{"args": ["--nonsense=1"]}', b"\xff\xfe"])
    def test_bad_option_file(self, context: Context, tmp_path: Path, content: bytes | None) -> None:
        file = tmp_path / "option.json"
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(CompileOptionError, match=r"option\.json|nonsense"):
            context.compile(add, SAMPLE, tmp_path / "c", options={"option_json": str(file)})
        assert not (tmp_path / "c").exists()

    def test_out_onnx(self, context: Context, tmp_path: Path) -> None:
        file = tmp_path / "option.json"
        file.write_text(json.dumps({"args": [f"--out_onnx={tmp_path}/elsewhere/opt.onnx"]}))
        context.compile(add, SAMPLE, tmp_path / "c", options={"option_json": str(file)}, quiet=True)
        copy, original = tmp_path / "elsewhere" / "opt.onnx", tmp_path / "c" / "pfvm.onnx"
        assert copy.read_bytes() == original.read_bytes()
        again = {"option_json": str(tmp_path / "c" / "option.json"), "out_onnx": str(original)}
        context.compile(add, SAMPLE, tmp_path / "c", options=again, quiet=True)
        assert original.exists()

    def test_out_onnx_that_cannot_be_written(self, context: Context, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(CompileOptionError, match="out_onnx: cannot write"):
            context.compile(add, SAMPLE, tmp_path / "c", options={"out_onnx": str(tmp_path / "file" / "x")})

    def test_external_data(self, context: Context, tmp_path: Path) -> None:
        weight = torch.randn(64, 64)
        options = {"envs": {"MNCORE_USE_EXTERNAL_DATA_FORMAT": "1"}}
        f = context.compile(
            lambda i: {"y": i["x"] @ weight}, {"x": torch.zeros(2, 64)}, tmp_path / "c", options=options
        )
        assert (tmp_path / "c" / "model.onnx.data").stat().st_size >= weight.nbytes
        x = torch.randn(2, 64)
        torch.testing.assert_close(f({"x": x})["y"].cpu(), x @ weight)
        loaded = context.load_codegen_dir(tmp_path / "c")
        torch.testing.assert_close(loaded({"x": x})["y"].cpu(), x @ weight)

    def test_other_arguments(self, context: Context, tmp_path: Path) -> None:
        context.compile(add, SAMPLE, tmp_path / "c", export_kwargs={"use_fx2onnx": True}, num_compiler_threads=2)
        assert "--num_threads=2" in json.loads((tmp_path / "c" / "option.json").read_text())["args"]
        for kwargs, message in (
            ({"export_kwargs": {"use_fx2onnx": False}}, "legacy exporter"),
            ({"export_kwargs": {"use_fx2onx": True}}, "did you mean 'use_fx2onnx'"),
            ({"optimizers": [torch.optim.SGD]}, "no optimizer is registered"),
        ):
            with pytest.raises(CompileOptionError, match=message):
                context.compile(add, SAMPLE, tmp_path / "c", **kwargs)

    def test_io_spec_constraints(self, context: Context, compiled: CompiledFunction, tmp_path: Path) -> None:
        same = {"x": compiled.output_specs["sum"], "sum": compiled.input_specs["x"]}
        context.compile(add, SAMPLE, tmp_path / "c", io_spec_constraints=same)
        with pytest.raises(CompileError, match="'x' became"):
            context.compile(add, SAMPLE, tmp_path / "c", io_spec_constraints={"x": compiled.output_specs["large"]})
        with pytest.raises(CompileError, match="'z' is no input or output"):
            context.compile(add, SAMPLE, tmp_path / "c", io_spec_constraints={"z": compiled.output_specs["sum"]})


class TestFailures:
    """A failed or interrupted compilation changes nothing."""

    def test_error_in_the_function(self, context: Context, tmp_path: Path) -> None:
        def wrong(inp: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
            return {"y": inp["x"] @ inp["x"]}

        with pytest.raises(CompileError) as caught:
            context.compile(wrong, {"x": torch.zeros(2, 3)}, tmp_path / "c")
        assert caught.value.__cause__ is not None and os.listdir(tmp_path) == []

    @pytest.mark.parametrize("crash", [RuntimeError, KeyboardInterrupt])
    def test_interrupt_keeps_the_earlier_result(
        self, context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crash: type[BaseException]
    ) -> None:
        target = tmp_path / "c"
        context.compile(add, SAMPLE, target)
        before = {p.name: p.read_bytes() for p in target.iterdir()}

        def stop(stage: Path, fingerprint: str) -> None:
            assert (stage / "model.app").exists()  # nearly done
            raise crash("stop")

        monkeypatch.setattr("mlsdk.compilation.write_listing", stop)
        with pytest.raises(crash):
            context.compile(lambda i: {"z": i["x"] * 2}, SAMPLE, target)
        assert {p.name: p.read_bytes() for p in target.iterdir()} == before
        with pytest.raises(crash):
            context.compile(add, SAMPLE, tmp_path / "new")
        assert os.listdir(tmp_path) == ["c"]

    def test_target_that_is_a_file(self, context: Context, tmp_path: Path) -> None:
        (tmp_path / "c").write_text("mine")
        with pytest.raises(CompileError, match="not a folder"):
            context.compile(add, SAMPLE, tmp_path / "c")
        with pytest.raises(CompileError, match="cannot write artifacts"):
            context.compile(add, SAMPLE, tmp_path / "c" / "d")
        assert (tmp_path / "c").read_text() == "mine"

    def test_other_artifacts_are_replaced_with_a_notice(
        self, context: Context, tmp_path: Path, caplog: pytest.LogCaptureFixture
    ) -> None:
        target = tmp_path / "c"
        context.compile(add, SAMPLE, target)
        (target / "notes.txt").write_text("mine")
        stale = target / "l3ir.txt"
        stale.write_text("from a board")
        (target / codegen_module.LISTING).unlink()
        codegen_module.write_listing(target, "another")
        (target / "notes.txt").write_text("mine, changed")
        with caplog.at_level(logging.WARNING, "mlsdk"):
            context.compile(add, SAMPLE, target)
            assert "different compilation" in caplog.text
            caplog.clear()
            context.compile(add, SAMPLE, target)
            assert not caplog.text
        assert not stale.exists()


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = torch.nn.Linear(4, 2, bias=False)
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.calls += 1  # type: ignore[operator]
        return self.linear(x)


@pytest.fixture(scope="module")
def net_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("registered") / "net"


class TestRegisteredTensors:
    """Tensors that live on the device (mlsdk.md 3.4, 6)."""

    def compile(self, net: Net, net_folder: Path) -> tuple[Context, CompiledFunction]:
        context = Context(MNDevice("pfvm:cpu"))
        set_tensor_name_in_module(net, "net")
        for tensor in (*net.parameters(), *net.buffers()):
            context.register_param(tensor)
        return context, context.compile(lambda inp: {"y": net(inp["x"])}, {"x": X}, net_folder, quiet=True)

    def test_state_lives_on_the_device(self, net_folder: Path) -> None:
        net = Net()
        with torch.no_grad():
            net.linear.weight.fill_(1)
        context, f = self.compile(net, net_folder)
        assert net.calls.item() == 0  # tracing computes nothing
        buffer = net.calls
        for _ in range(3):
            assert torch.equal(f({"x": X})["y"].cpu(), X.sum(1, keepdim=True).expand(3, 2))
        assert net.calls.item() == 0
        assert context.get_registered_value_proxy(net.calls).item() == 3
        context.synchronize()
        assert net.calls.item() == 3 and net.calls is buffer
        net.calls.zero_()
        context.get_registered_value_proxy(net.calls).load_from(net.calls, clone=False)
        f({"x": X})
        context.synchronize()
        assert net.calls.item() == 1

    def test_parameters_are_sent_when_first_needed(self, net_folder: Path) -> None:
        net = Net()
        context, f = self.compile(net, net_folder)
        with torch.no_grad():
            net.linear.weight.fill_(2)
        assert torch.equal(f({"x": Y})["y"].cpu(), torch.full((3, 2), 8.0))
        with torch.no_grad():
            net.linear.weight.fill_(3)
        assert torch.equal(f({"x": Y})["y"].cpu(), torch.full((3, 2), 8.0))
        context.get_registered_value_proxy(net.linear.weight).load_from(net.linear.weight)
        assert torch.equal(f({"x": Y})["y"].cpu(), torch.full((3, 2), 12.0))

    def test_functions_of_a_context_share_state(self, net_folder: Path, tmp_path: Path) -> None:
        net = Net()
        context, f = self.compile(net, net_folder)
        read = context.compile(lambda inp: {"calls": net.calls + inp["zero"]}, {"zero": torch.zeros(1)}, tmp_path / "r")
        f({"x": X})
        f({"x": X})
        assert read({"zero": torch.zeros(1)})["calls"].item() == 2

    def test_unregistered_state_stays_with_the_function(self, tmp_path: Path) -> None:
        net = Net()
        context = Context(MNDevice("pfvm:cpu"))
        f = context.compile(lambda inp: {"c": net.calls + 0 * net(inp["x"]).sum()}, {"x": X}, tmp_path / "c")
        assert [f({"x": X})["c"].item() for _ in range(3)] == [1, 2, 3]
        context.synchronize()
        assert net.calls.item() == 0
        with pytest.raises(RegistrationError, match="not registered"):
            context.get_registered_value_proxy(net.calls)

    def test_load_codegen_dir_before_and_after_registration(self, net_folder: Path) -> None:
        with torch.no_grad():
            net = Net()
            net.linear.weight.fill_(1)
            self.compile(net, net_folder)
            other = Net()
            other.linear.weight.fill_(5)
        set_tensor_name_in_module(other, "net")
        before, after = Context(MNDevice("pfvm:cpu")), Context(MNDevice("pfvm:cpu"))
        before.registry.register("net", other)
        first = before.load_codegen_dir(net_folder)
        second = after.load_codegen_dir(net_folder)
        assert torch.equal(second({"x": Y})["y"].cpu(), torch.full((3, 2), 4.0))  # as compiled
        after.registry.register("net", other)
        for f in (first, second):
            assert torch.equal(f({"x": Y})["y"].cpu(), torch.full((3, 2), 20.0))

    def test_training_step_on_the_device(self, tmp_path: Path) -> None:
        torch.manual_seed(0)
        net, reference = torch.nn.Linear(4, 2), torch.nn.Linear(4, 2)
        reference.load_state_dict(net.state_dict())
        context = Context(MNDevice("pfvm:cpu"))
        context.registry.register("net", net)
        optimizer = torch.optim.SGD(net.parameters(), 0.01)
        other = torch.optim.SGD(reference.parameters(), 0.01)

        def step(model: torch.nn.Module, sgd: torch.optim.SGD, x: torch.Tensor) -> dict[str, torch.Tensor]:
            sgd.zero_grad()
            loss = (model(x) ** 2).sum()
            loss.backward()
            sgd.step()
            return {"loss": loss}

        f = context.compile(lambda inp: step(net, optimizer, inp["x"]), {"x": X}, tmp_path / "c")
        for _ in range(3):
            expected = step(reference, other, X)["loss"].item()
            assert f({"x": X})["loss"].item() == pytest.approx(expected, rel=1e-5)
        context.synchronize()
        for ours, theirs in zip(net.parameters(), reference.parameters(), strict=True):
            torch.testing.assert_close(ours, theirs)


class TestLifetime:
    """Current and invalidated contexts."""

    def test_current_context(self) -> None:
        one, two = Context(MNDevice("pfvm:cpu")), Context(MNDevice("pfvm:cpu"))
        Context.switch_context(one)
        assert Context.current() is one
        Context.switch_context(two)
        assert Context.current() is two
        two.invalidate()
        assert Context.current() is None
        forgotten = Context(MNDevice("pfvm:cpu"))
        assert Context.current() is forgotten
        del forgotten
        gc.collect()
        assert Context.current() is None

    def test_invalidate(self, folder: Path, compiled: CompiledFunction) -> None:
        context = Context(MNDevice("pfvm:cpu"))
        f = context.load_codegen_dir(folder)
        kept = f(SAMPLE)["sum"]
        context.invalidate()
        for action in (
            lambda: f(SAMPLE),
            f.allocate_input_proxy,
            context.synchronize,
            lambda: context.load_codegen_dir(folder),
            lambda: context.register_param(X),
        ):
            with pytest.raises(ContextClosedError):
                action()
        assert torch.equal(kept.cpu(), X + 1)


def test_app_cache(context: Context, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = CacheOptions(str(tmp_path / "cache"), enable_app_cache=True)
    context.compile(add, SAMPLE, tmp_path / "a", cache_options=cache)
    monkeypatch.setattr("mlsdk.compilation.build_app", None)  # must not be called any more
    f = context.compile(add, SAMPLE, tmp_path / "b", cache_options=cache)
    assert torch.equal(f(SAMPLE)["sum"].cpu(), X + 1)
    for name in os.listdir(tmp_path / "a"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    with pytest.raises(TypeError):
        context.compile(lambda i: {"z": i["x"]}, SAMPLE, tmp_path / "c", cache_options=cache)
    with pytest.raises(TypeError):
        off = CacheOptions(tmp_path / "cache", enable_app_cache=False)
        context.compile(add, SAMPLE, tmp_path / "b", cache_options=off)


def test_trace_of_calls(compiled: CompiledFunction, tmp_path: Path) -> None:
    with trace_scope(tmp_path / "t.json"):
        compiled(SAMPLE)["sum"].cpu()
    names = [event["name"] for event in json.loads((tmp_path / "t.json").read_text())["traceEvents"]]
    assert names == ["call add", "device to host sum"]


def test_copies_are_in_the_trace(tmp_path: Path) -> None:
    context = Context(MNDevice("emu2"))
    step = context.compile(lambda i: {"y": i["x"] + 1.0}, {"x": torch.zeros(4, 4)}, tmp_path / "f", quiet=True)
    with trace_scope(tmp_path / "t.json"):
        first = step({"x": torch.zeros(4, 4)})["y"]
        second = step({"x": torch.ones(4, 4)})["y"]  # `first` is still wanted
        assert first.cpu().sum() == 16 and second.cpu().sum() == 32
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert [event["name"] for event in events if event["cat"] == "device"] == ["copy inside DRAM: earlier y"]
