"""The packer: what it may overlap, what it must keep, and random programs with equal results before and after."""

from __future__ import annotations

import numpy as np
import pytest

from hw.engine import execute
from hw.program import Line, Mv, Program, Step
from hw.sanitizer import check, lineset
from hw.state.board import Board
from isa import assemble
from isa.pack import PackError, pack, pack_traced, vsm_text
from tests.sanitizer.random_code import random_program


def straight(text: str) -> tuple[Line, ...]:
    """Input of the packer: decoded, hazards not yet looked at."""
    return assemble(text, check_hazards=False).lines


def packed(text: str, **options: int) -> str:
    """The packed text; hazards and line rules are checked on the way."""
    lines = pack(straight(text), **options)
    assert check(Program(tuple(lines)), strict=True) == []
    assert [v for line in lines if isinstance(line, Step) for v in lineset.check(line)] == []
    assert [line.line for line in lines] == list(range(1, len(lines) + 1))
    result = vsm_text(lines)
    assert len(assemble(result).lines) == len(lines)
    return result


def test_independent_items_share_a_line() -> None:
    assert packed("linc $lr0v $ls0v\nfvpassa $lm0v $ln0v\nl2bmb $lc0 $lb0") == (
        "linc $lr0v $ls0v; fvpassa $lm0v $ln0v; l2bmb $lc0 $lb0\n"
    )


def test_hazards_get_nops() -> None:
    assert packed("linc $lr0v $ls0v\nfvpassa $ls0v $lm0v") == "linc $lr0v $ls0v\nnop\nfvpassa $ls0v $lm0v\n"
    assert packed("l1bmd $lr0v $lb0\nl2bmd $lb0 $lc0") == "l1bmd $lr0v $lb0\nnop/2\nl2bmd $lb0 $lc0\n"


def test_input_nops_are_only_hints() -> None:
    assert packed("linc $lr0v $ls0v\nnop/7\nfvpassa $lm0v $ln0v") == "linc $lr0v $ls0v; fvpassa $lm0v $ln0v\n"


def test_ports_keep_apart_what_the_values_would_allow() -> None:
    # both orders are right for the values; an LM0 write blocks LM0 reads for two steps, a read blocks nothing
    text = packed("linc $lr0v $lm0v\nfvpassa $lm64v $ln0v")
    assert text in (
        "fvpassa $lm64v $ln0v\nlinc $lr0v $lm0v\n",
        "linc $lr0v $lm0v\nnop/2\nfvpassa $lm64v $ln0v\n",
    )


def test_overwriting_may_share_the_readers_line() -> None:
    assert packed("fvpassa $lr0v $ls0v\nlinc $ln0v $lr0v") == "fvpassa $lr0v $ls0v; linc $ln0v $lr0v\n"


def test_latch_readers_stay_behind_their_producer() -> None:
    text = packed("l1bmm $lb0 $lm0v\nmsr $lr0v $ls0v\nmsr $aluf $ls8v\nmsr $aluf $ls16v\nfvpassa $lr8v $ln0v")
    rows = text.splitlines()
    first = next(i for i, row in enumerate(rows) if "msr $lr0v" in row)
    assert "msr $aluf $ls8v" in rows[first + 1] and "msr $aluf $ls16v" in rows[first + 2]
    assert len(rows) == 3


def test_chain_that_needs_distance_gets_blank_lines() -> None:
    text = packed("linc $lr0v $ls0v\nnop\nladd $aluf $ls0v $lm0v\nfvpassa $lr8v $ln0v")
    rows = text.splitlines()
    assert rows[1] == "nop" and rows[2].startswith("ladd $aluf $ls0v $lm0v")


def test_noforward_lines_stay_alone_inside_their_chain() -> None:
    text = packed("linc $lr0v $nowrite\nfvpassa $ls0v $ln0v; noforward\nlpassa $aluf $lm0v\nl1bmm $lb0 $lr8v")
    assert "fvpassa $ls0v $ln0v; noforward" in text.splitlines()


def test_hand_packed_lines_stay_together() -> None:
    text = packed("linc $lr0v $ls0v; fvpassa $lm0v $ln0v\nldec $lr8v $ls8v")
    assert text == "linc $lr0v $ls0v; fvpassa $lm0v $ln0v\nldec $lr8v $ls8v\n"


def test_latch_without_producer_is_refused() -> None:
    lines = straight("linc $lr0v $ls0v\nlpassa $aluf $lm0v")
    with pytest.raises(PackError, match=r"\$aluf is read, but the step before did not fill it"):
        pack(lines[1:])


def test_loads_start_before_the_work_they_do_not_need() -> None:
    text = packed("linc $lr0v $ls0v\nldec $lr8v $ls8v\nmvp/n64i01 $p0@0 $lc0@0.0\nnop; wait i01\nl2bmb $lc0 $lb0")
    assert text.splitlines()[0].startswith("mvp/n64i01")
    assert text.splitlines()[-1] == "l2bmb $lc0 $lb0; wait i01"


def test_wait_guards_readers_and_overwriters_of_its_transfer() -> None:
    load = packed("mvp/n64i01 $p0@0 $lc0@0.0\nnop; wait i01\nl2bmb $lc0 $lb0\nl2bmb $lc64 $lb64")
    assert load == "mvp/n64i01 $p0@0 $lc0@0.0\nl2bmb $lc64 $lb64\nl2bmb $lc0 $lb0; wait i01\n"
    store = packed("mvp/n64i01 $lc0@0.0 $p0@0\nnop; wait i01\nl2bmd $lb0 $lc0")
    assert store == "mvp/n64i01 $lc0@0.0 $p0@0\nl2bmd $lb0 $lc0; wait i01\n"


