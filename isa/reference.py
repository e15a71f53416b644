"""The instruction reference page, generated from the records: `python -m isa.reference docs/instructions.md`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from isa.instructions import MODULES
from isa.instructions.alu_int import UNSIGNED
from isa.operand import KIND_NAMES, Kind
from isa.record import Record, Slot
from isa.suffix import Suffix

_INTRODUCTION = """\
# Instruction reference

Generated from `isa/instructions` by `python -m isa.reference`; do not edit. Section numbers refer to the specification.
c = cycle 0..3, p = PE in the MAB 0..3, m = MAB 0..15, b = L1B 0..7, l = L2B in the group, g and h = groups,
w = long word of a 2LW, n = element width in bits; indices t, i, k run.

"""

_PLACES = (
    (frozenset({Kind.LM0, Kind.LM1, Kind.GRF0, Kind.GRF1}), "LM/GRF"),
    (frozenset({Kind.MAUF, Kind.ALUF, Kind.LBF}), "`$mauf` `$aluf` `$lbf`"),
)


def _title(module: object) -> str:
    text = (getattr(module, "__doc__", "") or "").strip().split("\n\n")[0]
    return " ".join(text.split())


def spellings(record: Record) -> str:
    """The mnemonics of a record; families are shortened to their number and first members."""
    names = [name + record.suffix.value.removeprefix("@" * name.endswith("@")) for name in record.mnemonics]
    if len(names) <= 12:
        return " ".join(f"`{name}`" for name in names)
    return " ".join(f"`{name}`" for name in names[:8]) + f" ... ({len(names)} spellings)"


def _operand(slot: Slot) -> str:
    kinds = set(slot.kinds)
    parts: list[str] = []
    for group, name in _PLACES:
        if group <= kinds:
            parts.append(name)
            kinds -= group
    parts += [KIND_NAMES[kind] + slot.place for kind in sorted(kinds)]
    text = f"`{slot.name}`{' (one or more)' if slot.many else ''}: {', '.join(parts)}"
    modifiers = sorted({(prec, allowed) for prec, allowed in slot.modifiers.items() if allowed})
    if modifiers:
        options = ", ".join(
            f"{' '.join(f'`{letter}`' for letter in allowed)}" + ("" if prec == "*" else f" in {prec}")
            for prec, allowed in modifiers
        )
        text += f"; modifiers {options}"
    return text


def _section(record: Record) -> Iterable[str]:
    yield f"### {record.name}"
    yield ""
    yield f"{record.title[0].upper()}{record.title[1:]}."
    yield ""
    yield f"- spellings: {spellings(record)}"
    yield f"- issue group: {record.group.value}"
    for slot in record.slots:
        yield f"- operand {_operand(slot)}"
    if record.zero_flush:
        length = record.suffix.value if record.suffix is Suffix.LENGTH else ""
        yield f"- zero flush: `{next(iter(record.mnemonics))}{length}/1000`, `/$imr1`, `/ll1000`, `/$llimr1`"
    yield f"- meaning: `{record.meaning}`"
    if record.name in UNSIGNED:
        yield f"- meaning with `u`: `{UNSIGNED[record.name]}`"
    if record.flags:
        yield f"- flag: {record.flags}"
    yield f"- hazards: {record.hazard.value}"
    yield f"- example: `{record.example}`"
    yield f"- source: {record.source}"
    yield ""


def page() -> str:
    """The whole page as Markdown."""
    lines: list[str] = []
    for module in MODULES:
        lines += [f"## {_title(module).rstrip('.')}", ""]
        for record in module.RECORDS:
            lines += _section(record)
    return _INTRODUCTION + "\n".join(lines)


def write(path: Path) -> None:
    """Write the page; the file appears only when it is complete."""
    temporary = path.with_name(path.name + ".tmp")
    temporary.write_text(page(), encoding="utf-8")
    os.replace(temporary, path)


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/instructions.md"))
