"""Integer division, remainders, bits, sine and cosine: formulas over all magnitudes, then the operators on the chip."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from onnx import helper

from compiler.codegen import compile_model
from compiler.emit.tape import Formula, Tape
from compiler.errors import UnsupportedOperator
from compiler.graph import MNType
from compiler.layers import divmod, trigonometric
from compiler.layers.tape_eval import evaluate
from compiler.options import Options
from tests.compiler import machine
from tests.compiler.elementwise_cases import run

Array = NDArray[Any]
RNG = np.random.default_rng(0)


def _compute(formula: Formula, *inputs: Array, **settings: Any) -> Array:
    tape = Tape()
    tape.finish(formula(tape, *[tape.input() for _ in inputs], **settings))
    return evaluate(tape, [np.ascontiguousarray(x).view(np.uint32) for x in inputs])


def _integers(count: int) -> tuple[Array, Array]:
    """Numerators and divisors of all sizes, boundary values among them; no divisor is 0."""
    sizes = [RNG.integers(-(2**bits) + 1, 2**bits, count) for bits in (4, 10, 20, 26, 31)]
    edges = np.array([2**31 - 1, -(2**31) + 1, 2**24 + 1, 2**24 - 1, 65536, 1, -1, 3, -7])
    x, y = (np.concatenate([RNG.permutation(np.concatenate(sizes)), RNG.choice(edges, count)]) for _ in range(2))
    return x.astype(np.int32), np.where(y == 0, 5, y).astype(np.int32)


def test_integer_division_is_exact() -> None:
    x, y = _integers(20_000)
    wide, by = x.astype(np.int64), y.astype(np.int64)
    got = _compute(divmod.divide_int, x, y).view(np.int32)
    np.testing.assert_array_equal(got, np.sign(wide) * np.sign(by) * (np.abs(wide) // np.abs(by)))
    np.testing.assert_array_equal(_compute(divmod.remainder_int, x, y, fmod=0.0).view(np.int32), np.mod(wide, by))
    np.testing.assert_array_equal(_compute(divmod.remainder_int, x, y, fmod=1.0).view(np.int32), np.fmod(wide, by))


def test_remainders_of_floats() -> None:
    x = (RNG.standard_normal(50_000) * 100).astype(np.float32)
    y = RNG.choice(np.array([0.1, -0.7, 3.0, 64.0], np.float32), x.size)
    x[:500] = np.round(x[:500]) * y[:500]  # what nearly divides
    got = _compute(divmod.remainder, x, y, fmod=1.0).view(np.float32)
    want = np.fmod(x.astype(np.float64), y.astype(np.float64))
    assert (np.abs(got) < np.abs(y)).all() and (np.signbit(got) == np.signbit(x)).all()
    # A rest of nearly 0 and one of nearly y are neighbours.
    gap = np.abs(np.abs(got - want) - np.where(np.abs(got - want) > np.abs(y) / 2, np.abs(y), 0))
    assert gap.max() <= np.abs(x).max() * 2.0**-23


@pytest.mark.parametrize("reach", [3.0, 8192.0])
def test_sine_and_cosine(reach: float) -> None:
    x = np.concatenate([RNG.uniform(-reach, reach, 50_000), np.arange(-8, 9) * (np.pi / 4), [0.0]]).astype(np.float32)
    for formula, meaning in ((trigonometric.sine, np.sin), (trigonometric.cosine, np.cos)):
        got = _compute(formula, x).view(np.float32).astype(np.float64)
        assert np.abs(got - meaning(x.astype(np.float64))).max() < 2.0**-22
        far = _compute(formula, np.array([1e30, np.inf, -np.inf], np.float32)).view(np.float32)
        assert (np.abs(far) <= 1).all()


def test_on_the_chip() -> None:
    i, j = _integers(40)
    x, y = (RNG.standard_normal(240) * 9).astype(np.float32), np.full(240, 0.75, np.float32)
    feeds = {"i": i.astype(np.int64), "j": j.astype(np.int64), "x": x, "y": y}
    operators: dict[str, tuple[list[str], dict[str, int], Array]] = {
        "Div": (["i", "j"], {}, np.sign(i) * np.sign(j) * (np.abs(i.astype(np.int64)) // np.abs(j.astype(np.int64)))),
        "Mod": (["i", "j"], {}, np.mod(i, j)),
        "BitwiseAnd": (["i", "j"], {}, i & j),
        "BitwiseOr": (["i", "j"], {}, i | j),
        "BitwiseXor": (["i", "j"], {}, i ^ j),
        "BitwiseNot": (["i"], {}, ~i),
    }
    nodes = [helper.make_node(op, inputs, [op], **attrs) for op, (inputs, attrs, _) in operators.items()]
    nodes += [helper.make_node("Mod", ["x", "y"], ["rest"], fmod=1)]
    nodes += [helper.make_node(op, ["x"], [op]) for op in ("Sin", "Cos")]
    outputs: dict[str, tuple[str, Any]] = {op: ("i", i.shape) for op in operators}
    outputs |= {name: ("f", x.shape) for name in ("rest", "Sin", "Cos")}
    _, got = run(nodes, feeds, outputs)
    for op, (_, _, want) in operators.items():
        np.testing.assert_array_equal(got[op], want, err_msg=op)
    np.testing.assert_allclose(got["rest"], np.fmod(x, y), atol=1e-6)
    np.testing.assert_allclose(got["Sin"], np.sin(x), atol=2.0**-22)
    np.testing.assert_allclose(got["Cos"], np.cos(x), atol=2.0**-22)


def test_bytes_are_converted_and_moved_but_not_calculated_with() -> None:
    x = RNG.integers(0, 256, (5, 6)).astype(np.uint8)
    info = [helper.make_tensor_value_info(name, kind, x.shape) for name, kind in (("x", 2), ("t", 2), ("y", 1))]
    nodes = [helper.make_node("Transpose", ["x"], ["t"], perm=[0, 1]), helper.make_node("Cast", ["t"], ["y"], to=1)]
    model = helper.make_model(
        helper.make_graph(nodes, "g", info[:1], info[2:], value_info=info[1:2]),
        opset_imports=[helper.make_opsetid("", 18)],
    )
    compiled = compile_model(model, Options.resolve({}, {}))
    assert compiled.inputs["x"].dtype is MNType.INT
    np.testing.assert_array_equal(machine.run(compiled, {"x": x})["y"].view(np.float32), x.astype(np.float32))
    model.graph.node[0].CopyFrom(helper.make_node("Add", ["x", "x"], ["t"]))
    with pytest.raises(UnsupportedOperator, match="Add 't': arithmetic in UINT8"):
        compile_model(model, Options.resolve({}, {}))
