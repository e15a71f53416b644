"""Lowering: what the machine is told for one item (widths, maps, modifiers, members)."""

from __future__ import annotations

import pytest

from hw.program import Compute, L2Kind, L2Move, MaskRef, Mem, MvForm, PeLoad, PeStore, Unit
from isa import parse_item, parse_mv


def _compute(text: str) -> Compute:
    item = parse_item(text)
    assert isinstance(item, Compute)
    return item


def _names(text: str, source: int = 0) -> list[str]:
    return [kernel.name for kernel in _compute(text).sources[source].transforms]


def test_source_fields() -> None:
    source = _compute("lpassa $lm4094v $ln0v").sources[0]
    assert (source.mem, source.width, source.addr) == (Mem.LM0, 2, (4094, 0, 2, 4))
    source = _compute("ladd $mt8v $llr0 $s0").sources[0]
    assert source.via_t and source.width == 1
    assert _compute("hpassa $peid $ls0").sources[0].element_bits == 16
    assert _compute('imm f"1.0" $r0').sources[0].imm == (0x3F8000003F800000,) * 2
    assert _compute('immu f"1.875" $lr0').sources[0].imm == (0x3FF0000000000000,) * 2


@pytest.mark.parametrize(
    ("text", "source", "names"),
    [
        ("fvfma -$lr0ve $ls0v $lm0v $ln0v", 0, ["widen.h2.value", "neg.f"]),
        ("dvfmau $r0ve $s0v $m0v $ln0v", 0, ["widen.f.value"]),
        ("hvfma $lr0v -$lls0vr $lm0ve $lln0v", 1, ["narrow.raw", "neg.h"]),
        ("hvfma $lr0v $ls0v -$lm0ve $lln0v", 2, ["widen.h4.value", "neg.f"]),
        ("fmfma $lx $r0ve $ls0v $ln0v", 0, ["widen.h2.raw"]),
        ("fmwrite $lr0ve $lx0", 0, ["widen.h2.keep_zero_sign"]),
        ("gmwrite -$lr0v $lx0", 0, ["neg.f"]),
        ("hfloor $llr0vr $ls0v", 0, ["narrow.raw"]),
    ],
)
def test_modifiers(text: str, source: int, names: list[str]) -> None:
    assert _names(text, source) == names


def test_dest_fields() -> None:
    item = _compute("lpassa/$imr2 $lr0v $ls0v/$imr2 $t/$imr2 $lmb $omr5/$imr2")
    assert item.flush == MaskRef(2)
    assert [(dest.mem, dest.width, dest.mask) for dest in item.dests] == [
        (Mem.GRF1, 2, MaskRef(2)),
        (Mem.T, 4, MaskRef(2)),
        (Mem.BAR0, 2, None),
        (Mem.OMR, 1, MaskRef(2)),
    ]
    assert item.dests[3].addr[0] == 5


def test_matrix_items() -> None:
    write = _compute("hmwrite $llr0v $lly4")
    assert (write.unit, write.plane, write.params, write.kernel.name) == (Unit.MWRITE, 1, (4,), "mwrite.h2")
    read = _compute("dmread $lx2 $lr0v")
    assert (read.unit, read.plane, read.params) == (Unit.MREAD, 0, (2,))
    product = _compute("gmfma $ly $lr0v $ls0v $ln0v")
    assert (product.unit, product.plane, len(product.sources)) == (Unit.MAU, 1, 2)


def test_block_conversions_select_length_and_kind() -> None:
    names = {
        _compute(text).kernel.name for text in ("hbfn/6 $r0 $s0", "hbfn/9 $r0 $s0", "hbfe/6 $r0 $s0", "gbfn $r0 $s0")
    }
    assert len(names) == 4


