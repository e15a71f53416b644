"""Reductions over every level of the chip, alone and mixed, against the reference and against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from compiler.graph import MNType
from compiler.layout import PadLayout
from compiler.layout.folding import fold
from tests.compiler import onelayer

FLOAT, INT, HALF = MNType.FLOAT, MNType.INT, MNType.HALF
NUMPY = {"ReduceSum": np.sum, "ReduceMax": np.max, "ReduceMin": np.min, "ReduceProd": np.prod}

FAST = ("words and PEs", "MABs odd bits", "L1Bs in part", "rows of a matrix")
FAST_SUMS = (*FAST, "few results, MABs", "MABs in fours, L1Bs", "L2Bs", "banks, groups alike", "all levels")
EXTREMES = [("ReduceMax", FLOAT), ("ReduceMin", FLOAT), ("ReduceMax", INT), ("ReduceMin", INT)]

#: name: (layout of the operand, reduced axes)
CASES: dict[str, tuple[str, tuple[int, ...]]] = {
    "few results": ("(3,64)/((3:8),(8:1,4_PE:1,2_W:1);B@[MAB,L1B,L2B])", (1,)),
    "few results, MABs": ("(3,999)/((3:8),(8:1,16_MAB:1,4_PE:1,2_W:1);B@[L1B,L2B])", (1,)),
    "addresses": ("(13,7)/((8_L2B:1,2:7),(7:1);B@[PE,W,MAB,L1B])", (1,)),
    "words and PEs": ("(70,50)/((8_L2B:1,8_L1B:1,2:1),(7:2,4_PE:1,2_W:1);B@[MAB])", (1,)),
    "words": ("(5,16)/((4_PE:1,2:8),(8:1,2_W:1);B@[MAB,L1B,L2B])", (1,)),
    "PEs low": ("(6,2)/((2_PE:2,3:1),(2_PE:1);B@[W,MAB,L1B,L2B])", (1,)),
    "PEs high": ("(6,2)/((2_PE:1,3:1),(2_PE:2);B@[W,MAB,L1B,L2B])", (1,)),
    "MABs": ("(11,32)/((6:1,2_W:1),(16_MAB:1,2:6);B@[PE,L1B,L2B])", (1,)),
    "MABs and PEs": ("(9,60)/((9:1),(16_MAB:1,4_PE:1);B@[W,L1B,L2B])", (1,)),
    "MABs in fours": ("(17,4)/((4_MAB:4,5:1),(4_MAB:1);B@[PE,W,L1B,L2B])", (1,)),
    "MABs odd bits": ("(9,4)/((2_MAB:8,2_MAB:2,3:1),(2_MAB:4,2_MAB:1);B@[PE,W,L1B,L2B])", (1,)),
    "MABs upper bits": ("(9,4)/((4_MAB:1,3:1),(4_MAB:4);B@[PE,W,L1B,L2B])", (1,)),
    "MABs with copies": ("(9,8)/((3:1,4_PE:1),(8_MAB:2);B@[W,2_MAB:1,L1B,L2B])", (1,)),
    "L1Bs": ("(40,8)/((16_MAB:1,4:1),(8_L1B:1);B@[PE,W,L2B])", (1,)),
    "L1Bs, MABs alike": ("(23,24)/((4_PE:1,6:1),(8_L1B:1,3:6);B@[W,MAB,L2B])", (1,)),
    "L1Bs in part": ("(10,4)/((2_L1B:2,5:1),(2_L1B:4,2_L1B:1);B@[PE,W,MAB,L2B])", (1,)),
    "L1Bs with copies": ("(10,4)/((5:1,2_W:1),(4_L1B:2);B@[PE,2_L1B:1,MAB,L2B])", (1,)),
    "L1Bs and MABs": ("(10,128)/((5:1,2_W:1),(8_L1B:1,16_MAB:1);B@[PE,L2B])", (1,)),
    "MABs in fours, L1Bs": ("(12,32)/((4_MAB:4,3:1),(8_L1B:1,4_MAB:1);B@[PE,W,L2B])", (1,)),
    "L2Bs": ("(8,33)/((8_L2B:1,1:1),(9:1,4_PE:1);B@[W,MAB,L1B])", (0,)),
    "L2Bs, PEs alike": ("(8,33)/((8_L2B:1),(17:1,2_W:1);B@[PE,MAB,L1B])", (0,)),
    "L2Bs and MABs": ("(16,8,10)/((16_MAB:1),(8_L2B:1),(10:1);B@[PE,W,L1B])", (1,)),
    "banks": ("(2,20)/((2_L2B:1),(4_L2B:2,5:1);B@[PE,W,MAB,L1B])", (0,)),
    "groups": ("(4,10)/((4_L2B:2),(2_L2B:1,5:1);B@[PE,W,MAB,L1B])", (0,)),
    "groups, banks alike": ("(4,10)/((4_L2B:2),(5:1,2_W:1);B@[PE,MAB,L1B,2_L2B:1])", (0,)),
    "banks, groups alike": ("(2,10)/((2_L2B:1),(5:1,2_W:1);B@[PE,MAB,L1B,4_L2B:2])", (0,)),
    "rows of a matrix": ("(125,10)/((8_L2B:1,8_L1B:1,2:1),(2:2,4_PE:1,2_W:1);B@[MAB])", (0,)),
    "everything": ("(125,10)/((8_L2B:1,8_L1B:1,2:1),(2:2,4_PE:1,2_W:1);B@[MAB])", (0, 1)),
    "all levels": ("(3,1000)/((3:1),(8_L2B:1,8_L1B:1,16_MAB:1);B@[PE,W])", (1,)),
    "middle axis": ("(3,5,6)/((3:1),(8_L1B:1),(2:3,4_PE:1);B@[W,MAB,L2B])", (1,)),
    "many addresses": ("(150,4)/((150:1),(8_L1B:1);B@[PE,W,MAB,L2B])", (1,)),
    "many addresses over L2Bs": ("(150,8)/((75:1,2_W:1),(8_L2B:1);B@[PE,MAB,L1B])", (1,)),
}


def _values(shape: tuple[int, ...], dtype: MNType, seed: int) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(seed)
    if dtype is INT:
        return rng.integers(-(2**31), 2**31, shape)
    spread = 3 if dtype is HALF else 12
    values = rng.standard_normal(shape) * np.exp2(rng.integers(-spread, spread, shape))
    return np.where(rng.random(shape) < 0.1, -0.0, values).astype(np.float32)


def _check(op_type: str, dtype: MNType, layout: str, axes: tuple[int, ...], *, keep: bool, wish: str = "") -> None:
    shape = tuple(int(n) for n in layout[1 : layout.index(")")].split(","))
    values = _values(shape, dtype, len(layout) + len(op_type))
    want = NUMPY[op_type](values, axis=axes, keepdims=keep)
    graph = onelayer.one_node(op_type, shape, want.shape, (dtype, dtype), axes=list(axes), keepdims=int(keep))
    raw = onelayer.check(graph, layout, values, wish)
    if dtype is INT:
        np.testing.assert_array_equal(raw.view(np.int32), want.astype(np.int32))
    elif dtype is FLOAT and op_type == "ReduceSum":
        wide = values.astype(np.float64)
        error = np.abs(raw.view(np.float32) - wide.sum(axis=axes, keepdims=keep))
        assert (error <= 1e-6 * np.abs(wide).sum(axis=axes, keepdims=keep)).all()
    elif dtype is FLOAT and op_type != "ReduceProd":
        np.testing.assert_array_equal(raw.view(np.float32), want)


@pytest.mark.parametrize("name", [n if n in FAST_SUMS else pytest.param(n, marks=pytest.mark.slow) for n in CASES])
def test_sums_of_singles(name: str) -> None:
    layout, axes = CASES[name]
    _check("ReduceSum", FLOAT, layout, axes, keep=len(name) % 2 == 0)


@pytest.mark.parametrize("name", [n if n in FAST else pytest.param(n, marks=pytest.mark.slow) for n in CASES])
def test_sums_of_integers(name: str) -> None:
    layout, axes = CASES[name]
    _check("ReduceSum", INT, layout, axes, keep=len(name) % 2 == 0)


@pytest.mark.parametrize("op_type, dtype", [("ReduceSum", FLOAT), ("ReduceSum", INT), ("ReduceMax", FLOAT)])
def test_results_packed_into_the_words_of_long_words(op_type: str, dtype: MNType) -> None:
    layouts = {
        "(60,16)/((4_L2B:2,20:2),(2:1,4_PE:1,2_W:1);B@[MAB,L1B,2_L2B:1])": "((4_L2B:2,10:1,2_W:1);B@[2_L2B:1])",
        "(4,16)/((4:2),(2:1,4_PE:1,2_W:1);B@[MAB,L1B,L2B])": "((2:1,2_W:1))",
        "(6,10)/((6:5),(5:1,2_W:1);B@[PE,MAB,L1B,L2B])": "((3:1,2_W:1))",
        "(4,32)/((4:1),(16_MAB:1,2_W:1);B@[PE,L1B,L2B])": "((2:1,2_W:1))",
        "(20,8,16)/((20:1),(8_L1B:1),(8_MAB:2,2_W:1);B@[PE,L2B,2_MAB:1])": "((10:1,2_W:1),(8_L1B:1))",
    }
    for layout, wish in layouts.items():
        _check(op_type, dtype, layout, (layout.split("/")[0].count(","),), keep=False, wish=wish)


def test_products() -> None:
    for name in ("words and PEs", "MABs odd bits"):
        layout, axes = CASES[name]
        _check("ReduceProd", FLOAT, layout, axes, keep=False)


@pytest.mark.parametrize("op_type", ["ReduceMax", "ReduceMin"])
def test_extremes_of_halves(op_type: str) -> None:
    layouts = {
        "(70,50)/((8_L2B:1,8_L1B:1,2:1),(4:2,4_PE:1,4_W:1);B@[MAB])": (1,),
        "(11,32)/((6:1,2_W:2),(8_MAB:2,2:6,2_W:1);B@[PE,L1B,L2B,2_MAB:1])": (1,),
        "(8,64)/((4:1,2_W:1),(16_MAB:1,8_L1B:1);B@[PE,L2B,2_W:2])": (1,),
        "(8,64)/((8_L2B:1),(16_MAB:1,4_W:1);B@[PE,L1B])": (0,),
    }
    for layout, axes in layouts.items():
        _check(op_type, HALF, layout, axes, keep=True)


@pytest.mark.parametrize("name", [n if n in FAST else pytest.param(n, marks=pytest.mark.slow) for n in CASES])
@pytest.mark.parametrize("op_type, dtype", EXTREMES)
def test_extremes(name: str, op_type: str, dtype: MNType) -> None:
    layout, axes = CASES[name]
    folding = fold(PadLayout.parse(layout).layout, axes, 2)
    assert folding is not None
    if dtype is INT and folding.l2b_move:
        pytest.skip("the MV orders sign-magnitude numbers and delivers in DRAM, where nothing turns them back")
    _check(op_type, dtype, layout, axes, keep=len(name) % 2 == 1)


ARG_CASES = {
    "words and PEs": "(70,50)/((8_L2B:1,8_L1B:1,2:1),(7:2,4_PE:1,2_W:1);B@[MAB])",
    "addresses": "(13,7)/((8_L2B:1,2:7),(7:1);B@[PE,W,MAB,L1B])",
    "words apart": "(14,9)/((7:1,2_W:1),(3:7,4_PE:1);B@[MAB,L1B,L2B])",
    "PEs and MABs": "(9,60)/((9:1),(4_PE:1,16_MAB:1);B@[W,L1B,L2B])",
    "MABs odd bits": "(9,4)/((2_MAB:8,2_MAB:2,3:1),(2_MAB:4,2_MAB:1);B@[PE,W,L1B,L2B])",
    "L1Bs and addresses": "(40,30)/((16_MAB:1,3:1),(4:3,8_L1B:1);B@[PE,W,L2B])",
    "MABs in fours, L1Bs": "(12,32)/((4_MAB:4,3:1),(8_L1B:1,4_MAB:1);B@[PE,W,L2B])",
}


@pytest.mark.parametrize("name", ARG_CASES)
@pytest.mark.parametrize("op_type, dtype", [("ArgMax", FLOAT), ("ArgMin", INT), ("ArgMax", HALF)])
def test_index_of_the_extreme(name: str, op_type: str, dtype: MNType) -> None:
    """Many equal elements, so that the first one must win across all levels; negative zero equals zero."""
    layout = ARG_CASES[name]
    if dtype is HALF:
        if "2_W" in layout and name != "words and PEs":
            return
        layout = layout.replace("7:2,4_PE:1,2_W:1", "4:2,4_PE:1,4_W:1")
    rows, columns = (int(n) for n in layout[1 : layout.index(")")].split(","))
    values = np.random.default_rng(len(layout)).integers(-2, 1 if op_type == "ArgMax" else 3, (rows, columns))
    if dtype is not INT:
        values = np.where(values == 0, np.where(np.arange(columns) % 2 == 0, -0.0, 0.0), values).astype(np.float32)
    graph = onelayer.one_node(op_type, (rows, columns), (rows,), (dtype, INT), axis=1, keepdims=0)
    raw = onelayer.check(graph, layout, values)
    want = values.argmax(axis=1) if op_type == "ArgMax" else values.argmin(axis=1)
    np.testing.assert_array_equal(raw, want.astype(np.uint32))
