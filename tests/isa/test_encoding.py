"""Encoding and canonical text: exact round trips of random items, whole lines, programs."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from hw.program import Debug, Item, Mv, MvNop, Program, Step
from isa import assemble
from isa.bitfield import BitReader, BitWriter, EncodingError
from isa.disassemble import disassemble, item_text, line_text
from isa.encoding import AUTO_STRIDE, decode, decode_line, decode_payload, encode, encode_line
from isa.item import parse
from isa.line import lower
from isa.sample import SAMPLED, sample
from tests.sanitizer.random_code import random_program


def meaning(program: Program) -> list[object]:
    """Everything of a program except texts and line numbers."""

    def bare(item: Item) -> Item:
        return replace(item, text="")

    result: list[object] = []
    for line in program.lines:
        if isinstance(line, Step):
            result.append((tuple(map(bare, line.items)), line.wait, line.nop, line.hold))
        elif isinstance(line, Mv):
            result.append(replace(line, text="", line=0))
        else:
            result.append(line.text if isinstance(line, Debug) else "mvnop")
    return result


@pytest.mark.parametrize("record", SAMPLED, ids=lambda record: record.name)
def test_items_of_every_record(record: object) -> None:
    choose = Random(record.name).choice  # type: ignore[attr-defined]
    for _ in range(40):
        parsed = parse(sample(choose, [record]))  # type: ignore[list-item]
        canonical = item_text(parsed)
        assert item_text(parse(canonical)) == canonical
        first = parsed.record.lower(parsed) if parsed.record.lower else None
        again = parse(canonical)
        second = again.record.lower(again) if again.record.lower else None
        assert first is not None and second is not None
        assert replace(first, text="") == replace(second, text="")
        line = first if isinstance(first, Mv) else Step((lower(parsed),), text=parsed.text)
        assert decode_line(encode_line(line)) == canonical


@pytest.mark.parametrize("seed", range(5))
def test_programs(seed: int) -> None:
    source = "\n".join(random_program(seed, 80))
    program = assemble(source, check_hazards=False)
    text = disassemble(program)
    again = assemble(text, check_hazards=False)
    assert meaning(again) == meaning(program)
    assert disassemble(again) == text
    assert meaning(assemble(decode(encode(program)), check_hazards=False)) == meaning(program)


def test_canonical_spelling() -> None:
    source = (
        "#@layer first\n lpassa   $lr0v2 $lt ;noforward\nlpassa $ls2v0 $m0[0]/$imr24".replace("[0]", "")
        + '\nnop\nnop\nimm f"1.0" $r0\nl2bmb@7/6 $lc0 $lb0; wait i01\nl2bmb@3/7 $lc0 $lb0\nmvp/n64p1i2A $p0@0 $lc0@0.0'
        "\nmvnop\nd   get $tm0p0 1 # comment"
    )
    assert disassemble(assemble(source, check_hazards=False)) == (
        "#@layer first\nlpassa $lr0v $t; noforward\nlpassa $ls2 $m0/1000\nnop/2\n"
        'imm ui"0x3F800000" $r0\nl2bmb@1/6 $lc0 $lb0; wait i01\nl2bmb $lc0 $lb0\nmvp/n64i2ap1 $p0@0 $lc0@0.0\n'
        "mvnop\nd get $ltm0p0 1\n"
    )


def test_persistent_masks_become_masks_of_their_destinations() -> None:
    source = (
        "maskrtk 1\nisub $ls0v $ln0v $lr0v $t $omr2\nlpassa $lls0v $llr0v\n"
        "maskllr 2\nlpassa $lls0v $llr0v\nlinc $ls0v $lr0v"
    )
    program = assemble(source, check_hazards=False)
    text = disassemble(program)
    assert text.splitlines() == [
        "isub $ls0v $ln0v $lr0v/$imr1 $t/$imr1 $omr2/$imr1",
        "lpassa $lls0v $llr0v/$imr1p",
        "lpassa $lls0v $llr0v/$llimr2",
        "linc $ls0v $lr0v/$llimr2t",
    ]
    assert meaning(assemble(text, check_hazards=False)) == meaning(program)


def test_stream_letters() -> None:
    lines = assemble("linc $lr0v $ls0v\nmvp/n64 $p0@0 $lc0@0.0\nmvnop\nnop; wait i3f\nd get $lr0m0p0 1").lines
    stream = [encode_line(line, AUTO_STRIDE) for line in lines]
    assert [row.split()[0] for row in stream] == ["i", "m", "m", "i", "d"]
    assert [decode_line(row) for row in stream] == [line_text(line) for line in lines]
    assert stream[4] == "d get $lr0m0p0 1"
    assert encode_line(MvNop()) == stream[2]


def test_comments_and_blank_lines_decode_to_nothing() -> None:
    assert decode(["", "# text", "  ", encode_line(Step(nop=True))]) == "nop\n"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("x 00", "starts no line"),
        ("j", "starts no line"),
        ("j zz", "no hexadecimal payload"),
        ("j 0000", "assembled by other tools"),
    ],
)
def test_bad_stream_lines(row: str, message: str) -> None:
    with pytest.raises(EncodingError, match=message):
        decode_line(row)


def test_damaged_payloads() -> None:
    good = encode_line(assemble("linc $lr0v $ls0v").lines[0]).split()[1]
    with pytest.raises(EncodingError, match="ends inside a field"):
        decode_payload("j", good[:-6])
    with pytest.raises(EncodingError, match="goes on behind"):
        decode_payload("j", good + "01")


def test_fields_are_checked() -> None:
    out = BitWriter()
    with pytest.raises(EncodingError, match=r"size is 4: the field holds 0\.\.3"):
        out.put(4, 2, "size")
    out.put(2, 2, "size")
    out.optional(None, 5, "tag")
    out.optional(9, 5, "tag")
    data = BitReader(out.hex())
    assert (data.get(2), data.optional(5), data.optional(5)) == (2, None, 9)
    data.finish()