@pytest.mark.parametrize(
    ("text", "offsets"),
    [
        ("l1bmp $lb5 $lr0v", {(2, 0, 7, 3): 2}),
        ("l1bmp $llb5 $llr0v", {(2, 1, 7, 3): 6}),
        ("l1bmm $lb0 $lr0v", {(2, 0, 7, 3): 11}),
        ("l1bmm $llb0 $llr0v", {(2, 1, 7, 3): 23}),
        ("l1bmm4 $lb0 $lr0v", {(2, 0, 7, 3): 39}),
        ("l1bmm4 $llb0 $llr0v", {(2, 1, 7, 3): 79}),
        ("l1bmd $lb0 $lr0v", {(2, 0, 7, 3): 159}),
        ("l1bmd+1 $lb0 $lr0v", {(2, 0, 7, 3): 155, (0, 0, 0, 0): 60}),
        ("l1bmd-1 $lb0 $lr0v", {(2, 0, 7, 3): 163, (0, 0, 15, 0): 0}),
    ],
)
def test_load_maps(text: str, offsets: dict[tuple[int, int, int, int], int]) -> None:
    item = parse_item(text)
    assert isinstance(item, PeLoad)
    for place, offset in offsets.items():
        assert item.map.offset(*place) == offset
    assert max(item.map.offset(3, w, 15, 3) for w in range(item.map.lws)) < item.map.span


def test_stores() -> None:
    item = parse_item("l1bmm@3 $llr0v $llb64")
    assert isinstance(item, PeStore)
    assert (item.addr, item.map.lws, item.map.stages) == (64, 2, 0)
    assert [m for m in range(16) if item.map.writes(m)] == [3]
    item = parse_item("l1bmm4@5 $lr0v $lbi")
    assert isinstance(item, PeStore) and item.addr is None and item.unit == Unit.L1BM
    assert not any(item.map.writes(m) for m in range(16))
    item = parse_item("l1bmd-3 $lr0v $lb0")
    assert isinstance(item, PeStore) and item.turn_map is not None
    assert (item.map.offset(0, 0, 0, 0), item.turn_map.offset(0, 0, 0, 0)) == (52, 0)


@pytest.mark.parametrize(
    ("text", "first", "last", "stages", "transforms"),
    [
        ("l1bmrdfadd $lr0v $lb0", "rrn.dfadd", "rrn.dfadd", 2, []),
        ("l1bmr4liadd $lr0v $lb0", "rrn.liadd", "rrn.liadd", 1, []),
        ("l1bmrffaddr $lr0ve $lb0", "rrn.ffadd", "rrn.ffaddr", 2, ["widen.h4.raw"]),
        ("l1bmrhfadd $lr0v $lb0", "rrn.ffadd", "rrn.ffaddr", 2, ["widen.h4.raw"]),
        ("l1bmrfmaxr $llr0v $lb0", "rrn.fmax", "rrn.fmaxr", 2, []),
        ("l1bmr4hmin $lr0v $lb0", "rrn.fminr", "rrn.fminr", 1, ["widen.h4.raw"]),
    ],
)
def test_reductions(text: str, first: str, last: str, stages: int, transforms: list[str]) -> None:
    item = parse_item(text)
    assert isinstance(item, PeStore) and item.first is not None and item.last is not None
    assert [kernel.name for kernel in item.source.transforms] == transforms
    assert item.map.stages == stages
    assert (item.first.name, item.last.name) == (first, last)


def test_turnaround_loads_have_their_own_unit() -> None:
    item = parse_item("l1bmd+2 $lbi $lr0v")
    assert isinstance(item, PeLoad) and item.addr is None and item.unit == Unit.L1BM_TURN


@pytest.mark.parametrize(
    ("text", "kind", "members"),
    [
        ("l2bmb $lc0 $lb0", L2Kind.DOWN, tuple(range(8))),
        ("l2bmb@0/3 $lc0 $lb0", L2Kind.DOWN, (0, 1, 2, 3)),
        ("l2bmd@6/5 $lc0 $lb0", L2Kind.DOWN, (2, 3, 6, 7)),
        ("l2bm@5 $lb0 $lc0", L2Kind.UP, (5,)),
        ("l2bmd $lb0 $lc0", L2Kind.UP, tuple(range(8))),
        ("l2bmrffadd@2/4 $lb0 $lc0", L2Kind.REDUCE, (2, 6)),
    ],
)
def test_l2bm_members(text: str, kind: L2Kind, members: tuple[int, ...]) -> None:
    item = parse_item(text)
    assert isinstance(item, L2Move)
    assert (item.kind, item.members) == (kind, members)


