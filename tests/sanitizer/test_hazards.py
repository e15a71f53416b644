"""Distances of the hazard table: every row, the recorded verdicts of the official assembler, and program checks."""

from __future__ import annotations

import json
import lzma
import time
from pathlib import Path

import pytest

from hw.program import Program, Step
from hw.sanitizer import check, required_distance
from isa import assemble, parse_item, parse_mv

PAIRS = Path(__file__).parents[1] / "data" / "hazard_pairs.jsonl.xz"


def program(text: str) -> Program:
    """A decoded program whose hazards nobody has looked at yet."""
    return assemble(text, check_hazards=False)


@pytest.mark.parametrize(
    ("row", "earlier", "later", "distance"),
    [
        (1, "lpassa $peid $lr0v", "lpassa $lr0v $ls0v", 2),
        (1, "lpassa $peid $lr0v", "lpassa $lr6 $ls0v", 3),
        (1, "lpassa $peid $lr6v", "lpassa $lr0v $ls0v", 1),
        (1, "lpassa $peid $lr0/1000", "lpassa $lr0v $ls0v", 2),
        (2, "lpassa $peid $t", "lpassa $lr0v $lmt0v", 2),
        (3, "lpassa $peid $lm0v/0000", "lpassa $lm64v $ls0v", 3),
        (3, "lpassa $peid $lm0v", "fvpassa $ln0v $ls0v", 0),
        (4, "lpassa $peid $lnb", "lpassa $ln0v $ls0v", 3),
        (4, "lpassa $peid $lnb", "lpassa $lr0v $ln0v", 1),
        (5, "l1bmm@0 $lr0v $lb0", "l1bmm $lb2048 $ls0v", 3),
        (6, "l1bmm@0 $lr0v $lb0", "l2bm@0 $lb0 $lc0", 4),
        (6, "l1bmd $lr0v $lb0", "l2bmd $lb0 $lc0", 3),
        (6, "l1bmd $lr0v $lb0", "l2bmi@0/4 $lb1024 $lb2048", 0),
        (7, "l2bmb $lc0 $lb0", "l1bmm $lb0 $lr0v", 2),
        (7, "l2bmb $lc0 $lb0", "l1bmd $lb0 $lr0v", 3),
        (8, "l2bmb@3 $lc0 $lb0", "l2bm@3 $lb512 $lc512", 3),
        (8, "l2bmb@3 $lc0 $lb0", "l2bm@0 $lb512 $lc512", 0),
        (9, "l2bm@0 $lb0 $lc0", "l2bmb@3 $lc512 $lb512", 4),
        (11, "l2bmi@3/4 $lb0 $lb64", "l2bm@2 $lb512 $lc0", 4),
        (11, "l2bmi@3/4 $lb0 $lb64", "l2bm@3 $lb512 $lc0", 0),
        (11, "l2bmi@3/4 $lb0 $lb64", "l2bmi@2/4 $lb512 $lb1024", 4),
        (12, "l2bmi@0/4 $lb0 $lb64", "l1bmm $lb64 $lr0v", 3),
        (13, "l2bmi@3/4 $lb0 $lb64", "l2bmb@2 $lc0 $lb1024", 2),
        (14, "l2bmi@0/4 $lb0 $lb64", "l2bmi@0/4 $lb64 $lb128", 0),
    ],
)
def test_rows_of_the_table(row: int, earlier: str, later: str, distance: int) -> None:
    first, second = parse_item(earlier), parse_item(later)
    assert required_distance(first, second) == distance
    for gap in range(5):
        text = "\n".join([earlier, *["nop"] * gap, later])
        found = check(program(text))
        assert bool(found) == (gap + 1 < distance), [v.message for v in found]
        if found:
            assert found[0].rule == f"hazard {row}"
            assert (found[0].earlier_line, found[0].line, found[0].missing) == (1, gap + 2, distance - gap - 1)


def test_mv_reads_need_one_step_between() -> None:
    writer = parse_item("l2bmd $lb0 $lc0")
    assert required_distance(writer, parse_mv("mvp/n64 $lc192@0.0 $p0@0")) == 2
    assert required_distance(writer, parse_mv("mvp/n64 $lc256@0.0 $p0@0")) == 0
    assert required_distance(writer, parse_mv("mvp/n64 $p0@0 $lc0@0.0")) == 1
    assert check(program("l2bmd $lb0 $lc0\nmvp/n64 $lc0@0.0 $p0@0"))[0].rule == "hazard 10"
    assert not check(program("l2bmd $lb0 $lc0\nnop\nmvp/n64 $lc0@0.0 $p0@0"))


