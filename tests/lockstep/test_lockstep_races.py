"""What lock-step shows and the value pass hides: programs that do not wait."""

from __future__ import annotations

import numpy as np
import pytest

from hw.engine import Deadlock, InvalidLatch, TagReuse, execute
from hw.lockstep import Kind, Lockstep, Moment, Observer, run
from hw.model import simulate
from hw.sanitizer.runtime import TransferRace, sanitize
from hw.spec import ChipSpec
from hw.state import Board, Memory
from isa import assemble
from isa.dump import debug_handler

READS_TOO_EARLY = """\
mvb/n64i01 $p0@0 $lc0
l2bmb $lc0 $lb0
nop
l1bmp $lb0 $lr0v
nop; wait i01
"""
WAITS = READS_TOO_EARLY.replace("l2bmb $lc0 $lb0", "l2bmb $lc0 $lb0; wait i01").replace("nop; wait i01\n", "nop\n")
OVERWRITES_A_SOURCE = """\
zero $lr0v
nop
l1bmd $lr0v $lb0
mvp/n64i01 $lc0@0.0 $p64@0
nop/2
l2bmd $lb0 $lc0
nop; wait i01
"""


def board() -> Board:
    board = Board()
    board.pdm[0, :64] = np.arange(1, 65)
    board.l2bm[:, :64] = 9
    return board


def grf(board: Board) -> int:
    return board.read_lw(Memory.GRF0, 0, 0, 0, 0, 0, 0)


def test_a_destination_that_is_read_without_waiting() -> None:
    """The step sees what lay there before; the value pass pretends that the data have come."""
    program = assemble(READS_TOO_EARLY)
    together, apart = board(), board()
    run(program, together)
    execute(program, apart)
    assert (grf(together), grf(apart)) == (9, 1)
    assert together.read_lw(Memory.L2BM, 0, 0, 0) == 1, "the data arrive later"
    with pytest.raises(TransferRace, match=r"line 2: .* reads L2BM 0 of n0c0 .*MV of line 1") as caught:
        sanitize(program, board())
    assert "put `wait i01` before line 2" in str(caught.value)


def test_the_same_with_a_wait() -> None:
    program = assemble(WAITS)
    together = board()
    run(program, together)
    assert grf(together) == 1
    assert sanitize(program, board()) == []


def test_a_source_that_is_overwritten_too_early() -> None:
    program = assemble(OVERWRITES_A_SOURCE)
    together, apart = board(), board()
    run(program, together)
    execute(program, apart)
    assert (together.pdm[0, 64], apart.pdm[0, 64]) == (0, 9)
    with pytest.raises(TransferRace, match=r"line 6: .* overwrites L2BM 0 of n0c0, which the MV of line 4"):
        sanitize(program, board())


def test_a_slow_program_may_be_lucky_but_the_sanitizer_goes_by_the_rules() -> None:
    program = assemble(READS_TOO_EARLY.replace("l2bmb", "nop/200\nl2bmb"))
    together = board()
    run(program, together)
    assert grf(together) == 1
    with pytest.raises(TransferRace):
        sanitize(program, board())


def test_latencies_of_the_chip_decide_what_is_seen() -> None:
    program = assemble(READS_TOO_EARLY)
    together = board()
    quick = ChipSpec.load({"mv.latency.pdm": 0, "mv.rate.b_pdm": 64})
    run(program, together, quick)
    assert grf(together) == 9, "one cycle of data phase, the step issues in cycle 0"
    run(assemble(READS_TOO_EARLY.replace("l2bmb", "nop\nl2bmb")), together := board(), quick)
    assert grf(together) == 1


class Log(Observer):
    def __init__(self) -> None:
        self.moments: list[tuple[str, int, int]] = []
        self.ended = False

    def after(self, moment: Moment) -> None:
        self.moments.append((moment.kind.value, moment.cycle, moment.index))

    def end(self) -> None:
        self.ended = True


def test_moments_in_the_order_of_time() -> None:
    log = Log()
    program = assemble("mvb/n64i01 $p0@0 $lc0\nmvp/n64 $p0@0 $d0@0\nnop/2\nnop; wait i01\nd get $lc0n0c0 1")
    out: list[str] = []
    result = run(program, board(), observers=[log], on_debug=debug_handler(out))
    transfers = simulate(program).transfers
    assert log.ended
    assert log.moments == sorted(log.moments, key=lambda moment: moment[1])
    assert ("read", transfers[0].data, 0) in log.moments
    assert ("arrival", transfers[0].end, 0) in log.moments
    assert ("arrival", transfers[1].end, 1) in log.moments
    assert [index for kind, _, index in log.moments if kind == Kind.LINE.value] == list(range(6))
    assert result.cycles == simulate(program).cycles
    assert "v:0x1)" in out[0]


def test_step_by_step() -> None:
    steps = Lockstep(assemble("zero $lr0v\nmvb/n64i01 $p0@0 $lc0\nnop"), board())
    assert steps.next() == steps.advance()
    assert steps.now == 4
    steps.advance()
    assert steps.moving == (1,)
    while steps.advance() is not None:
        pass
    assert steps.moving == ()
    assert steps.advance() is None


@pytest.mark.parametrize(
    ("text", "error", "line"),
    [
        ("mvb/n64i01 $p0@0 $lc0\nnop\nnop; wait i02\nzero $lr0v", Deadlock, 3),
        ("mvb/n64i01 $p0@0 $lc0\nmvb/n64i01 $p0@0 $lc0\nnop; wait i01", TagReuse, 3),
        ("mvb/n64i01 $p0@0 $lc0\nlinc $aluf $lr0v", InvalidLatch, 2),
    ],
)
def test_errors_come_where_the_value_pass_has_them(text: str, error: type[Exception], line: int) -> None:
    """The lines before have run, and MVs that were on their way before a deadlock have arrived."""
    together = board()
    with pytest.raises(error, match=f"line {line}:"):
        run(assemble(text, check_hazards=False), together)
    if error is Deadlock:
        assert together.read_lw(Memory.L2BM, 0, 0, 0) == 1
