"""The problems: statement, layouts, dtypes, input data and reference results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from traces.records_challenge.testcase import Tensor, case_text

Arrays = Sequence[np.ndarray]


@dataclass(frozen=True)
class Port:
    """Layout and dtype of one input or of the output."""

    layout: str
    dtype: str


@dataclass(frozen=True)
class Problem:
    """One problem of Challenge #1.

    own: what the public statement leaves open and is chosen here ("" = stated completely).
    """

    name: str
    computes: str
    inputs: tuple[Port, ...]
    output: Port
    sample: Callable[[np.random.Generator], Arrays]
    reference: Callable[..., np.ndarray]
    atol: float = 0.0
    own: str = ""

    @property
    def solution(self) -> Path:
        """The assembly file."""
        return Path(__file__).parent / f"{self.name}.vsm"

    def case(self, seed: int) -> str:
        """A seeded test case in the judge's format."""
        arrays = self.sample(np.random.default_rng(seed))
        inputs = [Tensor(port.layout, port.dtype, array) for port, array in zip(self.inputs, arrays, strict=True)]
        output = Tensor(self.output.layout, self.output.dtype, self.reference(*arrays))
        return case_text(inputs, output, atol=self.atol)


def _integers(low: int, high: int, *shapes: tuple[int, ...], kind: type = np.int64) -> Callable[..., Arrays]:
    return lambda rng: [rng.integers(low, high, shape, kind) for shape in shapes]


def _floats(scale: float, *shapes: tuple[int, ...]) -> Callable[..., Arrays]:
    return lambda rng: [rng.uniform(-scale, scale, shape).astype(np.float32) for shape in shapes]


def _lesseq_sample(rng: np.random.Generator) -> Arrays:
    x = rng.uniform(-2, 2, 64).astype(np.float32)
    x[::7] = np.float32(0.7)
    x[1::7] = np.nextafter(np.float32(0.7), np.float32(1))
    return [x]


def _gather_sample(rng: np.random.Generator) -> Arrays:
    return [rng.normal(size=(4, 16)), rng.integers(0, 16, (4, 8))]


def _contains_sample(rng: np.random.Generator) -> Arrays:
    table = rng.integers(0, 1 << 64, 1024, np.uint64)
    keys = rng.integers(0, 1 << 64, 1024, np.uint64)
    known = rng.random(1024) < 0.5
    keys[known] = rng.choice(table, known.sum())
    keys[~known] = np.where(rng.random((~known).sum()) < 0.5, keys[~known], rng.choice(table, (~known).sum()) ^ 1)
    return [keys, table]


def _mod_sample(rng: np.random.Generator) -> Arrays:
    x = rng.integers(0, 1 << 32, 2048, np.int64)
    x[:8] = [0, 1, 2, 3, (1 << 32) - 1, (1 << 32) - 2, 0xFFFF0000, 0xFFFF]
    return [x]


def _inversion_sample(length: int) -> Callable[[np.random.Generator], Arrays]:
    """Random words, short ranges with ties, and sorted rows in both directions."""

    def sample(rng: np.random.Generator) -> Arrays:
        rows = rng.integers(0, 1 << 32, (128, length), np.int64)
        rows[32:64] %= length
        rows[64:72].sort(axis=1)
        rows[72:80] = -np.sort(-rows[72:80], axis=1)
        return [rows]

    return sample


def _inversions(rows: np.ndarray) -> np.ndarray:
    later = np.triu(np.ones((rows.shape[1],) * 2, bool), 1)
    return ((rows[:, :, None] > rows[:, None, :]) & later).sum((1, 2))


def _wrapped(values: np.ndarray) -> np.ndarray:
    return values.astype(np.int32).astype(np.int64)


