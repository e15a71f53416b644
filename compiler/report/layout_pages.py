"""layout.html: the final layout of every value.  layout_plan_history.html: how each came about (seed 4.4.8)."""

from __future__ import annotations

from compiler.graph import MNGraph
from compiler.plan.history import LayoutHistory
from compiler.report.html import table_page


def layout_page(graph: MNGraph) -> str:
    """All values in execution order."""
    made = graph.producers()
    order = [*graph.inputs, *graph.params, *(name for node in graph.nodes for name in node.outputs)]
    rows = []
    for name in order:
        value = graph.values[name]
        layout = value.layout
        origin = graph.nodes[made[name]].op_type if name in made else "input" if name in graph.inputs else "parameter"
        rows.append(
            (
                name,
                origin,
                "x".join(map(str, value.shape)) or "scalar",
                value.dtype,
                None if layout is None else layout.layout,
                None if layout is None else "x".join(map(str, layout.padded_shape)),
                None if layout is None else layout.num_lw,
                value.pad_type,
                value.loc,
                value.addr,
                value.parent,
            )
        )
    head = ("value", "made by", "shape", "dtype", "layout", "padded", "long words", "padding", "location", "address")
    text = "The layout, location and address of every value of the scheduled graph, in execution order."
    return table_page("Layouts", text, (*head, "shares memory of"), rows, code=(0, 4, 10))


def history_page(history: LayoutHistory) -> str:
    """All decisions of the planner in order."""
    rows = [(k, event.value, event.layout, event.reason, event.node) for k, event in enumerate(history.events, start=1)]
    text = "Every decision of the layout planner in order: the value, its layout from then on, why, and for which node."
    return table_page("Layout plan history", text, ("step", "value", "layout", "why", "node"), rows, code=(1, 2, 4))
