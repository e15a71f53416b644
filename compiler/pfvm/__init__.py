"""PFVM: rewriting of ONNX models and their run on torch, the devices `pfvm:*` (compiler.md 1, 3, 13)."""

from compiler.domain import DOMAIN
from compiler.pfvm.count import flops
from compiler.pfvm.errors import EvaluationError, FeedError, ModelError, PfvmError, UnknownOperatorError
from compiler.pfvm.operators.custom import register_schemas
from compiler.pfvm.pipeline import PASSES, Pass, apply_pass, optimize
from compiler.pfvm.program import PfvmProgram, run

__all__ = [
    "DOMAIN",
    "PASSES",
    "EvaluationError",
    "FeedError",
    "ModelError",
    "Pass",
    "PfvmError",
    "PfvmProgram",
    "UnknownOperatorError",
    "apply_pass",
    "flops",
    "optimize",
    "register_schemas",
    "run",
]
