"""Which instructions a set of programs exercises: the coverage table of the instruction records."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from hw.program import Mv, Step
from isa.assemble import assemble
from isa.errors import IsaError
from isa.instructions import RECORDS
from isa.item import parse
from isa.record import Record

_HEAD = re.compile(r"[a-z0-9]+")


def covered_spellings(programs: Iterable[str]) -> Counter[tuple[str, str]]:
    """How often each (record name, mnemonic) occurs in the programs; those that do not assemble are skipped."""
    found: Counter[tuple[str, str]] = Counter()
    for text in programs:
        try:
            program = assemble(text, check_hazards=False)
        except IsaError:
            continue
        for line in program.lines:
            if isinstance(line, Mv):
                found[_key(line.text)] += 1
            elif isinstance(line, Step):
                found.update(_key(item.text) for item in line.items)
    return found


def _key(text: str) -> tuple[str, str]:
    mnemonics = parse(text).record.mnemonics
    head = _HEAD.match(text)
    name = head[0] if head else ""
    return parse(text).record.name, name if name in mnemonics else name + "@"


def table(programs: Iterable[str]) -> str:
    """Markdown table: per record the spellings that occur, out of all, and the number of uses."""
    found = covered_spellings(programs)
    rows = ["| record | group | spellings | uses |", "|---|---|---|---|"]
    for record in RECORDS:
        if record.lower is not None:
            rows.append(_row(record, found))
    return "\n".join(rows) + "\n"


def _row(record: Record, found: Counter[tuple[str, str]]) -> str:
    counts = [found[record.name, name] for name in record.mnemonics]
    return f"| {record.name} | {record.group.value} | {sum(c > 0 for c in counts)} of {len(counts)} | {sum(counts)} |"
