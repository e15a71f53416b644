"""Errors of PFVM: the rewriting of ONNX models and their run on torch."""

from __future__ import annotations


class PfvmError(Exception):
    """Base of all errors of this room."""


class UnknownOperatorError(PfvmError):
    """The operator table has no record: `operator` is e.g. `Loop` or `mncore::ChainerFoo`, `place` node and line."""

    def __init__(self, operator: str, place: str, hint: str = "") -> None:
        super().__init__(f"operator {operator} at {place} is not known to PFVM{hint}")
        self.operator = operator
        self.place = place


class EvaluationError(PfvmError):
    """An operator failed on its inputs: `operator` and `place` as in UnknownOperatorError, the cause is chained."""

    def __init__(self, operator: str, place: str, message: str) -> None:
        super().__init__(f"operator {operator} at {place} failed: {message}")
        self.operator = operator
        self.place = place


class FeedError(PfvmError):
    """A value given to a run is missing, unknown, or of another shape or dtype than the model says."""


class ModelError(PfvmError):
    """The model is outside of what PFVM handles, e.g. dynamic shapes or an old operator set."""
