"""Printing a chip description: plain columns, Markdown for the documentation, JSON for programs."""

from __future__ import annotations

from dataclasses import asdict

from hw.spec.chip import ChipSpec
from hw.spec.errors import SpecError
from hw.spec.quantity import Quantity

_HEAD = ("name", "value", "unit", "rank", "changes", "source")


def _value(quantity: Quantity) -> str:
    if quantity.unit == "flag":
        return "true" if quantity.value else "false"
    return str(quantity.value)


def _source(quantity: Quantity) -> str:
    return f"{quantity.source}. If wrong: {quantity.error}" if quantity.error else quantity.source


def _rows(spec: ChipSpec) -> list[tuple[str, ...]]:
    return [(q.name, _value(q), q.unit, q.rank.value, q.role.value, _source(q)) for q in spec.quantities]


def text_table(spec: ChipSpec) -> str:
    """Aligned columns, one line per number, derived figures below."""
    rows = [_HEAD, *_rows(spec)]
    widths = [max(len(row[i]) for row in rows) for i in range(5)]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(row, [*widths, 0], strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, "", *(f"{name}: {text}" for name, text in derived(spec)), f"digest: {spec.digest}"])


def markdown_table(spec: ChipSpec) -> str:
    """The same as a Markdown table."""
    rows = [_HEAD, tuple("---" for _ in _HEAD), *_rows(spec)]
    table = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
    return table + "\n\n" + "\n".join(f"* {name}: {text}" for name, text in derived(spec))


TABLE_START = "<!-- numbers: python -m hw.spec --into docs/cycles.md -->\n"
TABLE_END = "<!-- end of numbers -->\n"


def replace_table(page: str, spec: ChipSpec) -> str:
    """The Markdown page with the text between its two marks replaced by the table; SpecError without marks."""
    before, start, rest = page.partition(TABLE_START)
    _, end, after = rest.partition(TABLE_END)
    if not start or not end:
        raise SpecError(f"the page needs the lines {TABLE_START.strip()!r} and {TABLE_END.strip()!r}")
    return f"{before}{start}\n{markdown_table(spec)}\n\n{end}{after}"


def as_dict(spec: ChipSpec) -> dict[str, object]:
    """All numbers with provenance, and the digest, ready for JSON."""
    numbers = {q.name: {key: value for key, value in asdict(q).items() if key != "name"} for q in spec.quantities}
    return {"digest": spec.digest, "numbers": numbers, "derived": dict(derived(spec))}


def derived(spec: ChipSpec) -> list[tuple[str, str]]:
    """Figures that follow from the numbers: peaks and bandwidths."""
    figures = [
        ("DRAM per group", f"{float(spec.dram_lw_per_cycle):.2f} LW/cycle"),
        ("host link, each direction", f"{float(spec.pcie_bytes_per_cycle):.2f} bytes/cycle"),
    ]
    for mode in ("matrix", "vector"):
        for name in spec.names():
            if name.startswith(f"fma.{mode}."):
                precision = name.rsplit(".", 1)[1]
                figures.append((f"peak {mode} {precision}", f"{spec.peak_flops(precision, mode) / 1e12:.1f} TFLOPS"))
    return figures
