"""Contexts on the simulated chip: compiled programs with real layouts, sharing one board."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
import torch

from mlsdk import CacheOptions, CompiledFunction, Context, MNDevice, TensorProxy, set_tensor_name_in_module
from mlsdk.errors import AppFileError, CompileError, DeviceBusyError, DeviceError, ValueRangeError

BATCH = 125
X = torch.rand(BATCH, 256, generator=torch.Generator().manual_seed(0)) - 0.5
T = torch.arange(BATCH) % 10


class Net(torch.nn.Module):
    """One linear layer whose logits and hits are the outputs of the functions below."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.linear = torch.nn.Linear(256, 10)

    def logits(self, inp: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        return {"y": self.linear(inp["x"])}

    def hits(self, inp: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
        return {"hits": (torch.max(self.linear(inp["x"]), 1)[1] == inp["t"]).sum()}


@pytest.fixture(scope="module")
def net() -> Net:
    return Net()


@pytest.fixture(scope="module")
def context(net: Net) -> Context:
    context = Context(MNDevice("emu2"))
    context.registry.register("net", net)
    return context


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("chip")


@pytest.fixture(scope="module")
def logits(context: Context, net: Net, folder: Path) -> CompiledFunction:
    return context.compile(net.logits, {"x": X}, folder / "logits", training=False)


@pytest.fixture(scope="module")
def hits(context: Context, net: Net, folder: Path) -> CompiledFunction:
    return context.compile(net.hits, {"x": X, "t": T}, folder / "hits", training=False)


def close(y: TensorProxy, net: Net, x: torch.Tensor = X) -> bool:
    return torch.allclose(y.cpu(), net.linear(x), atol=0.02)


def test_values(logits: CompiledFunction, hits: CompiledFunction, net: Net) -> None:
    y = logits({"x": X})["y"]
    assert y.dtype == torch.float32 and y.shape == (BATCH, 10) and close(y, net)
    count = hits({"x": X, "t": T})["hits"]
    assert count.dtype == torch.int64 and count.item() == (y.cpu().argmax(1) == T).sum()


def test_results_and_proxies_move_between_programs(logits: CompiledFunction, hits: CompiledFunction, net: Net) -> None:
    assert logits.input_specs["x"].is_memcopyable_to(hits.input_specs["x"])
    proxies = hits.allocate_input_proxy()
    proxies["x"].load_from(X)
    proxies["t"].load_from(T)
    first = logits({"x": proxies["x"]})["y"]
    second = logits({"x": -X})["y"]
    assert close(first, net) and close(second, net, -X)
    assert hits(proxies)["hits"].item() == (first.cpu().argmax(1) == T).sum()


def test_programs_share_registered_tensors(context: Context, logits: CompiledFunction, hits: CompiledFunction) -> None:
    (net,) = [entry for entry in context.registry if entry.name == "net@linear_weight"]
    host = net.host
    assert host is not None
    kept = host.detach().clone()
    context.get_registered_value_proxy(host).load_from(torch.zeros(10, 256))
    bias_only = logits({"x": X})["y"].cpu()
    assert torch.equal(bias_only, bias_only[:1].expand(BATCH, 10))
    assert hits({"x": X, "t": torch.full((BATCH,), int(bias_only[0].argmax()))})["hits"].item() == BATCH
    assert torch.equal(host, kept)
    context.synchronize()
    assert not host.any()
    with torch.no_grad():
        host.copy_(kept)
    context.get_registered_value_proxy(host).load_from(kept)


def test_artifacts(hits: CompiledFunction, folder: Path) -> None:
    names = {path.name for path in (folder / "hits").iterdir()}
    assert names >= {
        "model.onnx",
        "pfvm.onnx",
        "l3ir.txt",
        "model.vsm",
        "report.json",
        "option.json",
        "trace.json",
        "model.app",
    }
    for name in ("model.onnx", "pfvm.onnx"):
        onnx.checker.check_model(onnx.load(folder / "hits" / name))
    assert hits.report["vsm_cycles"] > 0 and hits.report["host_ops"] == []


def test_integers_that_do_not_fit(hits: CompiledFunction) -> None:
    with pytest.raises(ValueRangeError, match=r"t: element \[3\]"):
        hits({"x": X, "t": torch.where(torch.arange(BATCH) == 3, 2**40, T)})


def test_load_in_a_fresh_process(logits: CompiledFunction, folder: Path, net: Net, tmp_path: Path) -> None:
    torch.save({"x": X}, tmp_path / "x.pt")
    code = (
        "import sys, torch; from mlsdk import Context, MNDevice, storage\n"
        "f = Context(MNDevice('emu2')).load_codegen_dir(storage.path(sys.argv[1]))\n"
        "torch.save(f(torch.load(sys.argv[2]))['y'].cpu(), sys.argv[3])\n"
    )
    command = [sys.executable, "-c", code, str(folder / "logits"), str(tmp_path / "x.pt"), str(tmp_path / "y.pt")]
    subprocess.run(command, check=True, cwd=Path(__file__).parents[2])
    assert torch.equal(torch.load(tmp_path / "y.pt"), logits({"x": X})["y"].cpu())


def test_kinds_of_programs(logits: CompiledFunction, folder: Path) -> None:
    with pytest.raises(AppFileError, match="compiled for a board"):
        Context(MNDevice("pfvm:cpu")).load_codegen_dir(folder / "logits")


def test_unregistered_parameters_are_constants(folder: Path, tmp_path: Path) -> None:
    net = Net(1)
    context = Context(MNDevice("emu2"))
    f = context.compile(net.logits, {"x": X}, tmp_path / "c", training=False)
    expected = net.linear(X).detach()
    with torch.no_grad():
        net.linear.weight.zero_()
    assert torch.allclose(f({"x": X})["y"].cpu(), expected, atol=0.02)


def test_cache_ignores_registered_contents(tmp_path: Path) -> None:
    cache = CacheOptions(tmp_path / "cache")
    for seed in (1, 2):
        net = Net(seed)
        context = Context(MNDevice("emu2"))
        context.registry.register("net", net)
        f = context.compile(net.logits, {"x": X}, tmp_path / str(seed), training=False, cache_options=cache)
        assert close(f({"x": X})["y"], net)
    assert len(os.listdir(tmp_path / "cache" / "app")) == 1


def test_time_is_counted_on_boards_only(net: Net, folder: Path, logits: CompiledFunction, tmp_path: Path) -> None:
    with MNDevice("mncore2:0") as device:
        with pytest.raises(DeviceBusyError):
            MNDevice("mncore2:0")
        context = Context(device)
        set_tensor_name_in_module(net, "net")
        f = context.load_codegen_dir(folder / "logits")
        context.registry.register("net", net)
        for _ in range(2):
            assert close(f({"x": X})["y"], net)
        assert device.backend.executor.busy_cycles == 2 * f.report["vsm_cycles"]  # type: ignore[attr-defined]
    with pytest.raises(DeviceError, match="closed"):
        f({"x": X})
    MNDevice("mncore2:0").close()


class TestRefusals:
    """What cannot be compiled is refused with the reason, and leaves nothing behind."""

    def test_too_large(self, context: Context, tmp_path: Path) -> None:
        sample, options = {"x": torch.zeros(8192, 8192)}, {"envs": {"CODEGEN_MAX_TIME_SLICE": 2}}
        with pytest.raises(CompileError, match="CODEGEN_MAX_TIME_SLICE"):
            context.compile(lambda i: {"y": i["x"].relu()}, sample, tmp_path / "c", options=options)
        assert os.listdir(tmp_path) == []

    def test_operator_without_emitter(self, context: Context, tmp_path: Path) -> None:
        with pytest.raises(CompileError, match="Atan"):
            context.compile(lambda i: {"y": torch.atan(i["x"])}, {"x": X}, tmp_path / "c")
        assert os.listdir(tmp_path) == []


def test_node_simulations_are_cached_when_programs_are_not(context: Context, net: Net, tmp_path: Path) -> None:
    cache = CacheOptions(tmp_path / "cache", enable_app_cache=False)
    options = {"option_json": "O1", "envs": {"CODEGEN_SA_STEPS": 10}}
    context.compile(net.logits, {"x": X}, tmp_path / "a", options=options, cache_options=cache, quiet=True)
    assert not (tmp_path / "cache" / "app").exists()
    counts = []
    for name in ("b", "c"):
        cache = CacheOptions(tmp_path / "cache", enable_app_cache=False, enable_codegen_cache=name == "b")
        context.compile(net.logits, {"x": X}, tmp_path / name, options=options, cache_options=cache, quiet=True)
        counts.append(json.loads((tmp_path / name / "simulation_result.json").read_text()))
    assert counts[0]["measured"] == 0 and counts[0]["from_cache"] == counts[1]["measured"] > 0
    assert (tmp_path / "b" / "model.vsm").read_bytes() == (tmp_path / "c" / "model.vsm").read_bytes()
