"""What items touch: words per cycle, masks, run-time addresses, maps of the L1BM and L2BM, MV regions."""

from __future__ import annotations

import pytest

from hw.program import Mv
from hw.sanitizer import Access, Res, footprint
from hw.sanitizer.completion import unfinished
from hw.sanitizer.footprint import without_latches
from isa import assemble, parse_item, parse_mv


def access(text: str, res: Res, *, write: bool) -> Access:
    """The only access of one kind to a resource."""
    item = parse_mv(text) if text.startswith("mv") else parse_item(text)
    fp = footprint(item)
    (found,) = [a for a in (fp.writes if write else fp.reads) if a.res is res]
    return found


def words(bits: int) -> list[int]:
    """The addresses of a bit set."""
    return [i for i in range(bits.bit_length()) if bits >> i & 1]


def test_words_of_each_cycle() -> None:
    found = access("ladd $lr0v $ls[4,0,2,6] $m8v2", Res.GRF0, write=False)
    assert [words(c) for c in found.cycles] == [[0, 1], [2, 3], [4, 5], [6, 7]]
    found = access("ladd $lr0v $ls[4,0,2,6] $m8v2", Res.GRF1, write=False)
    assert [words(c) for c in found.cycles] == [[4, 5], [0, 1], [2, 3], [6, 7]]
    found = access("ladd $lr0v $ls[4,0,2,6] $m8v2", Res.LM0, write=True)
    assert [words(c) for c in found.cycles] == [[8], [10], [12], [14]]
    assert words(access("lpassa $lr508v $ls0v", Res.GRF0, write=False).cycles[3]) == [2, 3]  # wraps


def test_masks() -> None:
    literal = access("linc $lr0v $ls0v/1010", Res.GRF1, write=True)
    assert [words(c) for c in literal.cycles] == [[0, 1], [], [4, 5], []]
    variable = footprint(parse_item("linc $lr0v $ls0v/$imr3"))
    assert words(next(a for a in variable.reads if a.res is Res.OMR).total) == [3]
    wide = access("lpassa $llr0v $lls0v/1000p", Res.GRF1, write=True)
    assert [words(c) for c in wide.cycles] == [[0, 1, 2, 3], [6, 7], [10, 11], [14, 15]]  # LW1 is not masked
    flags = access("isub $lr0v $ls0v $omr2/1000", Res.OMR, write=True)
    assert all(words(c) == [2] for c in flags.cycles)


def test_run_time_addresses() -> None:
    either = access("lpassa $lm0vj1 $ls0v", Res.LM0, write=False)
    assert words(either.cycles[1]) == [2, 3, 4, 5] and not either.unknown
    indirect = access("lpassa $lmt8v $ls0v", Res.LM0, write=False)
    assert indirect.unknown and len(words(indirect.total)) == 4096
    assert words(access("lpassa $lr0v $lmt0v", Res.T, write=False).total) == [0, 1, 2, 3]
    assert access("lpassa $lm0v $ls0v", Res.BAR0, write=False).total == 1


@pytest.mark.parametrize(
    ("text", "write", "first_cycle", "last_cycle"),
    [
        ("l1bmp $llb8 $llr0v", False, [8, 12], [11, 15]),
        ("l1bmm $lb64 $lr0v", False, range(64, 68), range(76, 80)),
        ("l1bmm $llb64 $llr0v", False, range(64, 72), range(88, 96)),
        ("l1bmm4 $lb64 $lr0v", False, range(64, 80), range(112, 128)),
        ("l1bmd $lb64 $lr0v", False, range(64, 128), range(256, 320)),
        ("l1bmd+1 $lr0v $lb64", True, range(64, 128), range(256, 320)),
        ("l1bmm@3 $lr0v $lb64", True, range(64, 68), range(76, 80)),
        ("l1bmm4@5 $lr0v $lb64", True, [], []),
        ("l2bmb@3 $lc0 $lb64", True, range(64, 80), range(112, 128)),
        ("l2bmd $lb64 $lc0", False, range(64, 72), range(88, 96)),
        ("l2bmi@0/4 $lb64 $lb128", False, range(64, 80), range(112, 128)),
    ],
)
def test_l1bm_words(text: str, write: bool, first_cycle: object, last_cycle: object) -> None:
    found = access(text, Res.L1BM, write=write)
    assert words(found.cycles[0]) == list(first_cycle)  # type: ignore[call-overload]
    assert words(found.cycles[3]) == list(last_cycle)  # type: ignore[call-overload]


def test_l1bs_of_subsets_and_multicast() -> None:
    assert words(access("l2bmb@0/1 $lc0 $lb0", Res.L1BM, write=True).places) == [0, 1]
    assert words(access("l2bm@5 $lb0 $lc0", Res.L1BM, write=False).places) == [5]
    assert words(access("l2bmi@0/4 $lb0 $lb64", Res.L1BM, write=False).places) == [0, 4]
    assert words(access("l2bmi@0/4 $lb0 $lb64", Res.L1BM, write=True).places) == [1, 2, 3, 5, 6, 7]


def test_latches_and_turnaround() -> None:
    fp = footprint(parse_item("l1bmrdfadd $mauf $lb0"))
    assert fp.latches_read == {Res.MAUF}
    assert {a.res for a in fp.writes} == {Res.L1BM, Res.TURN}
    assert footprint(parse_item("l1bmm $lb0 $nowrite")).latches_written == {Res.LBF}
    assert without_latches(fp).writes[0].res is Res.L1BM and len(without_latches(fp).writes) == 1


@pytest.mark.parametrize(
    ("text", "write", "lws", "l2bs"),
    [
        ("mvp/n64 $lc64@1.1 $d0@1", False, 64, [3]),
        ("mvp/n128 $d0 $lc0@.1", True, 128, [1, 3, 5, 7]),
        ("mvd/n64 $p0@0 $lc0", True, 64, list(range(8))),
        ("mvrdfadd/n64 $lc0 $d0", False, 64, list(range(8))),
        ("mvp/n128 $lc32704@0.0 $p0@0", False, 128, [0]),
    ],
)
def test_mv_regions(text: str, write: bool, lws: int, l2bs: list[int]) -> None:
    found = access(text, Res.L2BM, write=write)
    assert len(words(found.total)) == lws
    assert words(found.places) == l2bs


def test_off_chip_regions() -> None:
    def regions(text: str) -> list[tuple[bool, bool, int, int, int | None]]:
        found = footprint(parse_mv(text)).off_chip
        return [(r.dram, r.write, r.groups, r.start, r.length) for r in found]

    assert regions("mvd/n256 $p64@1 $d16") == [(False, False, 2, 64, 256), (True, True, 15, 16, 64)]
    assert regions("mvb4/n128 $d0 $lc0") == [(True, False, 15, 0, 64)]
    assert regions("mvp/n64nd1 $di4 $lc0@.0") == [(True, False, 15, 4, None)]


def test_waits_cover_earlier_transfers_of_the_same_source() -> None:
    def left(text: str) -> list[int]:
        return [mv.line for mv in unfinished(assemble(text)) if isinstance(mv, Mv)]

    assert left("mvp/n64 $p64@0 $lc64@0.0\nmvp/n64i01 $p0@0 $lc0@0.1\nnop; wait i01") == []
    assert left("mvp/n64 $p64@0 $lc64@0.0\nmvp/n64i01 $p0@1 $lc0@0.0\nnop; wait i01") == [1]
    assert left("mvp/n64i01 $p0@0 $lc0@0.0\nnop; wait i01\nmvp/n64 $p64@0 $lc64@0.0") == [3]
