"""A report that notebooks show as tables: the figures, and the layers that take most of the time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hw.html import table

_MOST_LAYERS = 20


class Report(dict[str, Any]):
    """The content of report.json; a mapping like any other."""

    def _repr_html_(self) -> str:
        single = [(name, value) for name, value in self.items() if isinstance(value, (int, float, str))]
        parts = [table("report", ("figure", "value"), single)]
        layers = [layer for layer in self.get("layers", ()) if isinstance(layer, Mapping)]
        if layers:
            total = sum(layer.get("cycles", 0) for layer in layers) or 1
            slowest = sorted(layers, key=lambda layer: -layer.get("cycles", 0))[:_MOST_LAYERS]
            rows = [(layer.get("name", ""), n := layer.get("cycles", 0), 100.0 * n / total) for layer in slowest]
            title = f"the {len(slowest)} slowest of {len(layers)} layers"
            parts.append(table(title, ("layer", "cycles", "%"), rows))
        return "".join(parts)