def test_l2bm_maps() -> None:
    pairs, scatter = parse_item("l2bmb2 $lc64 $lb16"), parse_item("l2bmd $lb8 $lc128")
    assert (
        isinstance(pairs, L2Move) and pairs.map is not None and isinstance(scatter, L2Move) and scatter.map is not None
    )
    assert (pairs.lc, pairs.lb, pairs.map.lc(5, 2, 3), pairs.map.lb(2, 3)) == (64, 16, 163, 35)
    assert (scatter.lc, scatter.lb, scatter.map.lc(5, 2, 3), scatter.map.lb(2, 3)) == (128, 8, 171, 19)
    wrapped = parse_item("l2bmb $lc0 $lb8208")
    assert isinstance(wrapped, L2Move) and wrapped.lb == 16


def test_multicast_pairs() -> None:
    item = parse_item("l2bmi@0/4 $lb0 $lb64")
    assert isinstance(item, L2Move) and item.kind == L2Kind.INNER
    assert item.inner == ((0, 1), (0, 2), (0, 3), (4, 5), (4, 6), (4, 7))
    assert (item.lb, item.lb2) == (0, 64)


def test_dar_items() -> None:
    item = parse_item("l2bmdars $lc64@.1 $dar5")
    assert isinstance(item, L2Move)
    assert (item.kind, item.lc, item.bank, item.dar) == (L2Kind.DARS, 64, 1, 5)
    assert parse_item("l2bmdarw").unit == Unit.DARW


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("mvp/n64 $p0@0 $lc0@1.0", MvForm.P_L),
        ("mvp/n64 $lc0@1.0 $p0@0", MvForm.L_P),
        ("mvp/n64 $lc0@2 $d0@2", MvForm.D_L),
        ("mvp/n64 $di0@1 $p0@0", MvForm.P_D),
        ("mvp/n64 $p0@0 $p0@1", MvForm.P_P),
        ("mvp/n64 $lc0 $d0", MvForm.PARALLEL),
        ("mvp/n64 $p0 $lc0@.1", MvForm.PARALLEL),
        ("mvb/n64 $p0@0 $lc0", MvForm.B_PDM),
        ("mvb/n64 $d0 $lc0", MvForm.B_DRAM),
        ("mvb2/n64 $d0 $lc0", MvForm.B2),
        ("mvb4/n64 $d0 $lc0", MvForm.B4),
        ("mvrffadd/n64 $lc0 $p0@0", MvForm.R_PDM),
        ("mvrffadd/n64 $lc0 $d0", MvForm.R_DRAM),
        ("mvr2ffadd/n64 $lc0 $d0", MvForm.R2),
        ("mvr4ffadd/n64 $lc0 $d0", MvForm.R4),
        ("mvd/n64 $p0@0 $lc0", MvForm.D_PDM_L),
        ("mvd/n64 $lc0 $p0@0", MvForm.D_L_PDM),
        ("mvd/n64 $p0@0 $d0", MvForm.D_PDM_DRAM),
        ("mvd/n64 $d0 $p0@0", MvForm.D_DRAM_PDM),
    ],
)
def test_mv_forms(text: str, form: MvForm) -> None:
    mv = parse_mv(text)
    assert mv.form == form
    assert (mv.first is not None) == ("ffadd" in text)


def test_mv_fields() -> None:
    mv = parse_mv("mvp/n128nd2i3fp3 $di7@1 $lc64@2.1")
    assert (mv.size, mv.tag, mv.nd, mv.prio) == (128, 0x3F, 2, 3)
    assert (mv.src.indirect, mv.src.addr, mv.src.group, mv.src.bank) == (True, 7, 1, None)
    assert (mv.dst.addr, mv.dst.group, mv.dst.bank) == (64, 2, 1)
    assert parse_mv("mvp/n64nd0 $di0 $lc0@.0").nd is None
    assert parse_mv("mvp/n64 $d536870928@0 $lc0@0.0").src.addr == 16
