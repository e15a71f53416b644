"""`optimize`: Exported ONNX -> Compiled ONNX (compiler.md 3), named passes repeated until nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import onnx
import onnx_ir as ir

from compiler.pfvm.operators.custom import register_schemas
from compiler.pfvm.passes.cast_reduce import fuse_cast_reduce_sum
from compiler.pfvm.passes.cleanup import (
    drop_default_attributes,
    infer_shapes,
    merge_equal_nodes,
    remove_dead_code,
    require_static_shapes,
)
from compiler.pfvm.passes.constants import fold_constants, share_constants
from compiler.pfvm.passes.gemm import fold_transposes, matmul_to_gemm
from compiler.pfvm.passes.identities import remove_identities
from compiler.pfvm.passes.optimizers import fuse_optimizers

PRODUCER = "pfvm"
_MOST_ROUNDS = 10


@dataclass(frozen=True)
class Pass:
    """A named rewriting; `run` edits the model and returns the number of changes."""

    name: str
    run: Callable[[ir.Model], int]


PASSES: tuple[Pass, ...] = (
    Pass("infer_shapes", infer_shapes),
    Pass("fold_constants", fold_constants),
    Pass("remove_identities", remove_identities),
    Pass("matmul_to_gemm", matmul_to_gemm),
    Pass("fold_transposes", fold_transposes),
    Pass("fuse_cast_reduce_sum", fuse_cast_reduce_sum),
    Pass("share_constants", share_constants),
    Pass("merge_equal_nodes", merge_equal_nodes),
    Pass("remove_dead_code", remove_dead_code),
    Pass("drop_default_attributes", drop_default_attributes),
)

#: What comes once, after the others, since they look into operators that it puts together.
LAST_PASS = Pass("fuse_optimizers", fuse_optimizers)

OnPass = Callable[[int, Pass, int, onnx.ModelProto], None]


def optimize(
    model: onnx.ModelProto,
    *,
    share_equal_constants: bool = True,
    fuse_updates: bool = True,
    on_pass: OnPass | None = None,
) -> onnx.ModelProto:
    """A simpler model with the same inputs, outputs, parameters and values; the given one is not changed.

    Every value of the result has an element type and a static shape in `value_info`; custom operators are in domain
    `mncore`.  `share_equal_constants=False` is PFVM_DISABLE_CONSTANT_REUSE, `fuse_updates=False`
    CODEGEN_SKIP_OPTIMIZER_FUSION.  `on_pass(number, pass, changes, model)` is called after every pass that changed
    something, e.g. to write the model into a file.

    Raises ModelError where a shape is not static, EvaluationError where a node of constants fails.
    """
    register_schemas()
    work = ir.from_proto(model)
    number = 0
    for _ in range(_MOST_ROUNDS):
        changed = 0
        for step in PASSES:
            if step.run is share_constants and not share_equal_constants:
                continue
            changes = step.run(work)
            changed += changes
            if changes and on_pass is not None:
                on_pass(number, step, changes, ir.to_proto(work))
            number += 1
        if not changed:
            break
    if fuse_updates and (changes := LAST_PASS.run(work)) and on_pass is not None:
        on_pass(number, LAST_PASS, changes, ir.to_proto(work))
    require_static_shapes(work)
    work.producer_name, work.producer_version = PRODUCER, None
    return ir.to_proto(work)


def apply_pass(name: str, model: onnx.ModelProto) -> onnx.ModelProto:
    """The model after one pass alone.  Raises KeyError for a name that no pass has."""
    register_schemas()
    work = ir.from_proto(model)
    {step.name: step for step in (*PASSES, LAST_PASS)}[name].run(work)
    return ir.to_proto(work)
