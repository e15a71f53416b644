"""Small programs built by hand from the records of hw.program, for tests of time."""

from __future__ import annotations

from dataclasses import replace

from hw.kernels.abi import Kernel, Kind
from hw.program import (
    Compute,
    Item,
    L1Map,
    L2Kind,
    L2Map,
    L2Move,
    Line,
    Mem,
    Mv,
    MvForm,
    MvPlace,
    PeLoad,
    PeStore,
    Program,
    Region,
    Source,
    Space,
    Step,
    Unit,
)


def _unused(*_: object) -> None:
    raise AssertionError("the time model called a value kernel")


ADD = Kernel("test-add", Kind.LANES, _unused, _unused)
ALU = Compute(Unit.ALU, ADD, (), (), text="iadd $r0v $s0v $r0v")
MAU = Compute(Unit.MAU, ADD, (), (), text="fvadd $lr0v $ls0v $lr0v")


def l1_map(name: str, lws: int, span: int) -> L1Map:
    """A map of the right size; time asks for nothing else."""
    return L1Map(name, lws, span, lambda c, w, m, p: 0)


def load(name: str = "l1bmm", lws: int = 1, span: int = 16) -> PeLoad:
    """An L1BM->PE item."""
    return PeLoad(Unit.L1BM, l1_map(name, lws, span), 0, (), text=f"{name} $lb0 $lr0v")


def store(name: str = "l1bmd", lws: int = 1, span: int = 256) -> PeStore:
    """A PE->L1BM item."""
    return PeStore(Unit.L1BM, l1_map(name, lws, span), 0, Source(Mem.GRF0), text=f"{name} $lr0v $lb0")


def l2(kind: L2Kind, width: int = 16, lc_span: int = 64, lb_span: int = 64) -> L2Move:
    """An L2BM item."""
    if kind in (L2Kind.DARS, L2Kind.DARW):
        return L2Move(Unit.DARW if kind is L2Kind.DARW else Unit.L2BM, kind)
    shape = L2Map("l2", width, lambda b, c, k: 0, lambda c, k: 0, lc_span, lb_span)
    return L2Move(Unit.L2BM, kind, shape)


L2_ITEMS: dict[str, L2Move] = {
    "l2bm.rate.l2bmb": l2(L2Kind.DOWN),
    "l2bm.rate.l2bmb2": l2(L2Kind.DOWN, 16, 256),
    "l2bm.rate.l2bmd_down": l2(L2Kind.DOWN, 8, 256, 32),
    "l2bm.rate.l2bmd_up": l2(L2Kind.UP, 8, 256, 32),
    "l2bm.rate.l2bm_at": l2(L2Kind.UP),
    "l2bm.rate.l2bmr": l2(L2Kind.REDUCE),
    "l2bm.rate.l2bmr2": l2(L2Kind.REDUCE, 16, 256),
    "l2bm.rate.l2bmi": l2(L2Kind.INNER),
    "l2bm.rate.l2bmdars": l2(L2Kind.DARS),
}
L1_ITEMS: dict[str, PeLoad] = {
    "l1bm.rate.l1bmp": load("l1bmp", 1, 4),
    "l1bm.rate.l1bmm": load("l1bmm", 1, 16),
    "l1bm.rate.l1bmm4": load("l1bmm4", 1, 64),
    "l1bm.rate.l1bmd": load("l1bmd", 1, 256),
}
TRANSFER_ITEMS: tuple[Item, ...] = (*L1_ITEMS.values(), *L2_ITEMS.values())


def pdm(group: int | None = 0) -> MvPlace:
    """A PDM operand."""
    return MvPlace(Space.PDM, 0, group)


def dram(group: int | None = None, *, indirect: bool = False) -> MvPlace:
    """A DRAM operand."""
    return MvPlace(Space.DRAM, 0, group, indirect=indirect)


def l2bm(group: int | None = None, bank: int | None = None) -> MvPlace:
    """An L2BM operand."""
    return MvPlace(Space.L2BM, 0, group, bank)


def mv(form: MvForm, size: int, src: MvPlace, dst: MvPlace, tag: int = 0, prio: int = 0) -> Mv:
    """An MV line."""
    return Mv(form, size, src, dst, tag=tag, prio=prio)


def d_l(size: int, group: int = 0, bank: int = 0, *, to: int | None = None, tag: int = 0, prio: int = 0) -> Mv:
    """`mvp` DRAM of `group` to one L2BM (of group `to`, default the same)."""
    return mv(MvForm.D_L, size, dram(group), l2bm(group if to is None else to, bank), tag, prio)


