"""The program file: round trip, and every way in which it can be damaged."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import numpy as np
import pytest

from compiler.graph.mntype import MNType, OnnxType
from compiler.iospec import IOSpec
from compiler.layout import PadLayout
from runtime.app import App
from runtime.errors import AppFileError
from runtime.specs import TensorSpec

LAYOUT = PadLayout.parse("(125,10)/((8_L2B:1, 8_L1B:1, 2:1), (4:2, 4_W:1); B@[MAB,PE])")


def example(kind: str = "vsm") -> App:
    if kind == "vsm":
        x = IOSpec("x", (125, 10), OnnxType.FLOAT32, MNType.HALF, LAYOUT, 1024, 0x7E00)
    else:
        x = TensorSpec("x", (125, 10), OnnxType.FLOAT32)  # type: ignore[assignment]
    weight = TensorSpec("w@a", (2, 3), OnnxType.INT64)
    return App(
        kind,
        b"nop\n",
        inputs={"x": x},
        outputs={"y": TensorSpec("y", (), OnnxType.BOOL)},
        params={"w@a": weight},
        values={"w@a": np.arange(6).reshape(2, 3), "../odd name": np.float32([1.5])},
        registered=frozenset({"w@a"}),
        updates={"w@a": "y"},
        ignored_inputs=frozenset({"mask"}),
        report={"vsm_cycles": 7500},
    )


def same(left: App, right: App) -> bool:
    fields = ("kind", "code", "inputs", "outputs", "params", "registered", "updates", "ignored_inputs", "report")
    return all(getattr(left, name) == getattr(right, name) for name in fields) and all(
        np.array_equal(left.values[name], right.values[name]) and left.values[name].dtype == right.values[name].dtype
        for name in left.values
    )


@pytest.mark.parametrize("kind", ["vsm", "onnx"])
def test_round_trip(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "folder" / "model.app"
    example(kind).save(path)
    loaded = App.load(path)
    assert same(example(kind), loaded)
    first = path.read_bytes()
    loaded.save(path)
    assert path.read_bytes() == first  # equal programs make equal files
    assert [p.name for p in path.parent.iterdir()] == ["model.app"]


def test_every_truncation_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "model.app"
    example().save(path)
    whole = path.read_bytes()
    for length in range(0, len(whole), 97):
        path.write_bytes(whole[:length])
        with pytest.raises(AppFileError, match=r"truncated|altered"):
            App.load(path)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(AppFileError, match=r"there is no model\.app"):
        App.load(tmp_path / "model.app")


def rewrite(path: Path, name: str, data: bytes | None) -> None:
    """Replace or drop one member, as somebody with a zip tool would."""
    with zipfile.ZipFile(path) as archive:
        members = {n: archive.read(n) for n in archive.namelist()}
    if data is None:
        del members[name]
    else:
        members[name] = data
    with zipfile.ZipFile(path, "w") as archive:
        for n, d in members.items():
            archive.writestr(n, d)


@pytest.mark.parametrize("member", ["model.vsm", "specs.json", "values.npz", "report.json"])
def test_altered_and_dropped_members(tmp_path: Path, member: str) -> None:
    path = tmp_path / "model.app"
    example().save(path)
    rewrite(path, member, b"nop/2\n")
    with pytest.raises(AppFileError, match=f"was altered: {member}"):
        App.load(path)
    rewrite(path, member, None)
    with pytest.raises(AppFileError, match="no program file"):
        App.load(path)


def test_other_format_versions(tmp_path: Path) -> None:
    path = tmp_path / "model.app"
    example().save(path)
    rewrite(path, "manifest.json", json.dumps({"format": 99, "kind": "vsm", "sha256": {}}).encode())
    with pytest.raises(AppFileError, match="format version 99"):
        App.load(path)
    for manifest in (b"[]", b"{", json.dumps({"format": 1, "kind": "exe", "sha256": {}}).encode(), b'{"format": 1}'):
        rewrite(path, "manifest.json", manifest)
        with pytest.raises(AppFileError):
            App.load(path)


def test_values_are_never_pickled(tmp_path: Path) -> None:
    app = example()
    broken = App(app.kind, app.code, {}, {}, {}, values={"w": np.array([object()])})
    with pytest.raises(ValueError, match="allow_pickle"):
        broken.save(tmp_path / "model.app")
    assert list(tmp_path.iterdir()) == []
