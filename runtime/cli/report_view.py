"""A report.json as tables: whatever its sections are, and whether those that must add up to the cycles do.

Nothing here knows the content of a report beyond `vsm_cycles`; a new section is shown without a change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runtime.cli.output import print_table

TOTAL = "vsm_cycles"
_PARTITIONS = ("causes", "by_cause", "bounds", "by_bound", "layers", "regions")
_MOST_COLUMNS = 12


@dataclass(frozen=True)
class Sum:
    """A section that partitions the cycles: what it adds up to and what it should."""

    section: str
    cycles: int
    expected: int

    @property
    def holds(self) -> bool:
        """Does it add up?"""
        return self.cycles == self.expected


def sums(report: Mapping[str, Any]) -> list[Sum]:
    """The sections of a report that must add up to its cycles, and the causes of each layer to the layer's."""
    total = report.get(TOTAL)
    if not isinstance(total, int):
        return []
    found: list[Sum] = []
    for key in _PARTITIONS:
        section = report.get(key)
        if isinstance(section, Mapping) and section:
            found.append(Sum(key, sum(section.values()), total))
        elif isinstance(section, list) and section:
            lengths = [_cycles(row) for row in section]
            if None not in lengths:
                found.append(Sum(key, sum(n for n in lengths if n is not None), total))
            found += _inner(key, section)
    return found


def _inner(key: str, rows: Sequence[Mapping[str, Any]]) -> list[Sum]:
    return [
        Sum(f"{key}[{row.get('name', number)}].{inner}", sum(row[inner].values()), cycles)
        for number, row in enumerate(rows)
        for inner in _PARTITIONS
        if isinstance(row.get(inner), Mapping) and (cycles := _cycles(row)) is not None
    ]


def _cycles(row: Mapping[str, Any]) -> int | None:
    if isinstance(row.get("cycles"), int):
        return int(row["cycles"])
    if isinstance(row.get("start"), int) and isinstance(row.get("end"), int):
        return int(row["end"]) - int(row["start"])
    return None


def print_report(report: Mapping[str, Any]) -> None:
    """All sections as tables, single values first."""
    single = [(key, value) for key, value in report.items() if not isinstance(value, (Mapping, list))]
    if single:
        print_table("", ("figure", "value"), single)
    total = report.get(TOTAL)
    for key, section in report.items():
        if isinstance(section, Mapping) and section:
            _print_mapping(key, section, total)
        elif isinstance(section, list) and section:
            _print_list(key, section, total)


def _print_mapping(key: str, section: Mapping[str, Any], total: object) -> None:
    if all(isinstance(value, Mapping) for value in section.values()):
        _print_records(key, [{"": name, **value} for name, value in section.items()], None)
    elif key in _PARTITIONS and isinstance(total, int) and total:
        rows = [(name, n, round(100.0 * n / total, 1)) for name, n in section.items() if n]
        print_table(key, ("cause", "cycles", "%"), rows, ("all", sum(section.values()), 100.0))
    else:
        print_table(key, ("figure", "value"), section.items())


def _print_list(key: str, section: list[Any], total: object) -> None:
    if all(isinstance(row, Mapping) for row in section):
        _print_records(key, section, total if key in _PARTITIONS and isinstance(total, int) else None)
    else:
        print_table(key, ("",), [(value,) for value in section])


def _print_records(key: str, rows: Sequence[Mapping[str, Any]], total: int | None) -> None:
    """One column per field; the parts of a partition with their share of the whole, and a last row with the sum.

    Fields that are mappings themselves get a table of their own, a row per record.
    """
    fields = list(dict.fromkeys(name for row in rows for name in row))
    nested = [name for name in fields if any(isinstance(row.get(name), Mapping) for row in rows)]
    head = [name for name in fields if name not in nested]
    cells = [[row.get(name) for name in head] for row in rows]
    if total and "cycles" in head:
        at = head.index("cycles")
        parts = [row[at] or 0 for row in cells]
        head.insert(at + 1, "%")
        for row, part in zip(cells, parts, strict=True):
            row.insert(at + 1, round(100.0 * part / total, 1))
        last: list[Any] = [None] * len(head)
        last[0], last[at], last[at + 1] = "all", sum(parts), round(100.0 * sum(parts) / total, 1)
        print_table(key, head, cells, last)
    else:
        print_table(key, head, cells)
    for name in nested:
        _print_nested(f"{key}: {name}", head[0], rows, name)


def _print_nested(title: str, first: str, rows: Sequence[Mapping[str, Any]], name: str) -> None:
    columns = list(dict.fromkeys(column for row in rows for column in row.get(name) or ()))
    if len(columns) > _MOST_COLUMNS:
        print(f"{title}: {len(columns)} columns, shown by --json\n")
    else:
        cells = [[row.get(first), *((row.get(name) or {}).get(column) for column in columns)] for row in rows]
        print_table(title, (first, *columns), cells)