def p_l(size: int, group: int = 0, bank: int = 0, *, to: int | None = None, tag: int = 0, prio: int = 0) -> Mv:
    """`mvp` PDM of `group` to one L2BM (of group `to`, default the same)."""
    return mv(MvForm.P_L, size, pdm(group), l2bm(group if to is None else to, bank), tag, prio)


def p_d(size: int, group: int = 0) -> Mv:
    """`mvp` PDM to DRAM of one group."""
    return mv(MvForm.P_D, size, pdm(group), dram(group))


def step(*items: Item, wait: int | None = None) -> Step:
    """A step with items."""
    return Step(items, wait=wait)


def nop(wait: int | None = None) -> Step:
    """A `nop` step."""
    return Step(nop=True, wait=wait)


def program(*lines: Line, regions: tuple[Region, ...] = ()) -> Program:
    """A program whose source lines are numbered from 1."""
    return Program(tuple(_numbered(line, number) for number, line in enumerate(lines, start=1)), regions)


def _numbered(line: Line, number: int) -> Line:
    return replace(line, line=number)


SINGLE_MVS: dict[str, tuple[Mv, str, str, int]] = {
    # name: (line, rate, latency, counted long words for size 6400)
    "p_l same": (p_l(6400), "mv.rate.p_l.same", "pdm", 6400),
    "p_l cross": (p_l(6400, to=3), "mv.rate.p_l.cross", "pdm", 6400),
    "l_p same": (mv(MvForm.L_P, 6400, l2bm(1, 1), pdm(1)), "mv.rate.l_p.same", "pdm", 6400),
    "l_p cross": (mv(MvForm.L_P, 6400, l2bm(1, 1), pdm(0)), "mv.rate.l_p.cross", "pdm", 6400),
    "d_l same": (d_l(6400), "mv.rate.d_l.same", "dram", 6400),
    "d_l cross": (d_l(6400, to=1), "mv.rate.d_l.cross", "dram", 6400),
    "d_l back": (mv(MvForm.D_L, 6400, l2bm(2, None), dram(2)), "mv.rate.d_l.same", "dram", 6400),
    "p_d same": (mv(MvForm.P_D, 6400, pdm(2), dram(2)), "mv.rate.p_d.same", "dram", 6400),
    "p_d cross": (mv(MvForm.P_D, 6400, dram(3), pdm(0)), "mv.rate.p_d.cross", "dram", 6400),
    "p_p same": (mv(MvForm.P_P, 6400, pdm(0), pdm(0)), "mv.rate.p_p.same", "pdm", 6400),
    "p_p cross": (mv(MvForm.P_P, 6400, pdm(0), pdm(2)), "mv.rate.p_p.cross", "pdm", 6400),
    "parallel dram": (mv(MvForm.PARALLEL, 6400, dram(), l2bm(None, 1)), "mv.rate.parallel", "dram", 6400),
    "parallel pdm": (mv(MvForm.PARALLEL, 6400, l2bm(None, 0), pdm(None)), "mv.rate.parallel", "parallel", 6400),
    "b_pdm": (mv(MvForm.B_PDM, 6400, pdm(1), l2bm()), "mv.rate.b_pdm", "pdm", 6400),
    "b_dram": (mv(MvForm.B_DRAM, 6400, dram(), l2bm()), "mv.rate.b_dram", "dram", 6400),
    "b2": (mv(MvForm.B2, 6400, dram(), l2bm()), "mv.rate.b2", "dram", 6400),
    "b4": (mv(MvForm.B4, 6400, dram(), l2bm()), "mv.rate.b4", "dram", 6400),
    "r_pdm": (mv(MvForm.R_PDM, 6400, l2bm(), pdm(0)), "mv.rate.r_pdm", "pdm", 6400),
    "r_dram": (mv(MvForm.R_DRAM, 6400, l2bm(), dram()), "mv.rate.r_dram", "dram", 6400),
    "r2": (mv(MvForm.R2, 6400, l2bm(), dram()), "mv.rate.r2", "dram", 6400),
    "r4": (mv(MvForm.R4, 6400, l2bm(), dram()), "mv.rate.r4", "dram", 6400),
    "d_pdm_l": (mv(MvForm.D_PDM_L, 6400, pdm(0), l2bm()), "mv.rate.d_pdm_l", "pdm", 8 * 6400),
    "d_l_pdm": (mv(MvForm.D_L_PDM, 6400, l2bm(), pdm(3)), "mv.rate.d_l_pdm", "pdm", 8 * 6400),
    "d_pdm_dram": (mv(MvForm.D_PDM_DRAM, 6400, pdm(0), dram()), "mv.rate.d_pdm_dram", "dram", 6400),
    "d_dram_pdm": (mv(MvForm.D_DRAM_PDM, 6400, dram(), pdm(0)), "mv.rate.d_dram_pdm", "dram", 6400),
}
