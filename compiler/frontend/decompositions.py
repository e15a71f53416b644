"""Operators that are opened up before the ONNX translation because the translation would lose a result they carry.

Most rules are torch's own; those for reads and writes of parts of a tensor are in `frontend.indexing` and
`frontend.writes`, those for gradients of convolutions and poolings in `frontend.gradients`, some others in
`frontend.untranslated`.  The translation of
`nll_loss_forward` does not give the weight that its backward divides by, and the one of batch normalisation in training
mode neither normalises by the batch nor updates the statistics.  Gradients of activation functions have no translation
of their own.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import torch
from torch._decomp import get_decompositions
from torch._decomp.decompositions import native_batch_norm_decomposition
from torch.fx import Graph, Node

from compiler.frontend import gradients, indexing, untranslated, writes

_aten = torch.ops.aten

_TRAINING_ONLY = (
    _aten.nll_loss_forward,
    _aten.nll_loss_backward,
    _aten.native_batch_norm_backward,
    _aten._native_batch_norm_legit,
    _aten._native_batch_norm_legit_functional,
    _aten._log_softmax_backward_data,
    _aten._softmax_backward_data,
    _aten.threshold_backward,
    _aten.elu_backward,
    _aten.gelu_backward,
    _aten.hardsigmoid_backward,
    _aten.hardswish_backward,
    _aten.hardtanh_backward,
    _aten.leaky_relu_backward,
    _aten.mish_backward,
    _aten.sigmoid_backward,
    _aten.silu_backward,
    _aten.softplus_backward,
    _aten.tanh_backward,
    _aten.upsample_bilinear2d,
)


@cache
def trace_decompositions() -> dict[Any, Callable[..., Any]]:
    """ATen overload -> rule, for the graphs in which `has_training_operators` finds one."""
    rules: dict[Any, Callable[..., Any]] = dict(get_decompositions(list(_TRAINING_ONLY)))
    rules[_aten.native_batch_norm.default] = native_batch_norm_decomposition
    return rules | indexing.RULES | writes.RULES | gradients.RULES | untranslated.RULES


def has_training_operators(graph: Graph) -> bool:
    """True if the graph runs backward through, updates statistics in, or writes by an operator of the list.

    A loss that is only evaluated keeps its compact form: its other result, the weight, has no reader then.
    """
    return any(
        node.target in trace_decompositions()
        and (node.target is not _aten.nll_loss_forward.default or _reads_result(node, 1))
        for node in graph.nodes
        if node.op == "call_function"
    )


def _reads_result(node: Node, index: int) -> bool:
    return any(user.target is operator.getitem and user.args[1] == index and user.users for user in node.users)
