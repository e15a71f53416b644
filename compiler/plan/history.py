"""How each layout came about: the planner tells a `LayoutHistory`, which layout_plan_history.html shows."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class LayoutEvent:
    """One decision: the value, its layout then, what decided it, and on behalf of which node ("" = none)."""

    value: str
    layout: str
    reason: str
    node: str = ""


@dataclass
class LayoutHistory:
    """The decisions of one planning, in order."""

    events: list[LayoutEvent] = field(default_factory=list)

    def tell(self, value: str, layout: object, reason: str, node: object = "") -> None:
        """Note a decision."""
        self.events.append(LayoutEvent(value, str(layout), reason, str(node)))
