"""The built-in program `eval_step`: the evaluation step of a small classifier for 28 x 28 digits in a 32 x 32 frame.

125 images in, the number of correct answers out: Gemm 1024 -> 256, ReLU, Gemm 256 -> 10, ArgMax, Equal, sum.  The
weights are zeros: time does not depend on them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import onnx
    from numpy.typing import NDArray

    from hw.program import Program

NAME = "eval_step"
BATCH, PIXELS, HIDDEN, CLASSES = 125, 32, 256, 10


def eval_step_model() -> onnx.ModelProto:
    """The optimised ONNX model with complete value_info."""
    import numpy as np
    from onnx import TensorProto, helper, numpy_helper

    depth = PIXELS * PIXELS
    shapes = {
        "x": (TensorProto.FLOAT, [BATCH, 1, PIXELS, PIXELS]),
        "t": (TensorProto.INT64, [BATCH]),
        "correct": (TensorProto.INT64, []),
        "flat": (TensorProto.FLOAT, [BATCH, depth]),
        "hidden": (TensorProto.FLOAT, [BATCH, HIDDEN]),
        "active": (TensorProto.FLOAT, [BATCH, HIDDEN]),
        "logits": (TensorProto.FLOAT, [BATCH, CLASSES]),
        "answer": (TensorProto.INT64, [BATCH]),
        "equal": (TensorProto.BOOL, [BATCH]),
    }
    infos = {name: helper.make_tensor_value_info(name, *shape) for name, shape in shapes.items()}
    constants: dict[str, NDArray[Any]] = {
        "shape": np.array([BATCH, depth], np.int64),
        "w1": np.zeros((HIDDEN, depth), np.float32),
        "b1": np.zeros(HIDDEN, np.float32),
        "w2": np.zeros((CLASSES, HIDDEN), np.float32),
        "b2": np.zeros(CLASSES, np.float32),
    }
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["flat"]),
        helper.make_node("Gemm", ["flat", "w1", "b1"], ["hidden"], transB=1),
        helper.make_node("Relu", ["hidden"], ["active"]),
        helper.make_node("Gemm", ["active", "w2", "b2"], ["logits"], transB=1),
        helper.make_node("ArgMax", ["logits"], ["answer"], axis=1, keepdims=0),
        helper.make_node("Equal", ["answer", "t"], ["equal"]),
        helper.make_node(
            "ChainerCastReduceSum", ["equal"], ["correct"], domain="mncore", to=TensorProto.INT64, keepdims=0
        ),
    ]
    graph = helper.make_graph(
        nodes,
        NAME,
        [infos["x"], infos["t"]],
        [infos["correct"]],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
        value_info=[infos[name] for name in ("flat", "hidden", "active", "logits", "answer", "equal")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid("mncore", 1)])


@lru_cache(maxsize=1)
def eval_step_program() -> Program:
    """The program that the compiler makes of it with default options."""
    from compiler.codegen import compile_model
    from compiler.options import Options

    return compile_model(eval_step_model(), Options.resolve({}, {})).program
