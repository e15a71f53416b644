"""Options that several verbs share, and the chip they describe."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from hw.spec import ChipSpec

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Change a number of the chip: mv.latency.dram=100, or a factor for all that match: 'l1bm.rate.*=x0.5'.",
    ),
]
ChipFile = Annotated[Path | None, typer.Option("--chip", metavar="FILE", help="Another chip description (TOML).")]


def chip(sets: Sequence[str] | None, file: Path | None = None) -> ChipSpec:
    """The chip of a command line; SpecError for what cannot be set."""
    from hw.spec import ChipSpec, parse_assignments
    from runtime.studies.overrides import expand

    base = ChipSpec.load(path=file)
    return base.with_overrides(expand(parse_assignments(sets or ()), base))
