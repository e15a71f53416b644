"""The operator table of PFVM: one record for each operator, looked up by (domain, name)."""

from compiler.pfvm.operators import (
    custom,
    elementwise,
    gradients,
    indexing,
    logic,
    matrix,
    network,
    optimizers,
    reduction,
    resampling,
    shape,
    windows,
)
from compiler.pfvm.operators.record import Call, Charged, Operator

_FAMILIES = (
    elementwise,
    logic,
    matrix,
    windows,
    reduction,
    resampling,
    shape,
    indexing,
    network,
    gradients,
    custom,
    optimizers,
)

OPERATORS: dict[tuple[str, str], Operator] = {
    operator.key: operator for family in _FAMILIES for operator in family.OPERATORS
}

__all__ = ["OPERATORS", "Call", "Charged", "Operator"]
