"""The instruction records: complete, consistent, executable as formulas, and the source of the reference page."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hw.program import Compute, L2Move, Mv, PeLoad, PeStore, Unit
from isa import reference
from isa.assemble import assemble
from isa.coverage import table
from isa.instructions import MNEMONICS, RECORDS, alu_int
from isa.item import parse
from isa.line import decode_line, lower
from isa.record import Group, Record
from isa.sample import SAMPLED, sample

_WITH_OPERANDS = [record for record in RECORDS if record.lower is not None]
_UNITS = {
    Group.ALU: Unit.ALU,
    Group.MAU: Unit.MAU,
    Group.MWRITE: Unit.MWRITE,
    Group.MREAD: Unit.MREAD,
    Group.L2BM: Unit.L2BM,
    Group.DARW: Unit.DARW,
}


@st.composite
def item_texts(draw: st.DrawFn, records: tuple[Record, ...] = SAMPLED) -> str:
    """Legal items and MV lines of any record."""
    return sample(lambda choices: draw(st.sampled_from(choices)), records)


@pytest.mark.parametrize("record", _WITH_OPERANDS, ids=lambda record: record.example)
def test_the_example_belongs_to_the_record(record: Record) -> None:
    parsed = parse(record.example)
    assert parsed.record is record
    assert parsed.text == record.example


@pytest.mark.parametrize("record", _WITH_OPERANDS, ids=lambda record: record.example)
def test_the_example_assembles(record: Record) -> None:
    writers = "l1bmm@0 $lr0v $lbi\n" if "$lbi" in record.example else ""
    program = assemble(writers + record.example)
    line = program.lines[-1]
    item = line if isinstance(line, Mv) else line.items[0]  # type: ignore[union-attr]
    assert item.text == record.example
    if isinstance(item, (Compute, L2Move)):
        assert item.unit == _UNITS[record.group]
    elif isinstance(item, (PeLoad, PeStore)):
        assert item.unit == Unit.L1BM


def test_records_are_complete_and_unique() -> None:
    names = [(record.name, record.slots) for record in RECORDS]
    assert len(set(names)) == len(names)
    for record in RECORDS:
        assert record.title and record.meaning and record.source and record.mnemonics, record.name
    shared = {name for name, found in MNEMONICS.items() if len(found) > 1}
    assert {name for name in shared if not name.startswith("mv")} == {"l1bmd", "l2bmd"}


@pytest.mark.parametrize("record", [r for r in RECORDS if r.kernel is not None], ids=lambda record: record.name)
def test_every_spelling_finds_its_kernel(record: Record) -> None:
    assert record.kernel is not None
    for variant in record.mnemonics.values():
        assert record.kernel(variant).name


@pytest.mark.parametrize("record", alu_int.RECORDS, ids=lambda record: record.name)
def test_integer_meanings_agree_with_the_kernels(record: Record) -> None:
    """The formula of the record, evaluated literally, against the kernel's own reference."""
    assert record.kernel is not None
    rng = random.Random(record.name)
    for variant in record.mnemonics.values():
        n = {"l": 64, "i": 32, "s": 16}[variant.prec]
        formula = alu_int.UNSIGNED.get(record.name, record.meaning) if variant.unsigned else record.meaning
        code = compile(formula, record.name, "eval")
        for _ in range(40):
            x, y = (rng.choice((rng.getrandbits(n), rng.getrandbits(7), 0, (1 << n) - 1, 1 << n - 1)) for _ in range(2))
            names = {"x": x, "y": y, "n": n, "signed": lambda v, n=n: v - (v >> n - 1 << n)}
            want = eval(code, {}, names) % (1 << n)
            pair = (x << 64 - n, 0), (y << 64 - n, 0)
            lanes = [[p] * 4 for p in pair]
            out, _ = record.kernel(variant).reference(lanes[0], lanes[1], [(0, 0)] * 4, [], ())
            assert out[0][0] >> 64 - n == want, (record.name, variant, x, y)


@settings(max_examples=300, deadline=None)
@given(item_texts())
def test_sampled_items_are_legal(text: str) -> None:
    parsed = parse(text)
    item = parsed.record.lower(parsed) if parsed.record.lower else None
    assert item is not None and item.text == text
    if not isinstance(item, Mv):
        assert decode_line(text).items == (lower(parsed),)


def test_the_reference_page_is_current() -> None:
    path = Path(__file__).parents[2] / "docs" / "instructions.md"
    assert path.read_text(encoding="utf-8") == reference.page(), "run `python -m isa.reference`"


def test_the_reference_page_is_written_whole(tmp_path: Path) -> None:
    target = tmp_path / "page.md"
    reference.write(target)
    assert target.read_text(encoding="utf-8") == reference.page()
    assert [path.name for path in tmp_path.iterdir()] == ["page.md"]


def test_coverage_counts_spellings() -> None:
    rows = table(["ladd $lr0v $ls0v $ln0v\nmvd/n64 $p0@0 $lc0\nl1bmm@3 $lr0v $lb0\n", "no program\n"]).splitlines()
    assert "| add | alu | 1 of 6 | 1 |" in rows
    assert "| l1bmm@ | l1bm | 1 of 1 | 1 |" in rows
    assert "| mvd-pdm-l2bm | mv | 1 of 1 | 1 |" in rows
    assert "| sub | alu | 0 of 6 | 0 |" in rows