def test_stores_follow_the_steps_that_make_their_data() -> None:
    text = packed("l2bmd $lb0 $lc0\nmvp/n64i01 $lc0@0.0 $p0@0\nnop; wait i01")
    assert text == "l2bmd $lb0 $lc0\nnop\nmvp/n64i01 $lc0@0.0 $p0@0\nnop; wait i01\n"


def test_transfers_through_the_same_dram_place_keep_their_waits() -> None:
    source = "mvp/n64i01 $lc0@0.0 $d0@0\nnop; wait i01\nmvp/n64i02 $d0@0 $lc64@0.0\nnop; wait i02"
    assert packed(source).splitlines() == source.splitlines()


def test_a_tag_is_used_again_only_behind_its_wait() -> None:
    source = "mvp/n64i01 $p0@0 $lc0@0.0\nnop; wait i01\nmvp/n64i01 $p64@0 $lc64@0.0\nnop; wait i01"
    assert packed(source).splitlines() == source.splitlines()


def test_host_waits_hold_everything_behind_them() -> None:
    assert packed("linc $lr0v $ls0v\nnop; wait i02\nfvpassa $lm0v $ln0v").splitlines() in (
        ["linc $lr0v $ls0v; wait i02", "fvpassa $lm0v $ln0v"],
        ["linc $lr0v $ls0v; fvpassa $lm0v $ln0v; wait i02"],
    )


def test_debug_lines_are_walls() -> None:
    text = packed("linc $lr0v $ls0v\nd get $ls0m0p0 4\nfvpassa $lm0v $ln0v")
    assert text == "linc $lr0v $ls0v\nd get $ls0m0p0 4\nfvpassa $lm0v $ln0v\n"


def test_persistent_masks_are_written_out() -> None:
    assert packed("masks 1\nlinc $lr0v $ls0v\nmask 0\nfvpassa $lm0v $ln0v") == (
        "linc $lr0v $ls0v/$imr1; fvpassa $lm0v $ln0v\n"
    )


def test_base_addresses_make_lm_addresses_unknown() -> None:
    known = packed("linc $lr0v $lm0v\nfvpassa $ls0v $lm64v\nl2bmb $lc0 $lb0")
    assert known.count("\n") == 2
    rows = packed("lpassa $lr0v $lmb\nlinc $lr8v $lm0v\nl1bmm $lb0 $lm64v").splitlines()
    assert [next(i for i, row in enumerate(rows) if text in row) for text in ("$lmb", "$lm0v", "$lm64v")] == [0, 1, 2]


def test_traced_lines_name_their_oldest_input() -> None:
    traced = pack_traced(straight("linc $lr0v $ls0v\nldec $lr8v $ls8v\nfvpassa $lm0v $ln0v"))
    assert [origin for _, origin in traced] == [1, 2]


def _state(rng_seed: int) -> Board:
    """A board with the same random content everywhere the random programs look."""
    board = Board()
    rng = np.random.default_rng(rng_seed)
    for array, count in ((board.lm, 24), (board.grf, 24)):
        part = array[:, :, :count]
        part[...] = rng.integers(0, 1 << 63, part.shape, np.uint64)
    for bank, count in ((board.l1bm, 512), (board.l2bm, 1280)):
        bank[:, :count] = rng.integers(0, 1 << 63, (len(bank), count), np.uint64)
    board.masks[:, 1:4] = rng.integers(0, 16, board.masks[:, 1:4].shape, np.uint8)
    return board


def _compare(seed: int, count: int) -> None:
    lines = random_program(seed, count)
    spaced = "\n".join(
        row for line in lines for row in ((line,) if line.startswith(("mv", "nop")) else (line, "nop/4"))
    )
    boards = []
    for text in (spaced, packed("\n".join(lines))):
        board = _state(seed)
        execute(assemble(text + "\nnop/4"), board)
        boards.append(board)
    one, two = boards
    for name, extent in (("lm", 64), ("grf", 64), ("l1bm", None), ("l2bm", None), ("t", None), ("masks", None)):
        a, b = getattr(one, name), getattr(two, name)
        if extent is not None:
            a, b = a[:, :, :extent], b[:, :, :extent]
        np.testing.assert_array_equal(a, b, err_msg=f"seed {seed}: {name}")
    np.testing.assert_array_equal(one.matrix, two.matrix)
    for group in range(4):
        np.testing.assert_array_equal(one.dram[group][:4096], two.dram[group][:4096])
        np.testing.assert_array_equal(one.pdm[group][:8192], two.pdm[group][:8192])


@pytest.mark.parametrize("seed", range(8))
def test_random_programs_keep_their_results(seed: int) -> None:
    _compare(seed, 60)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 200))
def test_many_random_programs_keep_their_results(seed: int) -> None:
    _compare(seed, 200)


def test_six_thousand_items_keep_their_order() -> None:
    lines = straight("\n".join(random_program(1, 6000, lists=False)))
    result = pack(lines)
    items = [item for line in result if isinstance(line, Step) for item in line.items]
    assert len(items) == sum(len(line.items) for line in lines if isinstance(line, Step))
    assert [x.text for x in result if isinstance(x, Mv)] == [x.text for x in lines if isinstance(x, Mv)]
