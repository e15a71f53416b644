"""`judge TESTCASE SOLUTION`: assemble a solution, run it inside a contest test case, compare and score (isa.md 16)."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

from hw.engine import execute
from hw.engine.errors import EngineError
from hw.state.board import Board
from isa.assemble import assemble
from isa.commands.common import OK, USAGE_ERROR, Parser, marked, read_text
from isa.commands.expectation import Expectation, JudgeError, close, parse_item, result_values
from isa.commands.stream import load_stream, stream_handler
from isa.dump import debug_handler
from isa.encoding import FLAT, encode
from isa.errors import AsmError, IsaError

MARKER = "# ======= YOUR VSM WILL BE INSERTED HERE ======="
_COMMENT = re.compile(r"[#!].*$")
FAILED = 1


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome: equal values, a text for each other one, counted lines and bytes, and the user's own dumps."""

    correct: int
    mismatches: tuple[str, ...]
    steps: int
    transfers: int
    size: int
    user_dump: tuple[str, ...]
    used_set: bool

    @property
    def accepted(self) -> bool:
        """All values agree and no memory was set by hand."""
        return not self.mismatches and not self.used_set

    @property
    def score(self) -> int:
        """Lines that the judge counts: steps and transfers of the whole stream."""
        return self.steps + self.transfers


def without_comments(solution: str) -> list[str]:
    """The solution's lines as the judge assembles them."""
    return [_COMMENT.sub("", line) for line in solution.splitlines()]


def _split(testcase: str) -> tuple[list[str], list[str]]:
    lines = testcase.splitlines()
    if MARKER not in lines:
        raise JudgeError(f"the test case has no line `{MARKER}`")
    at = lines.index(MARKER)
    return lines[:at], lines[at + 1 :]


def _kept(line: str, enable_get: bool, enable_set: bool) -> bool:
    words = line.split(None, 2)
    if not words or words[0] in (FLAT, "m"):
        return True
    if words[0] != "d" or len(words) < 2:
        return False
    return (enable_get and words[1].startswith("get")) or (enable_set and words[1] == "set")


def judge(testcase: str, solution: str, *, enable_get: bool = False, enable_set: bool = False) -> Verdict:
    """Run one solution on one test case.

    Raises AsmError for a refused solution, EngineError for one that stops, JudgeError for an unreadable test case.
    """
    before, after = _split(testcase)
    source = without_comments(solution)
    assembled = list(encode(assemble("\n".join(source)), FLAT))
    stream = [*before, *(line for line in assembled if _kept(line, enable_get, enable_set)), *after]
    results: list[str] = []
    execute(load_stream(stream), Board(), on_debug=stream_handler(debug_handler(results)), strict=False)
    expected = [item for line in after if (item := parse_item(line)) is not None and line.startswith("d get")]
    if len(results) < len(expected):
        raise JudgeError(
            f"{len(results)} result lines, {len(expected)} were expected: the program ended before its end"
        )
    split = len(results) - len(expected)
    correct, mismatches = _compare(results[split:], expected)
    first = [line.split(None, 1)[0] for line in stream if line.strip()]
    trimmed = [line.strip() for line in source if line.strip()]
    return Verdict(
        correct,
        tuple(mismatches),
        first.count(FLAT),
        first.count("m"),
        len("\n".join(trimmed).encode()),
        tuple(results[:split]),
        enable_set and any(line.startswith("d set") for line in assembled),
    )


def _compare(results: list[str], expected: list[Expectation]) -> tuple[int, list[str]]:
    """Number of equal values, and a text for each other one.  The first line's tolerances hold for all."""
    correct, mismatches = 0, []
    atol, rtol = (expected[0].atol, expected[0].rtol) if expected else (0.0, 0.0)
    for line, item in zip(results, expected, strict=True):
        positions = re.findall(r"\[[^\]]*\]", item.indices)
        for k, (actual, wanted) in enumerate(zip(result_values(line, item.dtype), item.values, strict=False)):
            if close(actual, wanted, atol, rtol):
                correct += 1
            else:
                place = positions[k] if k < len(positions) else item.indices
                mismatches.append(f"RESULT MISMATCH: pos={place} expected={wanted} actual={actual}")
    return correct, mismatches


def _report(verdict: Verdict) -> int:
    for line in verdict.user_dump:
        print(line)
    for line in verdict.mismatches:
        print(line)
    if verdict.mismatches:
        print(f"{verdict.correct} value(s) correct, but {len(verdict.mismatches)} value(s) mismatch")
        return FAILED
    if verdict.used_set:
        print("The values are correct, but a solution that uses `d set` is not accepted")
        return FAILED
    print(
        f"ACCEPTED!! score={verdict.score} j={verdict.steps} m={verdict.transfers} bytes={verdict.size}",
    )
    return OK


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns 0 when accepted, 1 otherwise."""
    parser = Parser(prog="judge", description="Judge a solution with a contest test case.", allow_abbrev=False)
    parser.add_argument("testcase", help="test-case file with the insertion marker")
    parser.add_argument("solution", nargs="?", help="VSM file; standard input without it")
    parser.add_argument("--enable-get", action="store_true", help="keep the solution's `d get` lines")
    parser.add_argument("--enable-set", action="store_true", help="keep its `d set` lines (never accepted)")
    options = parser.parse_args(argv)
    try:
        testcase, solution = read_text(options.testcase), read_text(options.solution)
    except (OSError, UnicodeDecodeError) as error:
        print(error, file=sys.stderr)
        return USAGE_ERROR
    warnings.simplefilter("ignore")
    try:
        return _report(judge(testcase, solution, enable_get=options.enable_get, enable_set=options.enable_set))
    except AsmError as error:
        print(marked(error), file=sys.stderr)
    except (IsaError, EngineError) as error:
        print(error, file=sys.stderr)
    return FAILED


if __name__ == "__main__":
    raise SystemExit(main())
