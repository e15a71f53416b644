"""`mncore2 config`: the numbers of the chip with unit, rank and source."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Annotated

import typer

from runtime.cli.arguments import ChipFile, Json, Sets, chip
from runtime.cli.errors import UsageError
from runtime.cli.output import print_json, print_table


def add_to(app: typer.Typer) -> None:
    """Register the verb."""
    app.command("config")(config)


def config(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Only these numbers, or all below: dram, 'mv.rate.*'."),
    ] = None,
    sets: Sets = None,
    chip_file: ChipFile = None,
    json: Json = False,
) -> None:
    """Print the numbers of the chip and where each comes from."""
    from hw.spec import Quantity, Rank
    from hw.spec.table import as_dict, derived

    spec = chip(sets, chip_file)
    chosen = [q for q in spec.quantities if not names or any(_matches(q.name, name) for name in names)]
    if not chosen:
        assert names
        spec.quantity(names[0])  # raises with the nearest names
        raise UsageError(f"no number matches {' or '.join(names)}")
    if json:
        data = as_dict(spec)
        numbers = data["numbers"]
        assert isinstance(numbers, dict)
        print_json({**data, "numbers": {q.name: numbers[q.name] for q in chosen}})
        return

    def source(quantity: Quantity) -> str:
        return f"{quantity.source}. If wrong: {quantity.error}" if quantity.error else quantity.source

    def value(quantity: Quantity) -> object:
        return bool(quantity.value) if quantity.unit == "flag" else quantity.value

    rows = [(q.name, value(q), q.unit, q.rank.value, q.role.value, source(q)) for q in chosen]
    print_table("", ("number", "value", "unit", "rank", "changes", "source"), rows)
    if not names:
        print_table("derived", ("figure", "value"), derived(spec))
        counts = [(rank.value, sum(q.rank is rank for q in spec.quantities)) for rank in Rank]
        print_table("how sure", ("rank", "numbers"), [row for row in counts if row[1]])
        print(f"digest: {spec.digest}")


def _matches(name: str, wanted: str) -> bool:
    return name == wanted or name.startswith(f"{wanted}.") or fnmatchcase(name, wanted)
