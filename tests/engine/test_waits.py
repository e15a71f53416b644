"""Tags and waits (isa.md 2.5): deadlock, reuse, and what the permissive mode skips."""

from __future__ import annotations

import pytest

from hw.engine import Deadlock, TagReuse, execute
from hw.program import Compute, Debug, Mem, Mv, MvForm, MvNop, Step
from hw.state import Memory
from tests.engine.build import dst, imm, l2bm, mv, pdm, program, random_board, run


def tagged(tag: int, address: int = 0) -> Mv:
    return mv(MvForm.B_PDM, 64, pdm(address, 0), l2bm(0), tag=tag)


def wait(tag: int) -> Step:
    return Step(nop=True, wait=tag)


def write(value: int) -> Compute:
    return imm(value, value, dst(Mem.GRF0))


def test_a_wait_after_its_mv_is_free_and_its_items_run() -> None:
    board = random_board()
    run(board, tagged(1), tagged(2), Step(items=(write(4),), wait=2), wait(1))
    assert (board.view(Memory.GRF0)[..., :4] == 4).all()


def test_a_tag_may_be_used_again_after_its_wait() -> None:
    run(random_board(), tagged(1), wait(1), tagged(1), wait(1))


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        ((wait(3),), 1),
        ((tagged(1), wait(3)), 2),
        ((tagged(1), wait(1), wait(1)), 3),
        ((wait(3), tagged(3)), 1),
        ((tagged(0), wait(3)), 2),
    ],
)
def test_a_wait_that_never_ends(lines: tuple[Mv | Step, ...], line: int) -> None:
    with pytest.raises(Deadlock, match=f"line {line}: wait for tag i0") as caught:
        run(random_board(), *lines)
    assert caught.value.line == line


def test_a_deadlock_names_the_open_tags() -> None:
    with pytest.raises(Deadlock, match="open tags: i01, i2f"):
        run(random_board(), tagged(1), tagged(0x2F), wait(3))


def test_permissive_mode_skips_everything_but_debug_lines() -> None:
    board = random_board()
    before = board.l2bm.copy()
    seen: list[str] = []
    lines = program(
        write(1),
        Debug("a"),
        wait(3),
        write(2),
        tagged(3, 64),
        wait(3),
        Debug("b"),
        Step(items=(write(3),), wait=9),
        Debug("c"),
    )
    execute(lines, board, strict=False, on_debug=lambda debug, state: seen.append(debug.text))
    assert seen == ["a", "b", "c"]
    assert (board.view(Memory.GRF0)[..., :4] == 1).all()
    assert (board.l2bm == before).all()


@pytest.mark.parametrize(
    "lines", [(tagged(1), tagged(1), wait(1)), (tagged(1), tagged(1), tagged(1))], ids=["waited for", "raised again"]
)
@pytest.mark.parametrize("strict", [False, True])
def test_a_tag_raised_twice(lines: tuple[Mv | Step, ...], strict: bool) -> None:
    with pytest.raises(TagReuse, match=r"line 3: (wait for )?tag i01"):
        run(random_board(), *lines, strict=strict)


def test_a_tag_raised_twice_and_left_alone_is_harmless() -> None:
    run(random_board(), tagged(1), tagged(1), tagged(2), wait(2))


def test_mvnop_does_nothing() -> None:
    board = random_board()
    run(board, tagged(1), MvNop(), wait(1))


def test_lines_before_a_deadlock_have_run() -> None:
    board = random_board()
    with pytest.raises(Deadlock):
        run(board, write(5), wait(1))
    assert (board.view(Memory.GRF0)[..., :4] == 5).all()
