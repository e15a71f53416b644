"""Which instructions a set of programs exercises: instruction × precision × operand class, from the records.

An operand class is a slot of the instruction with a kind of place that may stand there (`x=LM0`, `dst=T`); two
further classes tell masked destinations and modified sources (`dst/mask`, `x-`, `xe`, `xr`).
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hw.program import Mv, Program, Step
from isa.assemble import assemble
from isa.errors import AsmWarning, IsaError
from isa.instructions import RECORDS
from isa.item import parse
from isa.operand import BankOperand, Kind, Literal, Operand, PeOperand
from isa.record import Parsed, Record, Slot
from isa.suffix import Suffix

_HEAD = re.compile(r"[a-z0-9]+")
_NO_MASK = frozenset({Kind.NOWRITE})


@dataclass(frozen=True)
class Row:
    """One instruction in one precision: uses of each spelling and each operand class, 0 included."""

    record: str
    group: str
    precision: str
    spellings: Mapping[str, int]
    classes: Mapping[str, int]

    @property
    def uses(self) -> int:
        """How often the instruction occurs in this precision."""
        return sum(self.spellings.values())


class Coverage:
    """Counts of spellings and operand classes over any number of programs."""

    def __init__(self) -> None:
        self.programs = 0
        self.spellings: Counter[tuple[str, str]] = Counter()
        self.classes: Counter[tuple[str, str, str]] = Counter()

    def add_text(self, text: str, *, mode: str = "flat") -> bool:
        """Count a program; False, and nothing counted, when it does not assemble."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AsmWarning)
            try:
                program = assemble(text, mode="flat" if mode == "flat" else "auto_stride", check_hazards=False)
            except IsaError:
                return False
        self.add(program)
        return True

    def add(self, program: Program) -> None:
        """Count an assembled program."""
        self.programs += 1
        for line in program.lines:
            if isinstance(line, Mv):
                self._count(line.text)
            elif isinstance(line, Step):
                for item in line.items:
                    self._count(item.text)

    def _count(self, text: str) -> None:
        parsed = parse(text)
        self.spellings[parsed.record.name, _spelling(text, parsed.record)] += 1
        self.classes.update((parsed.record.name, parsed.variant.prec, name) for name in _classes_of(parsed))

    def rows(self) -> list[Row]:
        """A row for every record with operands and every precision it has, in the order of the records."""
        return [row for record in RECORDS if record.lower is not None for row in self._rows_of(record)]

    def _rows_of(self, record: Record) -> Iterator[Row]:
        for prec in dict.fromkeys(variant.prec for variant in record.mnemonics.values()):
            names = [name for name, variant in record.mnemonics.items() if variant.prec == prec]
            yield Row(
                record.name,
                record.group.value,
                prec,
                {name: self.spellings[record.name, name] for name in names},
                {name: self.classes[record.name, prec, name] for name in _classes(record, prec)},
            )


def covered_spellings(programs: Iterable[str]) -> Counter[tuple[str, str]]:
    """How often each (record name, mnemonic) occurs in the programs; those that do not assemble are skipped."""
    coverage = Coverage()
    for text in programs:
        coverage.add_text(text)
    return coverage.spellings


def table(programs: Iterable[str]) -> str:
    """Markdown table: per record the spellings that occur, out of all, and the number of uses."""
    found = covered_spellings(programs)
    rows = ["| record | group | spellings | uses |", "|---|---|---|---|"]
    for record in RECORDS:
        if record.lower is not None:
            counts = [found[record.name, name] for name in record.mnemonics]
            used = f"{sum(c > 0 for c in counts)} of {len(counts)}"
            rows.append(f"| {record.name} | {record.group.value} | {used} | {sum(counts)} |")
    return "\n".join(rows) + "\n"


def _spelling(text: str, record: Record) -> str:
    head = _HEAD.match(text)
    name = head[0] if head else ""
    return name if name in record.mnemonics else name + "@"


def _classes(record: Record, prec: str) -> Iterator[str]:
    """Every operand class of an instruction in one precision."""
    for slot in record.slots:
        for kind in sorted(slot.kinds):
            yield f"{slot.name}={kind.name}"
        if not slot.many:
            yield from (f"{slot.name}{letter}" for letter in slot.allowed(prec))
        elif slot.kinds - _NO_MASK:
            yield f"{slot.name}/mask"
    if record.zero_flush:
        yield "zero flush"
    if record.suffix is Suffix.SET:
        yield "set"


def _classes_of(parsed: Parsed) -> Iterator[str]:
    """The operand classes that one item uses."""
    slots = parsed.record.slots
    for number, operand in enumerate(parsed.operands):
        yield from _classes_at(slots[min(number, len(slots) - 1)], operand)
    if parsed.flush is not None:
        yield "zero flush"
    if parsed.record.suffix is Suffix.SET and parsed.suffix != (0, 7):
        yield "set"


def _classes_at(slot: Slot, operand: Operand) -> Iterator[str]:
    yield f"{slot.name}={operand.kind.name}"
    if isinstance(operand, (BankOperand, Literal)):
        return
    if operand.negate:
        yield f"{slot.name}-"
    if operand.modifier:
        yield f"{slot.name}{operand.modifier}"
    if isinstance(operand, PeOperand) and operand.mask is not None:
        yield f"{slot.name}/mask"
