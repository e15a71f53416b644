"""Names, storage paths, traces, cache keys and specs."""

from __future__ import annotations

import inspect
import json
import os
from pathlib import Path

import pytest
import torch

import mlsdk
from compiler.digest import joined_digest
from mlsdk import (
    IOSpec,
    get_tensor_name,
    path,
    set_tensor_name,
    set_tensor_name_in_module,
    storage,
    trace_event,
    trace_scope,
)
from mlsdk.errors import MLSDKError, RegistrationError, StorageError, TraceError
from runtime.app_cache import AppCache
from runtime.pfvm_device import PfvmDevice


def test_everything_public_is_there_and_documented() -> None:
    for name in mlsdk.__all__:
        thing = getattr(mlsdk, name)
        assert inspect.ismodule(thing) or name == "TensorLike" or thing.__doc__, name


def test_all_errors_have_one_base() -> None:
    from mlsdk import errors

    for name in errors.__all__:
        assert issubclass(getattr(errors, name), MLSDKError) and getattr(errors, name).__doc__


def test_tensor_names() -> None:
    tensor = torch.zeros(1)
    assert get_tensor_name(tensor) is None
    set_tensor_name(tensor, "cache@0")
    assert get_tensor_name(tensor) == "cache@0"
    assert get_tensor_name(tensor.clone()) is None
    for bad in ("", 3):
        with pytest.raises(RegistrationError):
            set_tensor_name(tensor, bad)  # type: ignore[arg-type]


def test_names_in_a_module() -> None:
    module = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2))
    set_tensor_name_in_module(module, "model")
    assert get_tensor_name(module[0].weight) == "model@0_weight"
    assert get_tensor_name(module[1].running_mean) == "model@1_running_mean"
    assert get_tensor_name(module[1].num_batches_tracked) == "model@1_num_batches_tracked"


def test_shared_parameters_are_named_once() -> None:
    module = torch.nn.ModuleDict({"a": torch.nn.Linear(2, 2), "b": torch.nn.Linear(2, 2)})
    module["b"].weight = module["a"].weight
    set_tensor_name_in_module(module, "m")
    assert get_tensor_name(module["b"].weight) == "m@a_weight"


def test_equal_names_in_a_module_are_refused() -> None:
    module = torch.nn.Module()
    module.a_b = torch.nn.Linear(1, 1)
    module.a = torch.nn.Module()
    module.a.b = torch.nn.Linear(1, 1)
    with pytest.raises(RegistrationError, match=r"'a_b\.weight' and 'a\.b\.weight'"):
        set_tensor_name_in_module(module, "m")


def test_storage_path(tmp_path: Path) -> None:
    target = storage.path(target=str(tmp_path)) / "x" / "checkpoint.pt"
    assert os.fspath(target) == str(tmp_path / "x" / "checkpoint.pt")
    assert storage.path(f"file://{tmp_path}") == tmp_path and storage.path(tmp_path) == tmp_path
    assert path is storage.path
    with pytest.raises(StorageError, match="s3://"):
        storage.path("s3://bucket/x")


def test_trace_scope(tmp_path: Path) -> None:
    with trace_event("outside"):
        pass
    with trace_scope(tmp_path / "sub" / "t.json"), trace_event("outer", batch=3), trace_event("inner"):
        pass
    events = json.loads((tmp_path / "sub" / "t.json").read_text())["traceEvents"]
    assert [event["name"] for event in events] == ["inner", "outer"]
    inner, outer = events
    assert outer["args"] == {"batch": 3} and outer["ph"] == "X"
    assert outer["ts"] <= inner["ts"] and inner["ts"] + inner["dur"] <= outer["ts"] + outer["dur"]


def test_trace_scope_off_and_failing(tmp_path: Path) -> None:
    with trace_scope(None), trace_event("nothing"):
        pass
    with pytest.raises(TraceError, match=r"\.txt"), trace_scope(tmp_path / "t.txt"):
        pass
    with pytest.raises(ZeroDivisionError), trace_scope(tmp_path / "t.json"), trace_event("fails"):
        _ = 1 / 0
    assert [e["name"] for e in json.loads((tmp_path / "t.json").read_text())["traceEvents"]] == ["fails"]
    assert [p.name for p in tmp_path.iterdir()] == ["t.json"]


def test_cache_keys_separate_their_parts() -> None:
    assert joined_digest([b"ab", b"c"]) != joined_digest([b"a", b"bc"]) != joined_digest([b"abc"])
    assert joined_digest([b"ab", b"c"]) == joined_digest([b"ab", b"c"])


def test_app_cache(tmp_path: Path) -> None:
    cache = AppCache(tmp_path / "cache")
    (tmp_path / "stage").mkdir()
    assert not cache.restore("k", tmp_path / "stage")
    (tmp_path / "stage" / "a").write_text("1")
    cache.store("k", tmp_path / "stage")
    (tmp_path / "stage" / "a").write_text("2")
    cache.store("k", tmp_path / "stage")  # the first one stays
    (tmp_path / "other").mkdir()
    assert cache.restore("k", tmp_path / "other") and (tmp_path / "other" / "a").read_text() == "1"
    assert os.listdir(tmp_path / "cache" / "app") == ["k"]


def test_memcopyable_specs() -> None:
    a = IOSpec("a", (2, 3), torch.float32, "Half", "((), ())", 0)
    assert a.is_memcopyable_to(IOSpec("b", (2, 3), torch.float32, "Half", "((), ())", 0))
    for other in (
        IOSpec("b", (3, 2), torch.float32, "Half", "((), ())", 0),
        IOSpec("b", (2, 3), torch.int64, "Half", "((), ())", 0),
        IOSpec("b", (2, 3), torch.float32, "Float", "((), ())", 0),
        IOSpec("b", (2, 3), torch.float32, "Half", "((2:1), ())", 0),
        IOSpec("b", (2, 3), torch.float32, "Half", "((), ())", 1),
    ):
        assert not a.is_memcopyable_to(other)


class TestRegistry:
    """Registration rules of mlsdk.md 7."""

    @pytest.fixture
    def registry(self) -> mlsdk.context.Registry:
        return mlsdk.context.Registry(PfvmDevice("pfvm:cpu", "cpu"))

    def test_name_is_needed(self, registry: mlsdk.context.Registry) -> None:
        with pytest.raises(RegistrationError, match="set_tensor_name"):
            registry.add(torch.zeros(1))

    def test_twice_is_harmless_but_a_name_is_taken(self, registry: mlsdk.context.Registry) -> None:
        one, two = torch.zeros(1), torch.zeros(1)
        for tensor in (one, two):
            set_tensor_name(tensor, "same")
        assert registry.add(one) is registry.add(one)
        with pytest.raises(RegistrationError, match="another tensor is already registered as 'same'"):
            registry.add(two)

    def test_module(self, registry: mlsdk.context.Registry) -> None:
        module = torch.nn.BatchNorm1d(2)
        registry.register("bn", module)
        assert {entry.name for entry in registry} == {
            f"bn@{name}" for name in ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
        }
        with pytest.raises(RegistrationError, match=r"expected a torch\.nn\.Module or an optimizer, got Tensor"):
            registry.register("opt", torch.zeros(1))

    def test_unregistered_tensors_are_named_with_the_nearest(self, registry: mlsdk.context.Registry) -> None:
        registry.register("model", torch.nn.Linear(2, 2))
        other = torch.zeros(1)
        with pytest.raises(RegistrationError, match="has no name"):
            registry.find(other)
        set_tensor_name(other, "model@weigth")
        with pytest.raises(RegistrationError, match="did you mean 'model@weight'"):
            registry.find(other)
