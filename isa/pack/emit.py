"""From a schedule to program lines, and from lines to VSM text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from hw.program import Debug, Item, Line, Step
from isa.disassemble import item_text, masked
from isa.item import parse
from isa.pack.schedule import OutLine, Schedule


def _text(item: Item) -> str:
    """The item's own text; canonical text with the masks written out where they came from a mask line."""
    parsed = parse(item.text)
    explicit = masked(parsed, item)
    return item.text if explicit is parsed else item_text(explicit)


def _step(line: OutLine, number: int) -> Step:
    items = tuple(item for _, item in sorted(line.items, key=lambda pair: (pair[0], pair[1].unit)))
    parts = [_text(item) for item in items] or ["nop"]
    if line.hold:
        parts.append("noforward")
    if line.wait is not None:
        parts.append(f"wait i{line.wait:02x}")
    return Step(items, line.wait, not items, line.hold, number, "; ".join(parts))


def to_lines(schedule: Schedule) -> list[tuple[Line, int | None]]:
    """Program lines in order, each with the index of the oldest node on it (None for a nop).

    Steps are numbered by their place in the result (MV and debug lines count).
    """
    result: list[tuple[Line, int | None]] = []
    for t in range(len(schedule.lines) + 1):
        for node in sorted(schedule.ahead.get(t, ()), key=lambda n: n.index):
            assert node.source is not None and not isinstance(node.source, Step)
            result.append((_renumbered(node.source, len(result) + 1), node.index))
        if t < len(schedule.lines):
            line = schedule.lines[t]
            oldest = min((order for order, _ in line.items), default=line.wait_node)
            result.append((_step(line, len(result) + 1), oldest))
    return result


def _renumbered(line: Line, number: int) -> Line:
    return replace(line, line=number)


def vsm_text(lines: Iterable[Line]) -> str:
    """VSM source of the lines, one per row, runs of plain nops as ``nop/N``; ends with a newline."""
    rows: list[str] = []
    nops = 0

    def flush() -> None:
        nonlocal nops
        if nops:
            rows.append("nop" if nops == 1 else f"nop/{nops}")
        nops = 0

    for line in lines:
        if isinstance(line, Step) and line.nop and line.wait is None:
            nops += 1
            continue
        flush()
        rows.append(line.text if not isinstance(line, Debug) or line.text.startswith("d ") else f"d {line.text}")
    flush()
    return "\n".join(rows) + "\n" if rows else ""
