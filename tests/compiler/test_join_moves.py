"""Transfers that continue each other: what is joined, what must not be, and what becomes of the waits."""

from __future__ import annotations

import pytest

from compiler.emit.join_moves import join_moves
from hw.program import Line, Step
from isa import parse_item, parse_mv


def _line(text: str) -> Line:
    if text.startswith("mv"):
        return parse_mv(text)
    if text.startswith("wait"):
        return Step(nop=True, wait=int(text[-2:], 16), text=f"nop; {text}")
    return Step(items=(parse_item(text),), text=text)


def _joined(*texts: str) -> list[str]:
    return [line.text for line in join_moves([_line(text) for text in texts])]


@pytest.mark.parametrize(
    "first, second, both",
    [
        ("mvb2/n64i01 $d0 $lc0", "mvb2/n640i02 $d64 $lc64", "mvb2/n704i01 $d0 $lc0"),
        ("mvb4/n640i01 $d32 $lc128", "mvb4/n64i02 $d352 $lc768", "mvb4/n704i01 $d32 $lc128"),
        ("mvb/n640i01 $d0 $lc128", "mvb/n64i02 $d160 $lc768", "mvb/n704i01 $d0 $lc128"),
    ],
)
def test_what_continues_in_both_memories_is_one(first: str, second: str, both: str) -> None:
    assert _joined(first, second, "wait i01", "l2bmb $lc0 $lb0", "wait i02") == [
        both,
        "nop; wait i01",
        "l2bmb $lc0 $lb0",
    ]


def test_the_earlier_wait_stays_for_the_tag_that_is_left() -> None:
    got = _joined("mvb2/n64i01 $d0 $lc0", "mvb2/n64i02 $d64 $lc64", "wait i02", "l2bmb $lc64 $lb0", "wait i01")
    assert got == ["mvb2/n128i01 $d0 $lc0", "nop; wait i01", "l2bmb $lc64 $lb0"]


def test_three_in_a_row() -> None:
    got = _joined(*(f"mvb2/n64i0{k + 1} $d{64 * k} $lc{64 * k}" for k in range(3)), "wait i03", "wait i01", "wait i02")
    assert got == ["mvb2/n192i01 $d0 $lc0", "nop; wait i01"]


@pytest.mark.parametrize(
    "second, between",
    [
        ("mvb2/n64i02 $d128 $lc64", ""),  # a gap in DRAM
        ("mvb2/n64i02 $d64 $lc128", ""),  # a gap in L2BM
        ("mvb4/n64i02 $d64 $lc64", ""),  # another form
        ("mvb2/n32704i02 $d64 $lc64", ""),  # more than one MV moves
        ("mvb2/n64i02 $d64 $lc64", "l2bmb $lc64 $lb0"),  # what lay there is still read
        ("mvb2/n64i02 $d64 $lc64", "l2bmd $lb0 $lc0"),  # the same by a wider instruction
        ("mvb2/n64i02 $d64 $lc64", "mvp/n64i03 $lc1024@.0 $d64"),  # its source is written first
    ],
)
def test_what_must_stay_apart(second: str, between: str) -> None:
    texts = ["mvb2/n64i01 $d0 $lc0", *([between] if between else []), second, "wait i01", "wait i02"]
    assert len(_joined(*texts)) == len(texts)


def test_two_long_transfers_stay_apart() -> None:
    """What the first one brings can be used while the second one comes."""
    assert len(_joined("mvb2/n3264i01 $d0 $lc0", "mvb2/n3264i02 $d3264 $lc3264", "wait i01", "wait i02")) == 4