@pytest.mark.parametrize(
    ("earlier", "later", "distance"),
    [
        ("lpassa $lr0v $ls0v", "fvpassa $ln0v $lr0v", 0),  # overwrites what was read: one line will do
        ("lpassa $lr0v $ls0v", "linc $ln0v $ls0v", 1),  # two writes keep their order
        ("isub $lr0v $ls0v $omr1", "lpassa $ln0v $lm0v/$imr1", 1),
        ("gmwrite $lr0v $lx0", "gmmul $lx $ls0v $ln0v", 1),
        ("l1bmm@0 $lr0v $lbi", "l1bmm $lbi $ls0v", 1),
        ("linc $lr0v $ls0v", "linc $aluf $ln0v", 1),
        ("linc $lr0v $ls0v", "linc $lr8v $ls8v", 1),  # one latch, two writers
        ("linc $lr0v $ls0v", "fvpassa $lr8v $ln8v", 0),
        ("l2bmb@1 $lc0 $lb0", "l2bmb@2 $lc64 $lb0", 0),
    ],
)
def test_order_of_values(earlier: str, later: str, distance: int) -> None:
    assert required_distance(parse_item(earlier), parse_item(later)) == distance


@pytest.mark.parametrize(
    ("later", "refused"),
    [
        ("lpassa $lr0v $nowrite", False),
        ("lpassa $lr0v $nowrite\nlpassa $aluf $ls0v", True),
        ("lpassa $lr0v $omr1/1000", True),
        ("lpassa $lr0v $ls0v/0000 $ln0v/0000", False),
        ("lpassa/0000 $lr0v $ls0v", True),
        ("l1bmm@0 $lr0v $lbi", False),
        ("l1bmm@0 $lr0v $lbi\nl1bmm $lbi $ln0v", True),
        ("l1bmrffadd $lr0v $lbi", True),
        ("dmwrite $lr0v $lx0", True),
    ],
)
def test_reads_without_effect_do_not_count(later: str, refused: bool) -> None:
    text = f"lpassa $peid $lr0v\n{later}"
    assert bool(check(program(text))) == refused
    assert check(program(text), strict=True)


def test_recorded_verdicts_of_the_official_assembler() -> None:
    for row in lzma.decompress(PAIRS.read_bytes()).decode().splitlines():
        record = json.loads(row)
        found = check(program(record["vsm"]))
        assert bool(found) == record["refused"], (record, [v.message for v in found])
        if "line" in record:
            assert min(v.line for v in found) == record["line"], record


def test_message_names_lines_resource_and_repair() -> None:
    (violation,) = check(program("nop\nlpassa $peid $lr0v\nlpassa $lr4 $ls0v"))
    assert violation.message == (
        "line 3 touches GRF0 word 4 1 step after line 2, needs 3: a GRF0 write is visible 7 cycles later; "
        "insert nop/2 before line 3 [hazard 1]"
    )


def test_steps_count_whatever_they_hold() -> None:
    between = "nop; wait i01"
    assert not check(program(f"mvp/n64i01 $p0@0 $lc0@0.0\nlpassa $peid $lr0v\n{between}\nlpassa $lr0v $ls0v"))
    assert not check(program("lpassa $peid $lr0v\nnoforward\nlpassa $lr0v $ls0v"))
    assert check(program("lpassa $peid $lr0v\nd get $lr0 1\nmvp/n64 $p0@0 $lc0@0.0\nlpassa $lr0v $ls0v"))


def test_long_programs_are_checked_quickly() -> None:
    line = "fvfma $lr0v $ls0v $t $lm{0}v; linc $ln{1}v $ln{1}v; l1bmm $lb{2} $lr64v; l2bmb $lc0 $lb4096"
    text = "\n".join(line.format(8 * (i % 100), 8 * (i % 90), 64 * (i % 50)) for i in range(2000))
    decoded = program(text)
    start = time.process_time()
    check(decoded)
    assert time.process_time() - start < 2.0  # 2000 full lines; 0.05 s on an idle core
    assert len([x for x in decoded.lines if isinstance(x, Step)]) == 2000
