"""The problems of the MNIST set that are stated completely, and those where only a detail had to be assumed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from traces.records_mnist.problem import (
    D16,
    D1024,
    DG,
    WIDE,
    WIDE_BATCH,
    Array,
    G,
    Make,
    Problem,
    R,
    Tensor,
    V,
    W,
)

_Rng = np.random.Generator
_BATCH = (256, 16)
_A4 = "((4:2), (2:1, 4_PE:1, 2_W:1))"
_A32 = "((32:2), (2:1, 4_PE:1, 2_W:1))"
_BATCH_L2B = "((8_L2B:1, 32:2), (2:1, 4_PE:1, 2_W:1))"
_ROW16 = "((2:1, 4_PE:1, 2_W:1))"
_LW8 = "((8:1, 2_W:1))"


def _normal(*shapes: tuple[int, ...]) -> Make:
    return lambda rng: [rng.standard_normal(shape).astype(np.float32) for shape in shapes]


def _uniform(low: float, high: float, *shapes: tuple[int, ...]) -> Make:
    return lambda rng: [rng.uniform(low, high, shape).astype(np.float32) for shape in shapes]


def _integers(*shapes: tuple[int, ...], limit: int = 10) -> Make:
    return lambda rng: [rng.integers(-limit, limit + 1, shape).astype(np.float32) for shape in shapes]


def _labels(size: int) -> Make:
    return lambda rng: [rng.integers(0, 16, size)]


def _quotient(rng: _Rng) -> list[Array]:
    return [rng.uniform(-10, 10, _BATCH).astype(np.float32), rng.uniform(0.5, 100, 256).astype(np.float32)]


def _softmax_inputs(rng: _Rng) -> list[Array]:
    values = rng.uniform(-20, 0.5, _BATCH).astype(np.float32)
    values[:, 3] = rng.uniform(-89, -60, 256)
    values[0, 0], values[0, 1] = -89, 0
    return [values]


def _gather(rng: _Rng) -> list[Array]:
    return [rng.standard_normal(_BATCH).astype(np.float32), rng.integers(0, 16, 256)]


def _wide(x: Array) -> NDArray[np.float64]:
    return x.astype(np.float64)


def _onehot(t: Array) -> Array:
    return (t[:, None] == np.arange(16)).astype(np.float64)


ELEMENTWISE = (
    Problem("mat_sub", (Tensor(_BATCH, R, "m"), Tensor(_BATCH, R, "m", 8)), Tensor(_BATCH, R, "n"),
            _normal(_BATCH, _BATCH), lambda a, b: _wide(a) - b, 1e-4, 4, 3),
    Problem("add_colvec", (Tensor(_BATCH, R, "m"), Tensor((16,), _ROW16, "m", 8)), Tensor(_BATCH, R, "n"),
            _normal(_BATCH, (16,)), lambda a, b: _wide(a) + b, 1e-5, assumed="B at $lm[16:20]"),
    Problem("sub_rowvec", (Tensor(_BATCH, G, "m"), Tensor((256,), V, "m", 128)), Tensor(_BATCH, G, "n"),
            _normal(_BATCH, (256,)), lambda a, b: _wide(a) - b[:, None], 1e-5, 80),
    Problem("div_row", (Tensor(_BATCH, G, "m"), Tensor((256,), V, "m", 128)), Tensor(_BATCH, G, "n"),
            _quotient, lambda a, b: _wide(a) / b[:, None], 1e-4, 160, assumed="B at $lm[256:320], positive"),
    Problem("relu", (Tensor(_BATCH, R, "m"),), Tensor(_BATCH, R, "n"),
            _normal(_BATCH), lambda a: np.maximum(_wide(a), 0)),
    Problem("relu_grad", (Tensor(_BATCH, R, "m"),), Tensor(_BATCH, R, "n"),
            _normal(_BATCH), lambda a: (a > 0).astype(np.float64), 1e-4),
    Problem("exp_lowprec", (Tensor(_BATCH, R, "m"),), Tensor(_BATCH, R, "n"),
            _uniform(-2, 2, _BATCH), lambda a: np.exp(_wide(a)), 1e-4, 45, 17,
            assumed="inputs in [-2, 2], tolerance 1e-4"),
    Problem("exp", (Tensor(_BATCH, R, "m"),), Tensor(_BATCH, R, "n"),
            _softmax_inputs, lambda a: np.exp(_wide(a)), 1e-6, 65),
    Problem("onehot_mini", (Tensor((32,), "((8_L2B:1, 2:1, 2_W:1))", "m", dtype="Int"),),
            Tensor((32, 16), "((8_L2B:1, 4:2), (2:1, 4_PE:1, 2_W:1))", "n"), _labels(32), _onehot, 0, 19,
            assumed="T is ((8_L2B:1, 2:1, 2_W:1))@$lm[0:4]"),
    Problem("onehot", (Tensor((256,), V, "m", dtype="Int"),), Tensor(_BATCH, G, "n"), _labels(256), _onehot),
)

REDUCTIONS = (
    Problem("max_row", (Tensor(_BATCH, G, "m"),), Tensor((256,), V, "n"), _normal(_BATCH), lambda a: _wide(a).max(1)),
    Problem("sum_row_mini", (Tensor((4, 16), _A4, "m"),), Tensor((4,), "((2:1, 2_W:1))", "n"),
            _normal((4, 16)), lambda a: _wide(a).sum(1), 1e-4, 10),
    Problem("sum_row", (Tensor(_BATCH, G, "m"),), Tensor((256,), V, "n"),
            _normal(_BATCH), lambda a: _wide(a).sum(1), 1e-4, 160),
    Problem("sum_col", (Tensor(_BATCH, R, "m"),), Tensor((16,), _LW8, "d"),
            _normal(_BATCH), lambda a: _wide(a).sum(0), 1e-3, 13),
    Problem("gather_sum", (Tensor(_BATCH, G, "m"), Tensor((256,), V, "m", 128, "Int")),
            Tensor((1,), "((1_W:1))", "d", group=0), _gather,
            lambda x, t: np.array([_wide(x)[np.arange(256), t].sum()]), 1e-5,
            assumed="T at $lm[256:320]"),
)


def _copy(name: str, source: Tensor, target: Tensor, par: int | None = None, assumed: str = "") -> Problem:
    return Problem(name, (source,), target, _normal(source.shape), _wide, 0.0, par, None, assumed)


_IN16 = Tensor((16,), _LW8, "d", group=0)
COPIES = (
    _copy("dram_dl_16", _IN16, Tensor((16,), _ROW16, "m")),
    _copy("dram_dl_16_16", Tensor((16, 16), D16, "d"), Tensor((16, 16), W, "m")),
    _copy("dram_dl_16_1024", Tensor((16, 1024), D1024, "d"), Tensor((16, 1024), WIDE, "m"), 41),
    _copy("dram_dl_256", Tensor((256,), V, "d"), Tensor((256,), V, "m"), 11),
    _copy("dram_dl_256_16", Tensor(_BATCH, DG, "d"), Tensor(_BATCH, R, "m")),
    _copy("dram_dl_256_16_l2b", Tensor(_BATCH, DG, "d"), Tensor(_BATCH, _BATCH_L2B, "m")),
    _copy("dram_dl_256_16p", Tensor(_BATCH, DG, "d"), Tensor(_BATCH, G, "m"), 41),
    _copy("dram_dl_1024_16", Tensor((1024, 16), "((4_L2B:2, 256:8), (8:1, 2_W:1))", "d"),
          Tensor((1024, 16), "((8_L2B:1, 16:2, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))", "m"), 10),
    _copy("dram_ul_16", Tensor((16,), _ROW16, "m"), _IN16, 7),
    _copy("dram_ul_16_16", Tensor((16, 16), W, "m"), Tensor((16, 16), D16, "d")),
    _copy("dram_ul_16_1024", Tensor((16, 1024), WIDE, "m"), Tensor((16, 1024), D1024, "d"), 43),
    _copy("dram_ul_256", Tensor((256,), V, "m"), Tensor((256,), V, "d"), 29),
    _copy("dram_ul_256_16", Tensor(_BATCH, R, "m"), Tensor(_BATCH, DG, "d"), 7),
    _copy("dram_ul_256_16p", Tensor(_BATCH, G, "m"), Tensor(_BATCH, DG, "d")),
)

_COLS8 = "(4_PE:1, 2_W:1)"


def _trb(a: Array, b: Array) -> Array:
    return _wide(a) @ _wide(b).T


def _notr(a: Array, b: Array) -> Array:
    return _wide(a) @ _wide(b)


def _tra(a: Array, b: Array) -> Array:
    return _wide(a).T @ _wide(b)


PRODUCTS = (
    Problem("matmul_trb_mab_lm_4_8_16",
            (Tensor((4, 8), f"((4:1), {_COLS8})", "m"), Tensor((16, 8), f"((16:1), {_COLS8})", "m", 4)),
            Tensor((4, 16), _A4, "n"), _integers((4, 8), (16, 8)), _trb, 1e-5, 12, assumed="B behind A in LM0"),
    Problem("matmul_trb_mab_lm_32_8_16",
            (Tensor((32, 8), f"((32:1), {_COLS8})", "m"), Tensor((16, 8), f"((16:1), {_COLS8})", "m", 32)),
            Tensor((32, 16), _A32, "n"), _integers((32, 8), (16, 8)), _trb, 1e-5, 96, assumed="B behind A in LM0"),
    Problem("matmul_notr_mab_lm_4_16_16",
            (Tensor((4, 16), _A4, "m"), Tensor((16, 16), W, "m", 8)),
            Tensor((4, 16), _A4, "n"), _integers((4, 16), (16, 16)), _notr, 1e-5, 48, assumed="B behind A in LM0"),
    Problem("matmul_tra_mab_lm_16_32_8",
            (Tensor((32, 16), _A32, "m"), Tensor((32, 8), f"((32:1), {_COLS8})", "m", 64)),
            Tensor((16, 8), f"((16:1), {_COLS8})", "n"), _integers((32, 16), (32, 8)), _tra, 1e-5, 96,
            assumed="B behind A in LM0"),
    Problem("matmul_notr_pkg_lm_256_16_16", (Tensor(_BATCH, R, "m"), Tensor((16, 16), W, "m", 8)),
            Tensor(_BATCH, R, "n"), _integers(_BATCH, (16, 16)), _notr, 1e-5, assumed="B behind A in LM0"),
    Problem("matmul_trb_pkg_lm_256_16_16", (Tensor(_BATCH, R, "m"), Tensor((16, 16), W, "m", 8)),
            Tensor(_BATCH, R, "n"), _integers(_BATCH, (16, 16)), _trb, 1e-5, assumed="B behind A in LM0"),
    Problem("matmul_trb_pkg_lmdram_256_1024_16",
            (Tensor((256, 1024), WIDE_BATCH, "m"), Tensor((16, 1024), WIDE, "m", 32)),
            Tensor(_BATCH, DG, "d"), _integers((256, 1024), (16, 1024)), _trb, 1e-5, 113,
            assumed="A as in tra_pkg_16_256_1024, B as in dram_dl_16_1024 behind A"),
    Problem("matmul_tra_pkg_lmdram_16_256_16", (Tensor(_BATCH, R, "m"), Tensor(_BATCH, R, "m", 8)),
            Tensor((16, 16), D16, "d"), _integers(_BATCH, _BATCH), _tra, 1e-5, assumed="B behind A in LM0"),
    Problem("matmul_tra_pkg_lmdram_16_256_1024",
            (Tensor(_BATCH, _BATCH_L2B, "m"), Tensor((256, 1024), WIDE_BATCH, "m", 64)),
            Tensor((16, 1024), D1024, "d"), _integers(_BATCH, (256, 1024)), _tra, 1e-5, 140),
)

PROBLEMS = {problem.name: problem for problem in ELEMENTWISE + REDUCTIONS + COPIES + PRODUCTS}
