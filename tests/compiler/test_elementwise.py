"""Element-wise operators compiled the normal way: chip and reference agree in every bit, and both with NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import helper

from tests.compiler.elementwise_cases import run, sample

Array = NDArray[Any]

BINARY: dict[str, tuple[str, str, Callable[[Array, Array], Array]]] = {
    # operator: (operand kinds, result kind or "" for the operands', meaning)
    "Add": ("fi", "", np.add),
    "Sub": ("fi", "", np.subtract),
    "Mul": ("fi", "", np.multiply),
    "Max": ("fi", "", np.maximum),
    "Min": ("fi", "", np.minimum),
    "Equal": ("fi", "b", np.equal),
    "Less": ("fi", "b", np.less),
    "LessOrEqual": ("fi", "b", np.less_equal),
    "Greater": ("fi", "b", np.greater),
    "GreaterOrEqual": ("fi", "b", np.greater_equal),
    "And": ("b", "b", np.logical_and),
    "Or": ("b", "b", np.logical_or),
    "Xor": ("b", "b", np.logical_xor),
}
SHAPES: list[tuple[tuple[int, ...], tuple[int, ...]]] = [
    ((125, 7), (125, 7)),
    ((67, 5), (5,)),
    ((13, 1), (1, 37)),
    ((), (70,)),
    ((3, 5, 11), (5, 1)),
    ((2, 3, 1, 9), (3, 4, 1)),
    ((1,), ()),
    ((200, 70), (200, 1)),
]


def _same(got: Array, want: Array) -> None:
    """Equal values; floats to the last bit but one, since the multiplier omits partial products."""
    want = want.astype(got.dtype)
    tiny = np.abs(want) < 2.0**-126 if want.dtype.kind == "f" else np.zeros(want.shape, bool)
    want = np.where(tiny, 0, want)
    known = np.isfinite(want) if want.dtype.kind == "f" else np.ones(want.shape, bool)
    np.testing.assert_allclose(got[known], want[known], rtol=2.0**-23, atol=0)


@pytest.mark.parametrize("a, b", SHAPES)
def test_binary_operators_broadcast(a: Sequence[int], b: Sequence[int]) -> None:
    rng = np.random.default_rng(len(a) * 10 + len(b))
    shape = np.broadcast_shapes(a, b)
    feeds = {f"{side}_{kind}": sample(rng, kind, s) for side, s in (("a", a), ("b", b)) for kind in "fib"}
    nodes, outputs, wanted = [], {}, {}
    for op, (kinds, result, meaning) in BINARY.items():
        for kind in kinds:
            name = f"{op}_{kind}"
            operands = (f"a_{kind}", f"b_{kind}")
            nodes.append(helper.make_node(op, operands, [name]))
            outputs[name] = (result or kind, shape)
            with np.errstate(all="ignore"):
                wanted[name] = meaning(feeds[operands[0]], feeds[operands[1]])
    _, got = run(nodes, feeds, outputs)
    for name, want in wanted.items():
        if name in ("Add_i", "Sub_i", "Mul_i"):
            want = want.astype(np.int32)
        _same(got[name], want)


@pytest.mark.parametrize("shape", [(125, 7), (2, 3, 5, 7), (31,), ()])
def test_unary_operators_keep_bits(shape: Sequence[int]) -> None:
    rng = np.random.default_rng(3)
    feeds = {kind: sample(rng, kind, shape) for kind in "fib"}
    cases = [("Neg", "f"), ("Neg", "i"), ("Abs", "f"), ("Abs", "i"), ("Relu", "f"), ("Not", "b")]
    nodes = [helper.make_node(op, [kind], [f"{op}_{kind}"]) for op, kind in cases]
    _, got = run(nodes, feeds, {f"{op}_{kind}": (kind, shape) for op, kind in cases})
    f, i = feeds["f"], feeds["i"].astype(np.int32)
    np.testing.assert_array_equal(got["Neg_f"].view(np.uint32), (-f).view(np.uint32))
    np.testing.assert_array_equal(got["Abs_f"].view(np.uint32), np.abs(f).view(np.uint32))
    np.testing.assert_array_equal(got["Neg_i"], -i)
    np.testing.assert_array_equal(got["Abs_i"], np.abs(i))
    np.testing.assert_array_equal(got["Relu_f"], np.maximum(f, 0))
    np.testing.assert_array_equal(got["Not_b"], ~feeds["b"])


@pytest.mark.parametrize("shapes", [((125, 9), (125, 9), (125, 9)), ((1, 9), (125, 1), ()), ((), (4, 3), (3,))])
def test_where_chooses_bits(shapes: Sequence[Sequence[int]]) -> None:
    rng = np.random.default_rng(4)
    feeds = {"c": sample(rng, "b", shapes[0])}
    feeds |= {f"{n}_{kind}": sample(rng, kind, s) for n, s in zip("xy", shapes[1:], strict=True) for kind in "fi"}
    shape = np.broadcast_shapes(*shapes)
    nodes = [helper.make_node("Where", ["c", f"x_{kind}", f"y_{kind}"], [kind]) for kind in "fi"]
    _, got = run(nodes, feeds, {kind: (kind, shape) for kind in "fi"})
    for kind in "fi":
        np.testing.assert_array_equal(got[kind], np.where(feeds["c"], feeds[f"x_{kind}"], feeds[f"y_{kind}"]))


def test_constants_of_one_element_become_immediates() -> None:
    rng = np.random.default_rng(5)
    x = sample(rng, "f", (70, 3))
    nodes = [
        helper.make_node("Sub", ["c", "x"], ["d"]),
        helper.make_node("Mul", ["d", "k"], ["m"]),
        helper.make_node("GreaterOrEqual", ["m", "z"], ["p"]),
        helper.make_node("Where", ["p", "m", "z"], ["y"]),
        helper.make_node("Max", ["y", "c", "k", "x"], ["top"]),
    ]
    constants = {"c": np.float32(2.5), "k": np.array([[0.5]], np.float32), "z": np.float32(0)}
    inner = {name: ("f", (70, 3)) for name in ("d", "m")} | {"p": ("b", (70, 3))}
    compiled, got = run(nodes, {"x": x}, {"y": ("f", (70, 3)), "top": ("f", (70, 3))}, inner=inner, constants=constants)
    assert compiled.params == {}
    m = (np.float32(2.5) - x) * np.float32(0.5)
    np.testing.assert_array_equal(got["y"], np.where(m >= 0, m, 0))
    np.testing.assert_array_equal(got["top"], np.maximum(np.maximum(got["y"], 2.5), x))


@pytest.mark.parametrize(("x_shape", "c_shape", "inlined"), [((5, 7), (5, 7), True), ((5, 1), (5, 7), False)])
def test_uniform_constants_become_immediates_where_they_do_not_give_the_shape(
    x_shape: Sequence[int], c_shape: Sequence[int], inlined: bool
) -> None:
    x = sample(np.random.default_rng(7), "f", x_shape)
    nodes = [helper.make_node("Sub", ["x", "c"], ["y"])]
    compiled, got = run(nodes, {"x": x}, {"y": ("f", (5, 7))}, constants={"c": np.full(c_shape, 1.25, np.float32)})
    assert (compiled.params == {}) == inlined
    np.testing.assert_array_equal(got["y"], np.broadcast_to(x, (5, 7)) - np.float32(1.25))


def test_zeros_of_both_signs_are_not_uniform() -> None:
    x = np.zeros((2, 2), np.float32)
    zeros = np.array([[0.0, -0.0], [-0.0, 0.0]], np.float32)
    nodes = [helper.make_node("Where", ["b", "x", "c"], ["y"])]
    feeds = {"b": np.zeros((2, 2), bool), "x": x}
    _, got = run(nodes, feeds, {"y": ("f", (2, 2))}, constants={"c": zeros})
    np.testing.assert_array_equal(np.signbit(got["y"]), np.signbit(zeros))


def test_chain_after_a_broadcast_keeps_the_layout_of_the_result() -> None:
    """No layout switch anywhere: every free input takes the projection of what it meets."""
    rng = np.random.default_rng(6)
    feeds = {"x": sample(rng, "f", (40, 6, 10)), "s": sample(rng, "f", (40, 1, 1)), "b": sample(rng, "f", (10,))}
    nodes = [helper.make_node("Mul", ["x", "s"], ["m"]), helper.make_node("Add", ["b", "m"], ["y"])]
    compiled, _ = run(nodes, feeds, {"y": ("f", (40, 6, 10))}, inner={"m": ("f", (40, 6, 10))})
    assert not any("LayoutSwitch" in node.op_type for node in compiled.graph.nodes)


UNARY: dict[str, dict[str, Any]] = {
    "Reciprocal": {},
    "Sqrt": {},
    "Exp": {},
    "Log": {},
    "Sigmoid": {},
    "Tanh": {},
    "Erf": {},
    "Gelu": {"approximate": "tanh"},
    "Softplus": {},
    "Elu": {"alpha": 0.75},
    "LeakyRelu": {"alpha": 0.1},
    "HardSigmoid": {},
    "HardSwish": {},
    "Sign": {},
    "Floor": {},
    "Ceil": {},
    "Round": {},
}


@pytest.mark.parametrize("shape", [(125, 9), (2, 3, 5, 7), (31,), (), (150, 40)])
def test_functions_on_the_chip_have_the_bits_of_the_reference(shape: Sequence[int]) -> None:
    rng = np.random.default_rng(7)
    x = sample(rng, "f", shape)
    nodes = [helper.make_node(op, ["x"], [op], **attributes) for op, attributes in UNARY.items()]
    nodes += [helper.make_node("Rsqrt", ["x"], ["Rsqrt"]), helper.make_node("Silu", ["x"], ["Silu"])]
    names = [*UNARY, "Rsqrt", "Silu"]
    _, got = run(nodes, {"x": x}, {name: ("f", shape) for name in names})
    for name, meaning in (("Sign", np.sign), ("Floor", np.floor), ("Ceil", np.ceil), ("Round", np.round)):
        np.testing.assert_array_equal(got[name], meaning(x), err_msg=name)
    leaky = np.where(x >= 0, x, x * np.float32(0.1))
    np.testing.assert_allclose(got["LeakyRelu"], leaky, rtol=2.0**-23, atol=2.0**-126)


@pytest.mark.parametrize("a, b", [((125, 7), (125, 7)), ((5, 1, 3), (4, 1)), ((), (200, 33)), ((64, 40), ())])
def test_division_and_powers_broadcast(a: Sequence[int], b: Sequence[int]) -> None:
    rng = np.random.default_rng(8)
    shape = np.broadcast_shapes(a, b)
    feeds = {"a": sample(rng, "f", a), "b": sample(rng, "f", b)}
    nodes = [helper.make_node(op, ["a", "b"], [op]) for op in ("Div", "Pow", "PRelu")]
    nodes += [helper.make_node("Pow", ["a", "three"], ["cube"]), helper.make_node("Pow", ["two", "b"], ["exp2"])]
    nodes += [helper.make_node("Div", ["one", "b"], ["inverse"]), helper.make_node("Sum", ["a", "b", "a"], ["Sum"])]
    outputs = {name: ("f", shape) for name in ("Div", "Pow", "PRelu", "Sum")}
    outputs |= {"cube": ("f", a), "exp2": ("f", b), "inverse": ("f", b)}
    constants = {"three": np.float32(3), "two": np.float32(2), "one": np.array([1], np.float32)}
    if not b:
        constants["one"] = np.float32(1)
    _, got = run(nodes, feeds, outputs, constants=constants)
    with np.errstate(all="ignore"):
        want = feeds["a"].astype(np.float64) / feeds["b"]
    ordinary = (np.abs(want) > 2.0**-120) & (np.abs(want) < 2.0**120)
    np.testing.assert_allclose(got["Div"][ordinary], want[ordinary], rtol=2.0**-22)


def test_clip_with_missing_constant_and_computed_bounds() -> None:
    rng = np.random.default_rng(9)
    feeds = {"x": sample(rng, "f", (70, 5)), "i": sample(rng, "i", (70, 5)), "low": np.array(-1.5, np.float32)}
    nodes = [
        helper.make_node("Clip", ["x", "low", "four"], ["both"]),
        helper.make_node("Clip", ["x", "", "four"], ["upper"]),
        helper.make_node("Clip", ["x", "low"], ["lower"]),
        helper.make_node("Clip", ["i", "two"], ["whole"]),
        helper.make_node("Sign", ["i"], ["sign"]),
        helper.make_node("Mul", ["i", "two"], ["twice"]),
    ]
    outputs = {name: ("f", (70, 5)) for name in ("both", "upper", "lower")}
    outputs |= {name: ("i", (70, 5)) for name in ("whole", "sign", "twice")}
    _, got = run(nodes, feeds, outputs, constants={"four": np.float32(4), "two": np.int64(2)})
    x, i = feeds["x"], feeds["i"]
    np.testing.assert_array_equal(got["both"], np.clip(x, -1.5, 4))
    np.testing.assert_array_equal(got["upper"], np.minimum(x, 4))
    np.testing.assert_array_equal(got["lower"], np.maximum(x, -1.5))
    np.testing.assert_array_equal(got["whole"], np.maximum(i, 2))
    np.testing.assert_array_equal(got["sign"], np.sign(i))
    np.testing.assert_array_equal(got["twice"], (i * 2).astype(np.int32))
