"""Damaged programs and damaged streams: a typed error with a place or a result, never anything else, and soon."""

from __future__ import annotations

import random
import warnings

import pytest

from isa import assemble
from isa.commands.stream import StreamError, load_stream
from isa.encoding import encode
from isa.errors import AsmError
from isa.sample import SAMPLED, sample

TEXTS = 60
ALPHABET = "$lmnrstxybicdpeuh0123456789[],.+-/@;#\"' vjfLX\t_?é\0{}%"
STATEMENTS = (
    "nop/4",
    "noforward",
    "nop; wait i01",
    "mvnop",
    "d get $lm0n0c0b0m0p0 4",
    "d getf $llt",
    "d set $lb0n0c0b0 2 00112233445566778899aabbccddeeff",
    "maskllr 2",
    "maskrtk 1",
    'imm f"1.5" $lr0v',
    "#@layer one",
    "quit",
)
EXTREMES = (
    "nop/99999999999999999999",
    "nop/-1",
    "nop/",
    "wait i",
    "wait i100",
    "linc $lr99999999999999999999 $ls0",
    "linc $lr[0,1,2,3,4] $ls0",
    "linc $lr[] $ls0",
    "linc $lr0v99999999999 $ls0v",
    "linc " + "$lr0 " * 4000,
    "; " * 4000,
    "[" * 20000,
    'imm f"' + "9" * 5000 + '" $lr0',
    'imm f"1e999999999999" $lr0',
    'imm f"0x1p-99999999999" $lr0',
    'imm i"0x' + "f" * 5000 + '" $lr0',
    "mvp/n99999999999999 $p0@0 $lc0@0.0",
    "mvp/n64i01nd99999999p9 $p0@0 $lc0@0.0",
    "l2bmb@99999999/9 $lc0 $lb0",
    "l1bmd+99999999999999999999 $lb0 $lr0v",
    "d get $lm0 99999999999999999999",
    "d get $lm99999999999999999999 1",
    "d get $lm0n9c9b9m99p9 1",
    "d set $lm0 99999999999999999999 00",
    "d set $lm0 1 " + "0" * 100_000,
    "d set",
    "d",
    "d get $omr99 1",
    "d get $lm" + "9" * 5000 + " 1",
    "d get $lm0n" + "9" * 5000 + " 1",
    "d get $lm0 " + "9" * 5000,
    "d set $lm0 " + "9" * 5000 + " 00",
    "linc $lr" + "9" * 5000 + " $ls0",
    "nop/" + "9" * 5000,
    'imm i"' + "9" * 5000 + '" $lr0',
    'imm f"1e' + "9" * 5000 + '" $lr0',
    'imm f"nan(' + "9" * 5000 + ')" $lr0',
    "\0",
    "\ud800",
    "\u2028linc $lr0 $ls0",
)


def damaged(rng: random.Random, text: str) -> str:
    """One to three edits of a text: characters, pieces, or whole words."""
    for _ in range(rng.randrange(1, 4)):
        at = rng.randrange(len(text) + 1)
        kind = rng.randrange(6)
        if kind == 0:
            text = text[:at] + text[at + 1 :]
        elif kind == 1:
            text = text[:at] + rng.choice(ALPHABET) + text[at:]
        elif kind == 2:
            text = text[:at] + rng.choice(ALPHABET) + text[at + 1 :]
        elif kind == 3:
            text = text[:at] + text[at : at + 6] * rng.randrange(2, 9) + text[at:]
        elif kind == 4:
            words = text.split(" ")
            rng.shuffle(words)
            text = " ".join(words)
        else:
            text = text[:at] + str(rng.choice((-1, 16, 4096, 65536, 1 << 31, 1 << 64))) + text[at:]
    return text


def check_text(text: str, mode: str = "flat") -> None:
    """A program, or a refusal that names its line, a rule and what is wrong."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            assemble(text, mode="flat" if mode == "flat" else "auto_stride")
        except AsmError as error:
            assert error.line >= 1
            assert "/" in error.rule
            assert error.message
            assert f"line {error.line}" in str(error)


@pytest.mark.parametrize("record", SAMPLED, ids=lambda record: record.name)
def test_damaged_items(record: object) -> None:
    rng = random.Random(f"text {record.name}")  # type: ignore[attr-defined]
    for number in range(TEXTS):
        text = sample(rng.choice, [record])  # type: ignore[list-item]
        check_text("nop\n" + damaged(rng, text) + "\n", "flat" if number % 3 else "auto")


@pytest.mark.parametrize("statement", STATEMENTS)
def test_damaged_statements(statement: str) -> None:
    rng = random.Random(statement)
    for _ in range(TEXTS):
        check_text(damaged(rng, statement) + "\n")


@pytest.mark.parametrize("text", EXTREMES, ids=lambda text: repr(text[:24]))
def test_extremes(text: str) -> None:
    check_text(text)
    check_text(f"linc $lr0v $ls0v\n{text}; nop\n")


@pytest.mark.parametrize("seed", range(4))
def test_noise(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(TEXTS):
        check_text("".join(rng.choice(ALPHABET + "\n;;  ") for _ in range(rng.randrange(200))))


def check_stream(lines: list[str]) -> None:
    """A program, or a refusal that names its line."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            load_stream(lines)
        except StreamError as error:
            assert 1 <= error.line <= len(lines)
            assert error.message


@pytest.mark.parametrize("record", SAMPLED, ids=lambda record: record.name)
def test_damaged_encodings(record: object) -> None:
    rng = random.Random(f"stream {record.name}")  # type: ignore[attr-defined]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            good = next(iter(encode(assemble(sample(rng.choice, [record]), check_hazards=False))))  # type: ignore[list-item]
        except AsmError:
            return
    letter, payload = good.split()
    for number in range(TEXTS):
        bits = int(payload, 16)
        for _ in range(rng.randrange(1, 4)):
            # Behind the fingerprint, so that the fields themselves are met.
            bits ^= 1 << rng.randrange(max(1, 4 * len(payload) - 16))
        changed = f"{bits:0{len(payload)}x}"
        if number % 4 == 0:
            changed = changed[: rng.randrange(1, len(changed) + 1)]
        check_stream(["# a comment", f"{letter if number % 5 else rng.choice('jimdrx')} {changed}"])


@pytest.mark.parametrize(
    "line",
    ["j", "m", "i  ", "j zz", "j -1", "j 0x10", "j " + "f" * 100_000, "m 00", "r", "r 0 0 1", "r x 0 1 00", "r 0 0 1 0",
     "r 0 0 ffffffffffff 0000000000000000", "d", "d get", "d set $lm0 1", "q", "J 00", "j 00 00", "\0", "j ١"],
)  # fmt: skip
def test_odd_stream_lines(line: str) -> None:
    check_stream([line])
