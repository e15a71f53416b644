"""Where in the user's program a compiler's message points: exported nodes carry the line they come from."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import onnx

_QUOTED = re.compile(r"'([^']+)'")
HINT = "write it with operators of docs/operators.md, or compute it on the host between two compiled functions"


def with_line(message: str, models: Iterable[onnx.ModelProto]) -> str:
    """The message, with the user's line of the first node that it names (by an output or what derives from one)."""
    from compiler.frontend.lower import SOURCE_PROPERTY

    lines: dict[str, str] = {}
    for model in models:
        for node in model.graph.node:
            for entry in node.metadata_props:
                if entry.key == SOURCE_PROPERTY:
                    lines |= dict.fromkeys(node.output, entry.value)
    for quoted in _QUOTED.findall(message):
        name = quoted
        while name and name not in lines:
            name = name.rpartition("_")[0]  # names that the compiler makes begin with the one they come from
        if name and lines[name] not in message:
            return f"{message}\n  at {lines[name]}"
    return message
