"""One or more small nodes for each operator of PFVM's table: attributes and inputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

_RNG = np.random.default_rng(7)

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Case:
    operator: str
    inputs: list[Array | None]
    attributes: dict[str, Any] = field(default_factory=dict)
    outputs: int = 1

    @property
    def title(self) -> str:
        return self.operator + "".join(f"-{key}={value}" for key, value in self.attributes.items())


def _f(*shape: int) -> Array:
    return _RNG.standard_normal(shape).astype(np.float32)


def _i(*values: int) -> Array:
    return np.array(values, dtype=np.int64)


def _scalar(value: int) -> Array:
    return np.array(value, dtype=np.int64)


_X = _f(3, 4)
_BOOL = _X > 0
_INT = _RNG.integers(-9, 9, (3, 4))
_ANY_SIGN = [
    *("Relu", "Neg", "Abs", "Exp", "Reciprocal", "Floor", "Ceil", "Round", "Sign", "Erf", "Sin", "Cos", "Sigmoid"),
    *("Tanh", "Softplus", "HardSwish", "LeakyRelu", "Elu", "HardSigmoid", "Gelu", "IsNaN", "Softmax", "LogSoftmax"),
    *("Tan", "Atan", "Sinh", "Cosh", "Asinh", "Softsign", "Mish", "Celu", "Selu", "Trilu"),
    *("Identity", "Shape", "Size", "Transpose", "Flatten", "Dropout"),
]
_REDUCTIONS = [
    *("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2", "ReduceSumSquare"),
    "ReduceLogSumExp",
]
_COMPARISONS = ["Equal", "Less", "LessOrEqual", "Greater", "GreaterOrEqual"]

CASES: tuple[Case, ...] = (
    *(Case(name, [_X]) for name in _ANY_SIGN),
    *(Case(name, [np.abs(_X) + 1]) for name in ("Sqrt", "Log", "Acosh")),
    *(Case(name, [np.tanh(_X) / 2]) for name in ("Asin", "Acos", "Atanh")),
    *(Case(name, [_X, _f(4)]) for name in ("Add", "Sub", "Mul", "Div", "PRelu")),
    Case("Div", [_INT, _i(2, -3, 4, 5)]),
    Case("Pow", [np.abs(_X), _f(4)]),
    Case("Pow", [_INT, _i(2, 0, 1, 3)]),
    Case("Mod", [_INT, _i(3, -4, 5, -6)]),
    Case("Mod", [_X, _f(4)], {"fmod": 1}),
    Case("Clip", [_X, np.float32(-0.5), np.float32(0.5)]),  # type: ignore[list-item]
    Case("Clip", [_X, None, np.float32(0.5)]),  # type: ignore[list-item]
    *(Case(name, [_X, _f(4), _f(3, 1)]) for name in ("Max", "Min", "Sum", "Mean")),
    Case("Gelu", [_X], {"approximate": "tanh"}),
    Case("LeakyRelu", [_X], {"alpha": 0.3}),
    *(Case(name, [_INT, _INT.T.reshape(3, 4).copy()]) for name in _COMPARISONS),
    *(Case(name, [_BOOL, _BOOL[:, ::-1].copy()]) for name in ("And", "Or", "Xor")),
    *(Case(name, [_INT, _i(3, -4, 5, 6)]) for name in ("BitwiseAnd", "BitwiseOr", "BitwiseXor")),
    Case("BitwiseNot", [_INT]),
    Case("IsInf", [np.array([1, np.inf, -np.inf, np.nan], np.float32)]),
    Case("IsInf", [np.array([1, np.inf, -np.inf], np.float32)], {"detect_negative": 0}),
    Case("IsInf", [np.array([1, np.inf, -np.inf], np.float32)], {"detect_positive": 0}),
    Case("Not", [_BOOL]),
    Case("Where", [_BOOL, _X, _f(4)]),
    Case("Cast", [_X], {"to": 7}),
    Case("Cast", [_BOOL], {"to": 1}),
    Case("CastLike", [_INT, _f(1)]),
    Case("Gemm", [_f(3, 5), _f(5, 4), _f(4)]),
    Case("Gemm", [_f(5, 3), _f(4, 5), _f(3, 1)], {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0}),
    Case("Gemm", [_f(3, 5), _f(4, 5)], {"transB": 1, "alpha": 2.0}),
    Case("MatMul", [_f(2, 3, 5), _f(5, 4)]),
    Case("Conv", [_f(1, 4, 6, 6), _f(6, 2, 3, 3), _f(6)], {"group": 2, "strides": [2, 1], "pads": [1, 0, 1, 2]}),
    Case("ConvTranspose", [_f(1, 4, 5, 4), _f(4, 2, 3, 3)], {"strides": [2, 1], "pads": [1, 0, 0, 1]}),
    Case("ConvTranspose", [_f(2, 2, 5), _f(2, 3, 3)], {"strides": [3], "dilations": [2], "output_padding": [1]}),
    Case("Conv", [_f(1, 2, 7), _f(3, 2, 3)], {"auto_pad": "SAME_UPPER", "strides": [2]}),
    Case("ConvTranspose", [_f(1, 2, 4, 5), _f(2, 3, 3, 2), _f(3)], {"strides": [2, 1], "pads": [1, 0, 0, 1]}),
    Case("ConvTranspose", [_f(1, 2, 4), _f(2, 3, 3)], {"strides": [2], "output_padding": [1]}),
    Case("Resize", [_f(1, 2, 3, 4), None, np.array([1, 1, 2, 1.5], np.float32)], {"nearest_mode": "floor"}),
    *(
        Case("Resize", [_f(1, 1, 3, 4), None, None, _i(1, 1, 5, 2)], {"coordinate_transformation_mode": mode})
        for mode in ("asymmetric", "half_pixel", "align_corners", "pytorch_half_pixel")
    ),
    Case("DepthToSpace", [_f(1, 8, 2, 3)], {"blocksize": 2}),
    Case("DepthToSpace", [_f(1, 8, 2, 3)], {"blocksize": 2, "mode": "CRD"}),
    Case("SpaceToDepth", [_f(1, 2, 4, 6)], {"blocksize": 2}),
    Case("CumSum", [_X, _scalar(1)]),
    Case("CumSum", [_INT, _scalar(0)], {"reverse": 1}),
    Case("CumSum", [_INT, _scalar(-1)], {"exclusive": 1}),
    Case("Trilu", [_X, _scalar(-1)], {"upper": 0}),
    Case("MaxPool", [_f(1, 2, 7, 7)], {"kernel_shape": [3, 2], "strides": [2, 2], "pads": [1, 0, 1, 1]}),
    Case("AveragePool", [_f(1, 2, 6, 6)], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}),
    Case("AveragePool", [_f(1, 2, 6, 6)], {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1], "count_include_pad": 1}),
    *(Case(name, [_f(2, 3, 4, 5)]) for name in ("GlobalAveragePool", "GlobalMaxPool")),
    *(Case(name, [_X, _i(1)], {"keepdims": 0}) for name in _REDUCTIONS),
    *(Case(name, [_X]) for name in _REDUCTIONS),
    *(Case(name, [_X], {"axis": 1, "keepdims": 0}) for name in ("ArgMax", "ArgMin")),
    Case("ArgMax", [np.array([[1, 2, 2], [3, 3, 1]], np.float32)], {"axis": 1, "select_last_index": 1}),
    Case("Softmax", [_X], {"axis": 0}),
    Case("Shape", [_f(2, 3, 4)], {"start": 1}),
    Case("Transpose", [_f(2, 3, 4)], {"perm": [2, 0, 1]}),
    Case("Constant", [], {"value_ints": [1, 2]}),
    Case("ConstantOfShape", [_i(2, 3)]),
    Case("Range", [_scalar(1), _scalar(9), _scalar(3)]),
    Case("Reshape", [_f(2, 3, 4), _i(0, -1)]),
    Case("Squeeze", [_f(1, 3, 1), _i(0)]),
    Case("Unsqueeze", [_X, _i(0, -1)]),
    Case("Expand", [_f(3, 1), _i(2, 1, 4)]),
    Case("Tile", [_X, _i(2, 1)]),
    Case("Concat", [_X, _f(3, 2)], {"axis": -1}),
    Case("Split", [_f(5, 2)], {"num_outputs": 2}, outputs=2),
    Case("Split", [_f(5, 2), _i(1, 4)], outputs=2),
    Case("Slice", [_f(6, 5), _i(1, -1), _i(100, -100), _i(0, 1), _i(2, -2)]),
    Case("Pad", [_X, _i(1, 0, 2, 1)]),
    *(Case("Pad", [_X, _i(1, 2, 2, 1)], {"mode": mode}) for mode in ("edge", "reflect", "wrap")),
    Case("Gather", [_f(4, 3), np.array([[0, -1], [2, 2]])], {"axis": 1}),
    Case("GatherElements", [_X, np.array([[0, -1], [2, 2], [1, 0]])], {"axis": 1}),
    Case("ScatterElements", [_X, np.array([[0, -1], [2, 1], [1, 0]]), _f(3, 2)], {"axis": 1}),
    Case("ScatterElements", [_X, np.array([[0, 0], [2, 2], [1, 1]]), _f(3, 2)], {"axis": 1, "reduction": "add"}),
    Case("GatherND", [_f(2, 3, 4), np.array([[0, -1], [1, 2]])]),
    Case("GatherND", [_f(2, 3, 4), np.array([[[1]], [[-1]]])], {"batch_dims": 1}),
    Case("ScatterND", [_f(3, 4), np.array([[0, -1], [2, 2]]), _f(2)]),
    Case("ScatterND", [_f(3, 4), np.array([[1], [1]]), _f(2, 4)], {"reduction": "add"}),
    Case("OneHot", [_i(0, 2, -1, 9), _scalar(4), np.array([0, 5], np.float32)]),
    Case("TopK", [_X, _i(2)], {"axis": 1}, outputs=2),
    Case("TopK", [_X, _i(2)], {"axis": 0, "largest": 0}, outputs=2),
    Case("BatchNormalization", [_f(2, 3, 4), _f(3), _f(3), _f(3), np.abs(_f(3))]),
    Case("InstanceNormalization", [_f(2, 3, 4), _f(3), _f(3)]),
    Case("LayerNormalization", [_f(2, 3, 4), _f(3, 4), _f(3, 4)], {"axis": 1}),
    Case("NegativeLogLikelihoodLoss", [_f(4, 3), _i(0, 2, 1, 1)], {"ignore_index": 1}),
)
