"""Graphs with layouts for tests of what comes after the layout planner."""

from __future__ import annotations

import onnx

from compiler.graph import MNGraph
from compiler.plan.dtypes import plan_dtypes
from compiler.plan.genes import label_genes
from compiler.plan.importer import import_model
from compiler.plan.layouts import plan_layouts


def imported(model: onnx.ModelProto) -> MNGraph:
    """A model up to the layout planner."""
    graph = import_model(model)
    label_genes(graph)
    plan_dtypes(graph, "mixed")
    return graph


def planned(model: onnx.ModelProto) -> MNGraph:
    """A model with layouts."""
    return plan_layouts(imported(model))
