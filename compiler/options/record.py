"""The record of one option or environment variable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from compiler.options.kinds import Kind


@dataclass(frozen=True)
class OptionRecord:
    """What the compiler knows of an option.

    name: key of `options` and of `--name=value`, or name of the environment variable.
    kind: type of its values.  default: value where it is not given; None = unset.
    meaning: one sentence.  source: where its name comes from, e.g. "seed 4.2.2.4".
    used_in: the part of this project that obeys it; None = accepted without effect (reported in report.json).
    note: for an option without effect, why it has none; for others, what its effect is here where that needs saying.
    """

    name: str
    kind: Kind
    default: Any
    meaning: str
    source: str
    used_in: str | None = None
    note: str = ""