PROBLEMS = (
    Problem(
        "plus_one",
        "x + 1",
        (Port("((8:1,2_W:1))@$lm[0:16]", "Int"),),
        Port("((8:1,2_W:1))@$ln[0:16]", "Int"),
        _integers(-1000, 1000, (16,)),
        lambda x: x + 1,
    ),
    Problem(
        "plus_2",
        "x + 2",
        (Port("((20:1))@$lm[0:40]", "Long"),),
        Port("((20:1))@$ln[0:40]", "Long"),
        _integers(-(1 << 62), 1 << 62, (20,)),
        lambda x: x + 2,
    ),
    Problem(
        "a_plus_b",
        "A + B",
        (Port("((4_PE:1,16:1,2_W:1))@$lm[0:32]", "Int"), Port("((4_PE:1,16:1,2_W:1))@$ln[0:32]", "Int")),
        Port("((4_PE:1,16:1,2_W:1))@$lm[32:64]", "Int"),
        _integers(-(1 << 30), 1 << 30, (128,), (128,)),
        lambda a, b: a + b,
    ),
    Problem(
        "mul_7",
        "7x modulo 2^32",
        (Port("((4_PE:1,128:1,2_W:1))@$lm[0:256]", "Int"),),
        Port("((4_PE:1,128:1,2_W:1))@$ln[0:256]", "Int"),
        _integers(-(1 << 31), 1 << 31, (1024,)),
        lambda x: _wrapped(7 * x),
        own="256 words per PE (the size that fits the known line counts)",
    ),
    Problem(
        "abs",
        "abs(x)",
        (Port("((4_PE:1,32:1,2_W:1))@$lm[0:64]", "Int"),),
        Port("((4_PE:1,32:1,2_W:1))@$ln[0:64]", "Int"),
        lambda rng: [rng.choice([-1, 0, 1], 256) * (1 << rng.integers(0, 31, 256)) - rng.integers(0, 2, 256)],
        np.abs,
        own="64 words per PE (the size that fits the known line counts), -2^30 - 1 <= x <= 2^30",
    ),
    Problem(
        "fadd_mul",
        "(x + 8) * 8",
        (Port("((16_MAB:1,4_PE:1,64:1,2_W:1))@$lm[0:128]", "Float"),),
        Port("((16_MAB:1,4_PE:1,64:1,2_W:1))@$ln[0:128]", "Float"),
        _floats(10, (8192,)),
        lambda x: ((x.astype(np.float64) + 8) * 8).astype(np.float32),
        atol=1e-4,
    ),
    Problem(
        "mul2",
        "2x",
        (Port("((4_PE:1,32:1,4_W:1))@$lm[0:64]", "Half"),),
        Port("((4_PE:1,32:1,4_W:1))@$ln[0:64]", "Half"),
        lambda rng: [np.ldexp(rng.integers(-1023, 1024, 512), rng.integers(-12, 4, 512)).astype(np.float32)],
        lambda x: 2 * x,
        own="128 halves per PE (the size that fits the known line counts)",
    ),
    Problem(
        "lesseq",
        "1 if x <= 0.7 else 0",
        (Port("((4_PE:1,8:1,2_W:1))@$lm[0:16]", "Float"),),
        Port("((4_PE:1,8:1,2_W:1))@$ln[0:16]", "Int"),
        _lesseq_sample,
        lambda x: (x <= np.float32(0.7)).astype(np.int64),
        own="16 words per PE, the value 0.7, Int result",
    ),
    Problem(
        "transpose",
        "Y = X^T, 8x16, inside each PE",
        (Port("((8:16),(16:1))@$lm[0:256]", "Long"),),
        Port("((16:8),(8:1))@$ln[0:256]", "Long"),
        _integers(-(1 << 62), 1 << 62, (8, 16)),
        lambda x: x.T,
        own="shape 8x16, Long, data in every PE",
    ),
    Problem(
        "gather_easy",
        "Y[i, j] = X[i, I[i, j]]",
        (Port("((4_PE:1),(16:1))@$lm[0:32]", "Double"), Port("((4_PE:1),(4:1,2_W:1))@$ln[0:8]", "Int")),
        Port("((4_PE:1),(8:1))@$ln[8:24]", "Double"),
        _gather_sample,
        lambda x, i: np.take_along_axis(x, i, 1),
        own="16 values and 8 indices per PE",
    ),
    Problem(
        "square_sum",
        "Y[i] = sum over j < 128 of X[i, j]^2",
        (Port("((4_PE:1),(16_MAB:1,8:1))@$lm[0:16]", "Double"),),
        Port("((4_PE:1))@$ln[0:2]", "Double"),
        lambda rng: [rng.normal(size=(4, 128))],
        lambda x: (x * x).sum(1),
        atol=1e-10,
        own="i over the PEs, j over the MABs and 8 long words",
    ),
    Problem(
        "convert_endian",
        "byte swap of 64-bit values",
        (Port("((4_PE:1))@$lm[0:2]", "ULong"),),
        Port("((4_PE:1))@$ln[0:2]", "ULong"),
        lambda rng: [rng.integers(0, 1 << 64, 4, np.uint64)],
        lambda x: x.byteswap(),
    ),
    Problem(
        "mod_3",
        "x mod 3",
        (Port("((16_MAB:1,4_PE:1,16:1,2_W:1))@$lm[0:32]", "UInt"),),
        Port("((16_MAB:1,4_PE:1,16:1,2_W:1))@$ln[0:32]", "UInt"),
        _mod_sample,
        lambda x: x % 3,
    ),
    Problem(
        "mat_sq",
        "(X X)^T, 16x16, one matrix per L2B",
        (Port("((8_L2B:1),(4_PE:1,2:1,2_W:1),(16:2))@$lm[0:64]", "Float"),),
        Port("((8_L2B:1),(4_PE:1,2:1,2_W:1),(16:2))@$ln[0:64]", "Float"),
        lambda rng: [rng.integers(-15, 16, (8, 16, 16)).astype(np.float32)],
        lambda x: (x @ x).transpose(0, 2, 1),
        own="integer data up to 15, exact in half-precision block float",
    ),
    Problem(
        "transpose_mab",
        "Y = X^T, 16x16, rows over the MABs",
        (Port("((16_MAB:1),(4:1,4_PE:1))@$lm[0:8]", "Long"),),
        Port("((16_MAB:1),(4:1,4_PE:1))@$ln[0:8]", "Long"),
        _integers(-(1 << 62), 1 << 62, (16, 16)),
        lambda x: x.T,
        own="shape and layout",
    ),
    Problem(
        "contains",
        "1 if A[i] is one of the 1024 values B else 0",
        (
            Port("((8_L2B:1,8_L1B:1,16:1))@$lm[0:32]", "ULong"),
            Port("((16_MAB:1,4_PE:1,16:1))@$ln[0:32]", "ULong"),
        ),
        Port("((8_L2B:1,8_L1B:1,16:1))@$ln[32:64]", "ULong"),
        _contains_sample,
        lambda keys, table: np.isin(keys, table).astype(np.uint64),
        own="the output address",
    ),
    Problem(
        "inversion_small",
        "number of pairs i < j with a[i] > a[j], 8 values",
        (Port("((16_MAB:1,4_PE:1,2_W:1),(8:1))@$lm[0:16]", "UInt"),),
        Port("((16_MAB:1,4_PE:1,2_W:1))@$ln[0:2]", "UInt"),
        _inversion_sample(8),
        _inversions,
        own="8 values, layout as in inversion",
    ),
    Problem(
        "inversion",
        "number of pairs i < j with a[i] > a[j], 64 values",
        (Port("((16_MAB:1,4_PE:1,2_W:1),(64:1))@$lm[0:128]", "UInt"),),
        Port("((16_MAB:1,4_PE:1,2_W:1))@$ln[0:2]", "UInt"),
        _inversion_sample(64),
        _inversions,
    ),
    Problem(
        "count_up",
        "1..32768 in the DRAM of group 0",
        (),
        Port("((16384:1,2_W:1))@$d[0:16384]@0", "Int"),
        lambda rng: [],
        lambda: np.arange(1, 32769),
    ),
)
