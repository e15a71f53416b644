"""Programs for what the selected ones leave out: ``python -m traces.oracle.catalogue`` writes `catalogue.jsonl.xz`.

Random items that use an instruction, precision or operand class (`isa.coverage`) no committed program uses yet, a few
dozen to a program; the dumps are those of the official tools, which the variables of `isa.fuzz.tools` name.
"""

from __future__ import annotations

import json
import lzma
import random
import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from isa.assemble import assemble
from isa.coverage import Coverage, Row
from isa.errors import AsmWarning, IsaError
from isa.fuzz.generate import FILL_LATCHES, leaves_memory, long_word, without_tag
from isa.fuzz.tools import OfficialTools
from isa.instructions import RECORDS
from isa.item import parse
from isa.operand import MEMORIES, BankOperand, Kind, Operand, PeOperand
from isa.record import Group, Parsed, Record
from isa.sample import sample
from isa.vectors import recorded_texts

#: Not alone in a line (turnaround), and two masks of different word length (the official assembler takes only some).
_UNFIT = re.compile(r"\$l+bi|/.*/|/\S*[pt]( |$)")
FOLDER = Path(__file__).parent
PER_PROGRAM = 24
MOST_PROGRAMS = 70
TRIES = 200
PLACE, MAB, PE = "n1c0b2", "m5", "p2"
POOL = 24
LWS = 32
_LETTERS = {Kind.LM0: "m", Kind.LM1: "n", Kind.GRF0: "r", Kind.GRF1: "s"}
_EXPONENTS = {"d": 0x3F0 << 52, "f": 0x3E8000003E800000, "g": 0x3E8000003E800000, "h": 0x3A003A003A003A00}
_MANTISSAS = {"d": ~(0x7FF << 52), "f": ~0x7F8000007F800000, "g": ~0x7F8000007F800000, "h": ~0x7E007E007E007E00}
_BITS = (1 << 64) - 1


@dataclass(frozen=True)
class Case:
    """One item with the lines before it, and the dumps that show its result."""

    lines: tuple[str, ...]
    dumps: tuple[str, ...]


