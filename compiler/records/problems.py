"""Problems of the MN-Core Challenge as graphs of layers: operators, shapes and the layouts they are stated in.

Source: op_records.md A to C; a layout that a problem leaves open is marked by `assumed`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from compiler.graph import Location, MNType

Arrays = Mapping[str, NDArray[Any]]

LM0, LM1, DRAM = Location.LM0, Location.LM1, Location.DRAM
R = "((8_L2B:1, 4:2, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))"
G = "((4_L2B:2, 64:2), (2:1, 4_PE:1, 2_W:1); B@[2_L2B:1])"
V = "((4_L2B:2, 32:1, 2_W:1); B@[2_L2B:1])"
V_COLUMN = "((4_L2B:2, 32:1, 2_W:1), (); B@[2_L2B:1])"
ROW = "((2:1, 4_PE:1, 2_W:1))"
W = "((16:2), (2:1, 4_PE:1, 2_W:1))"
MINI = "((8_L2B:1, 4:2), (2:1, 4_PE:1, 2_W:1))"
SMALL = "((4:2), (2:1, 4_PE:1, 2_W:1))"


@dataclass(frozen=True)
class Operand:
    """A value: shape, layout on the chip, memory and address (words in LM, long words in DRAM).

    dram: for a value in DRAM, the order the problem states, as a layout whose L2B is twice the group.
    """

    shape: tuple[int, ...]
    layout: str
    loc: Location = LM0
    addr: int = 0
    dtype: MNType = MNType.FLOAT
    dram: str = ""


@dataclass(frozen=True)
class Step:
    """One operator: inputs are operands, results of earlier steps, or constants.

    layout: that of the output, "" for any.
    """

    op_type: str
    inputs: tuple[str, ...]
    output: str
    shape: tuple[int, ...]
    dtype: MNType = MNType.FLOAT
    attrs: Mapping[str, Any] = field(default_factory=dict)
    layout: str = ""


@dataclass(frozen=True)
class Problem:
    """The last step makes `result`, whose layout None stands for whatever the layer gives.

    make: inputs from a random generator; want: the result from them; tolerance: absolute.
    """

    name: str
    inputs: Mapping[str, Operand]
    steps: tuple[Step, ...]
    result: Operand
    make: Callable[[np.random.Generator], Arrays]
    want: Callable[[Arrays], NDArray[Any]]
    tolerance: float = 0.0
    constants: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    assumed: str = ""


def _integers(shape: tuple[int, ...], low: int = -8, high: int = 8) -> Callable[[np.random.Generator], Any]:
    return lambda rng: rng.integers(low, high, shape).astype(np.float32)


def _draw(**makers: Callable[[np.random.Generator], Any]) -> Callable[[np.random.Generator], Arrays]:
    return lambda rng: {name: maker(rng) for name, maker in makers.items()}


def _unary(
    name: str,
    op_type: str,
    numpy: Callable[[NDArray[Any]], NDArray[Any]],
    draw: Callable[[np.random.Generator], Any],
    tolerance: float = 0.0,
    assumed: str = "",
) -> Problem:
    steps = (Step(op_type, ("a",), "c", (256, 16)),)
    result = Operand((256, 16), R, LM1)
    inputs = {"a": Operand((256, 16), R)}
    return Problem(name, inputs, steps, result, _draw(a=draw), lambda v: numpy(v["a"]), tolerance, assumed=assumed)


def _rows(name: str, op_type: str, numpy: Callable[..., NDArray[Any]], tolerance: float) -> Problem:
    return Problem(
        name,
        {"a": Operand((256, 16), G)},
        (Step(op_type, ("a",), "c", (256,), attrs={"axes": [1], "keepdims": 0}),),
        Operand((256,), V, LM1),
        _draw(a=_integers((256, 16))),
        lambda v: numpy(v["a"], axis=1),
        tolerance,
    )


def _transfer(name: str, shape: tuple[int, ...], chip: str, dram: str, *, up: bool) -> Problem:
    outside, inside = Operand(shape, chip, DRAM, dram=dram), Operand(shape, chip, LM0)
    source, target = (inside, outside) if up else (outside, inside)
    steps = (Step("MNCoreUpload" if up else "MNCoreDownload", ("a",), "c", shape),)
    return Problem(name, {"a": source}, steps, target, _draw(a=_integers(shape, -999, 999)), lambda v: v["a"])


D16 = "((8:1, 2_W:1))"
D16_16 = "((4_L2B:2, 4:8), (8:1, 2_W:1))"
DG = "((4_L2B:2, 64:8), (8:1, 2_W:1))"
D16_1024 = "((4_L2B:2, 4:512), (512:1, 2_W:1))"
WIDE = "((16:1), (8_MAB:2, 8_L1B:1, 2_MAB:1, 4_PE:1, 2_W:1))"
LONG = "((8_L2B:1, 16:2, 8_L1B:1), (2:1, 4_PE:1, 2_W:1))"
TRANSFERS: tuple[tuple[str, tuple[int, ...], str, str], ...] = (
    ("dram_dl_16", (16,), ROW, D16),
    ("dram_dl_16_16", (16, 16), W, D16_16),
    ("dram_dl_16_1024", (16, 1024), WIDE, D16_1024),
    ("dram_dl_256", (256,), V, "((4_L2B:2, 32:1, 2_W:1))"),
    ("dram_dl_256_16", (256, 16), R, DG),
    ("dram_dl_256_16_l2b", (256, 16), "((8_L2B:1, 32:2), (2:1, 4_PE:1, 2_W:1))", DG),
    ("dram_dl_256_16p", (256, 16), G, DG),
    ("dram_dl_1024_16", (1024, 16), LONG, "((4_L2B:2, 256:8), (8:1, 2_W:1))"),
    ("dram_ul_16", (16,), ROW, D16),
    ("dram_ul_16_16", (16, 16), W, D16_16),
    ("dram_ul_16_1024", (16, 1024), WIDE, D16_1024),
    ("dram_ul_256", (256,), V, "((4_L2B:2, 32:1, 2_W:1))"),
    ("dram_ul_256_16", (256, 16), R, DG),
    ("dram_ul_256_16p", (256, 16), G, DG),
)


def _matmul(
    name: str, a: tuple[tuple[int, int], str], b: tuple[tuple[int, int], str], c: Operand, trans: tuple[int, int]
) -> Problem:
    """C = op(A) . op(B) with transpositions by flag; B lies behind A."""
    behind = {"matmul_tra_pkg_lmdram_16_256_1024": 128}.get(name)
    words = 2 * _long_words(*a) if behind is None else behind
    inputs = {"a": Operand(*a), "b": Operand(*b, addr=words)}
    steps = (Step("Gemm", ("a", "b"), "c", c.shape, attrs={"transA": trans[0], "transB": trans[1]}),)

    def want(v: Arrays) -> NDArray[Any]:
        left, right = (v["a"].T if trans[0] else v["a"]), (v["b"].T if trans[1] else v["b"])
        return left @ right

    draw = _draw(a=_integers(a[0], -3, 4), b=_integers(b[0], -3, 4))
    return Problem(name, inputs, steps, c, draw, want, 1e-5, assumed="" if behind else "B behind A in LM0")


def _long_words(shape: tuple[int, int], layout: str) -> int:
    from compiler.layout import Layout, PadLayout

    return PadLayout(shape, Layout.parse(layout)).num_lw


PE_ROWS = "(4_PE:1, 2_W:1)"
MATMULS = (
    _matmul(
        "matmul_trb_mab_lm_4_8_16",
        ((4, 8), f"((4:1), {PE_ROWS})"),
        ((16, 8), f"((16:1), {PE_ROWS})"),
        Operand((4, 16), SMALL, LM1),
        (0, 1),
    ),
    _matmul(
        "matmul_trb_mab_lm_32_8_16",
        ((32, 8), f"((32:1), {PE_ROWS})"),
        ((16, 8), f"((16:1), {PE_ROWS})"),
        Operand((32, 16), "((32:2), (2:1, 4_PE:1, 2_W:1))", LM1),
        (0, 1),
    ),
    _matmul("matmul_notr_mab_lm_4_16_16", ((4, 16), SMALL), ((16, 16), W), Operand((4, 16), SMALL, LM1), (0, 0)),
    _matmul(
        "matmul_tra_mab_lm_16_32_8",
        ((32, 16), "((32:2), (2:1, 4_PE:1, 2_W:1))"),
        ((32, 8), f"((32:1), {PE_ROWS})"),
        Operand((16, 8), f"((16:1), {PE_ROWS})", LM1),
        (1, 0),
    ),
    _matmul("matmul_notr_pkg_lm_256_16_16", ((256, 16), R), ((16, 16), W), Operand((256, 16), R, LM1), (0, 0)),
    _matmul("matmul_trb_pkg_lm_256_16_16", ((256, 16), R), ((16, 16), W), Operand((256, 16), R, LM1), (0, 1)),
    _matmul(
        "matmul_tra_pkg_lmdram_16_256_16",
        ((256, 16), R),
        ((256, 16), R),
        Operand((16, 16), W, DRAM, dram=D16_16),
        (1, 0),
    ),
    _matmul(
        "matmul_tra_pkg_lmdram_16_256_1024",
        ((256, 16), "((8_L2B:1, 32:2), (2:1, 4_PE:1, 2_W:1))"),
        ((256, 1024), "((8_L2B:1, 32:1), (8_MAB:2, 8_L1B:1, 2_MAB:1, 4_PE:1, 2_W:1))"),
        Operand((16, 1024), WIDE, DRAM, dram=D16_1024),
        (1, 0),
    ),
)

_COLUMNS = np.arange(16).reshape(1, 16)
_LABELS = Operand((256, 1), V_COLUMN, LM0, 0, MNType.INT)


def _labels(rng: np.random.Generator) -> NDArray[Any]:
    return rng.integers(0, 16, (256, 1))


PROBLEMS: tuple[Problem, ...] = (
    Problem(
        "mat_sub",
        {"a": Operand((256, 16), R), "b": Operand((256, 16), R, addr=16)},
        (Step("Sub", ("a", "b"), "c", (256, 16)),),
        Operand((256, 16), R, LM1),
        _draw(a=_integers((256, 16)), b=_integers((256, 16))),
        lambda v: v["a"] - v["b"],
        1e-4,
    ),
    Problem(
        "add_colvec",
        {"a": Operand((256, 16), R), "b": Operand((16,), ROW, addr=16)},
        (Step("Add", ("a", "b"), "c", (256, 16)),),
        Operand((256, 16), R, LM1),
        _draw(a=_integers((256, 16)), b=_integers((16,))),
        lambda v: v["a"] + v["b"],
        1e-5,
        assumed="B at $lm[16:20]",
    ),
    Problem(
        "sub_rowvec",
        {"a": Operand((256, 16), G), "b": Operand((256, 1), V_COLUMN, addr=256)},
        (Step("Sub", ("a", "b"), "c", (256, 16)),),
        Operand((256, 16), G, LM1),
        _draw(a=_integers((256, 16)), b=_integers((256, 1))),
        lambda v: v["a"] - v["b"],
        1e-5,
    ),
    Problem(
        "div_row",
        {"a": Operand((256, 16), G), "b": Operand((256, 1), V_COLUMN, addr=256)},
        (Step("Reciprocal", ("b",), "r", (256, 1)), Step("Mul", ("a", "r"), "c", (256, 16))),
        Operand((256, 16), G, LM1),
        _draw(a=_integers((256, 16)), b=_integers((256, 1), 1, 9)),
        lambda v: v["a"] / v["b"],
        1e-4,
        assumed="B at $lm[256:320], positive",
    ),
    _unary("relu", "Relu", lambda a: np.maximum(a, 0), _integers((256, 16))),
    Problem(
        "relu_grad",
        {"a": Operand((256, 16), R)},
        (
            Step("Greater", ("a", "zero"), "p", (256, 16), MNType.INT),
            Step("Cast", ("p",), "c", (256, 16), attrs={"to": 1}),
        ),
        Operand((256, 16), R, LM1),
        _draw(a=_integers((256, 16))),
        lambda v: (v["a"] > 0).astype(np.float32),
        1e-4,
        {"zero": np.zeros((), np.float32)},
    ),
    _unary("exp", "Exp", lambda a: np.exp(a), lambda rng: rng.uniform(-89, 0, (256, 16)).astype(np.float32), 1e-6),
    _unary(
        "exp_lowprec",
        "Exp",
        lambda a: np.exp(a),
        lambda rng: rng.uniform(-2, 2, (256, 16)).astype(np.float32),
        1e-4,
        assumed="inputs in [-2, 2], tolerance 1e-4",
    ),
    Problem(
        "onehot_mini",
        {"t": Operand((32, 1), "((8_L2B:1, 2:1, 2_W:1), ())", LM0, 0, MNType.INT)},
        (
            Step("Equal", ("t", "columns"), "p", (32, 16), MNType.INT, layout=MINI),
            Step("Cast", ("p",), "c", (32, 16), attrs={"to": 1}),
        ),
        Operand((32, 16), MINI, LM1),
        _draw(t=lambda rng: rng.integers(0, 16, (32, 1))),
        lambda v: (v["t"] == _COLUMNS).astype(np.float32),
        constants={"columns": _COLUMNS},
        assumed="T is ((8_L2B:1, 2:1, 2_W:1))@$lm[0:4]",
    ),
    Problem(
        "onehot",
        {"t": _LABELS},
        (
            Step("Equal", ("t", "columns"), "p", (256, 16), MNType.INT, layout=G),
            Step("Cast", ("p",), "c", (256, 16), attrs={"to": 1}),
        ),
        Operand((256, 16), G, LM1),
        _draw(t=_labels),
        lambda v: (v["t"] == _COLUMNS).astype(np.float32),
        constants={"columns": _COLUMNS},
    ),
    _rows("max_row", "ReduceMax", np.max, 0.0),
    Problem(
        "sum_row_mini",
        {"a": Operand((4, 16), SMALL)},
        (Step("ReduceSum", ("a",), "c", (4,), attrs={"axes": [1], "keepdims": 0}),),
        Operand((4,), "((2:1, 2_W:1))", LM1),
        _draw(a=_integers((4, 16))),
        lambda v: v["a"].sum(axis=1),
        1e-4,
    ),
    _rows("sum_row", "ReduceSum", np.sum, 1e-4),
    Problem(
        "sum_col",
        {"a": Operand((256, 16), R)},
        (Step("ReduceSum", ("a",), "c", (16,), attrs={"axes": [0], "keepdims": 0}),),
        Operand((16,), ROW, DRAM, dram=D16),
        _draw(a=_integers((256, 16))),
        lambda v: v["a"].sum(axis=0),
        1e-3,
        assumed="group 0 gets the sums; the page wants them in all four",
    ),
    Problem(
        "gather_sum",
        {"x": Operand((256, 16), G), "t": Operand((256, 1), V_COLUMN, LM0, 256, MNType.INT)},
        (
            Step("Equal", ("t", "columns"), "p", (256, 16), MNType.INT, layout=G),
            Step("Where", ("p", "x", "zero"), "m", (256, 16)),
            Step("ReduceSum", ("m",), "c", (), attrs={"keepdims": 0}),
        ),
        Operand((), "()", DRAM),
        _draw(x=_integers((256, 16)), t=_labels),
        lambda v: np.take_along_axis(v["x"], v["t"], axis=1).sum(),
        1e-5,
        {"columns": _COLUMNS, "zero": np.zeros((), np.float32)},
        assumed="T at $lm[256:320]",
    ),
    *(_transfer(name, shape, chip, dram, up="_ul_" in name) for name, shape, chip, dram in TRANSFERS),
    *MATMULS,
)