def near(rng: random.Random) -> Any:
    """A `choose` for `isa.sample` that keeps addresses low, where the inputs are."""

    def choose(options: Sequence[Any]) -> Any:
        if isinstance(options, range) and len(options) > 64:
            return rng.choice(options[: 24 // options.step] if len(options) > 128 or options.step > 1 else options[:4])
        return rng.choice(options)

    return choose


def wanted(row: Row, coverage: Coverage) -> set[str]:
    """What nothing covers yet: spellings as `#name`, and operand classes."""
    spellings = {f"#{name}" for name in row.spellings if not coverage.spellings[row.record, name]}
    return spellings | {name for name in row.classes if not coverage.classes[row.record, row.precision, name]}


def candidates(rng: random.Random, record: Record, row: Row) -> Iterator[str]:
    """Random legal items of one row, spellings in turn."""
    for number in range(TRIES):
        name = list(row.spellings)[number % len(row.spellings)]
        text = sample(near(rng), [replace(record, mnemonics={name: record.mnemonics[name]})])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                program = assemble(text, check_hazards=False)
            except (IsaError, AsmWarning):
                continue
        if not leaves_memory(program) and not _UNFIT.search(text):
            yield text


def case(text: str) -> Case:
    """An item with latches to read and dumps of its destinations."""
    parsed = parse(text)
    lines = [without_tag(text) if text.startswith("mv") else text, "nop/12"]
    if any(latch in text for latch in ("$aluf", "$mauf", "$lbf", "$mreadf")):
        lines.insert(0, FILL_LATCHES)
    dumps: list[str] = []
    for operand in parsed.operands[len(parsed.record.slots) - 1 :]:
        before, shown = _shown(parsed, operand)
        lines += before
        dumps += shown
    return Case(tuple(lines), tuple(dict.fromkeys(dumps)))


def _shown(parsed: Parsed, operand: Operand) -> tuple[list[str], list[str]]:
    """(lines that bring a result to where it can be dumped, dumps)."""
    place = PLACE + MAB + PE
    if isinstance(operand, PeOperand):
        if operand.kind in MEMORIES:
            lws = max(1, operand.width // 2)
            starts = dict.fromkeys(address - address % 2 for address in operand.addr)
            return [], [f"d get $l{_LETTERS[operand.kind]}{start}{place} {lws}" for start in starts]
        if operand.kind == Kind.T:
            return [], [f"d get $llt{place} 4"]
        return [], [f"d get $omr{operand.value}{PLACE}{MAB} 1"] if operand.kind == Kind.OMR else []
    if not isinstance(operand, BankOperand):
        return [], [f"d get $l{'xy'[getattr(operand, 'plane', 0)]}0{PLACE}{MAB} 1"] if parsed.record.slots else []
    if operand.kind == Kind.L1BM:
        return [], [f"d get $lb{operand.addr + 16 * c}{PLACE} 4" for c in range(4)]
    if operand.kind == Kind.L2BM:
        return [], [f"d get $lc{operand.addr + 16 * c}{PLACE[:4]} 4" for c in range(4)]
    if operand.kind == Kind.DRAM:
        return [], [f"d get $d{operand.addr}{PLACE[:2]} 16"]
    if operand.kind == Kind.PDM:
        group = 1 if operand.group is None else operand.group
        return [f"mvp/n64 $p{operand.addr}@{group} $lc1024@1.0"], [f"d get $lc1024{PLACE[:4]} 16"]
    return [], []


def inputs(rng: random.Random, prec: str, *, blocks: bool) -> list[str]:
    """`d set` lines; with `blocks` all elements have one exponent, as matrix products need it."""

    def word() -> int:
        if blocks:
            return (_EXPONENTS[prec] | (rng.getrandbits(64) & _MANTISSAS[prec])) & _BITS
        return long_word(rng)

    pool = [word() for _ in range(POOL)]

    def payload(count: int) -> str:
        return "".join(f"{rng.choice(pool):016x}" for _ in range(count))

    lines = []
    for memory in ("lm", "ln", "lr", "ls"):
        lines.append(f"d set ${memory}0 {LWS} {payload(LWS)}")
        lines.append(f"d set ${memory}0{PLACE}{MAB}{PE} {LWS // 2} {payload(LWS // 2)}")
    small = "".join(f"{4 * rng.randrange(8):016x}" for _ in range(8))
    lines.append(f"d set $llt 4 {payload(8) if blocks else small}")
    lines += [f"d set $lb0b{b} 64 {payload(64)}" for b in (2, 3)]
    lines += [f"d set $lc0{place} 256 {payload(256)}" for place in ("n1c0", "n1c1")]
    for entry in (3, 15):
        lines.append(f"d set $omr{entry} 1 {rng.randrange(16):016x}")
    if blocks:
        for plane in "xy":
            lines += [f"{prec}mwrite $lr0v $l{plane}{row}\nnop/4" for row in range(0, 16, 4)]
    return lines


def program(rng: random.Random, prec: str, blocks: bool, cases: Sequence[Case]) -> str:
    """The text of one program."""
    lines = inputs(rng, prec, blocks=blocks)
    lines += [line for item in cases for line in (*item.lines, *item.dumps)]
    return "\n".join([*lines, f"d get $lm0{PLACE}{MAB}{PE} 24", f"d get $ln0{PLACE}{MAB}{PE} 24"]) + "\n"


def families(rng: random.Random, coverage: Coverage, *, classes: bool) -> Iterator[tuple[str, str, bool, list[Case]]]:
    """(unit, precision, whether blocks are needed, cases) of what is not covered; `coverage` counts the cases."""
    records = {record.name: record for record in RECORDS}
    pending: dict[tuple[str, str, bool], list[Case]] = {}
    for row in coverage.rows():
        record = records[row.record]
        blocks = record.name.endswith(("mmul", "mfma"))
        key = (record.group.value, row.precision if blocks else "", blocks)
        missing = {name for name in wanted(row, coverage) if classes or name.startswith("#") or not row.uses}
        for text in candidates(rng, record, row) if missing else ():
            trial = Coverage()
            trial.add_text(text)
            left = missing & wanted(row, trial)
            if left == missing:
                continue
            missing = left
            coverage.add_text(text)
            pending.setdefault(key, []).append(case(text))
            if len(pending[key]) >= PER_PROGRAM // (2 if record.group in (Group.L2BM, Group.MV) else 1):
                yield *key, pending.pop(key)
            if not missing:
                break
    for key, cases in pending.items():
        yield *key, cases


def run(tools: OfficialTools, rng: random.Random, prec: str, blocks: bool, cases: list[Case]) -> list[dict[str, Any]]:
    """Records of programs; what the official tools stop at is left out."""
    text = program(rng, prec, blocks, cases)
    dump = tools.run(text)
    if not any(line.startswith("STOPPED") for line in dump):
        return [{"mode": "flat", "vsm": text, "dump": dump}]
    if len(cases) == 1:
        print("left out:", cases[0].lines, dump[-1][:200])
        return []
    half = len(cases) // 2
    return run(tools, rng, prec, blocks, cases[:half]) + run(tools, rng, prec, blocks, cases[half:])


def main() -> None:
    """Write the file."""
    rng, tools, coverage = random.Random(1), OfficialTools.find(), Coverage()
    for text, mode in recorded_texts(FOLDER.parent, leave_out=("catalogue",)):
        coverage.add_text(text, mode=mode)
    rows: list[str] = []
    for classes in (False, True):
        for unit, prec, blocks, cases in families(rng, coverage, classes=classes):
            if len(rows) < MOST_PROGRAMS:
                for record in run(tools, rng, prec, blocks, cases):
                    rows.append(json.dumps({"id": f"catalogue/{len(rows):03}-{unit}", "group": "catalogue", **record}))
    target = FOLDER / "catalogue.jsonl.xz"
    part = target.with_suffix(".part")
    part.write_bytes(lzma.compress("\n".join(rows).encode() + b"\n", preset=9 | lzma.PRESET_EXTREME))
    part.replace(target)
    print(f"{len(rows)} programs, {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
