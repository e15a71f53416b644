"""Download of a value with its rows dealt to the banks (`compiler.layout.deal`): one `mvb4` of the whole image.

With MABs split, an L1B gets long word 64 (2 P + h) + 4 m + p of L1BM for MAB m and PE p, P counting the old banks'
addresses: bit 1 of m is bit 2 of the old L1B, h bit 3 of the old MAB.  Each MAB shall have both old L1Bs and, as bit 1
of its number, h.  What it needs of the other old L1B lies two MABs away, where a load with a shift finds it.
"""

from __future__ import annotations

from collections.abc import Callable

from compiler.emit.asm import Asm, cycle_mask, flat
from compiler.emit.padding import emit_constant
from compiler.emit.transfer import L1BM_HALF, L2BM_HALF, Route
from compiler.emit.weights import L2BM_LWS
from compiler.errors import DoesNotFit

OWN, OWN_FIRST = 6, 7

Places = Callable[[int, int, int], int]


def download_dealt(asm: Asm, route: Route, dram: int, lm: str, addr: int, places: Places, count: int) -> None:
    """DRAM image at `dram` of a value split over L2Bs, L1Bs and MABs, or copied in MABs and PEs, -> local memory.

    `places(bank, half, a)` is the long word that address a (below `count`) of an old bank goes to; `half`: bit 2 of the
    old L1B.  All pass through the end of L2BM, out of the way of weights.  Raises DoesNotFit when the image exceeds the
    buffers used here.
    """
    part = route.l2_count(route.num_lw)
    if 4 * part > L2BM_HALF:
        raise DoesNotFit(f"rows dealt to the banks take {4 * part} long words, more than the buffer of {L2BM_HALF}")
    if route.mab_split:
        _own_masks(asm)
    l2 = L2BM_LWS - 4 * part
    asm.wait(asm.mv("mvb4", 4 * part, f"$d{dram} $lc{l2}"))
    for k in range(part // 64):
        asm.op(f"l2bmd $lc{l2 + 256 * k} $lb{L1BM_HALF + 32 * k}")
    load = _over_mabs if route.mab_split else _alike
    load(asm, route, lm, lambda bank, half, a: addr + 2 * places(bank, half, a), count)


def _own_masks(asm: Asm) -> None:
    """Mask OWN: cycles 0 and 2 where bit 1 of the MAB is 0, cycles 1 and 3 where it is 1; OWN_FIRST: cycles 0 and 1 of
    these.
    """
    emit_constant(asm, 0, 2)
    asm.op("land $mabid $ls0 $lr0v")
    asm.op("lxor $lr0v $ls0 $lr0v/0101")
    asm.op(f"lpassa $lr0v $omr{OWN}")
    asm.op("lor $lr0v $ls0 $lr0v/0011")
    asm.op(f"lpassa $lr0v $omr{OWN_FIRST}")


def _over_mabs(asm: Asm, route: Route, lm: str, place: Places, count: int) -> None:
    """Two addresses of an old bank at a time.  The shifted loads also write to PEs for which they are not meant; the
    plain one, which comes last, puts that right.
    """
    for bank in (0, 1):
        for a in range(0, count, 2):
            l1 = L1BM_HALF + 128 * (route.num_lw * bank + a)
            pair = min(a + 1, count - 1)
            both = pair > a
            low, high = ([place(bank, half, a), place(bank, half, pair)] for half in (0, 1))
            asm.op(f"l1bmd-2 $lb{l1} $l{lm}{flat([high[0]] * 2 + [high[1]] * 2)}/{'1010' if both else '1000'}")
            asm.op(f"l1bmd+2 $lb{l1} $l{lm}{flat([low[0]] * 2 + [low[1]] * 2)}/{'0101' if both else '0100'}")
            own = flat([low[0], high[0], low[1], high[1]])
            asm.op(f"l1bmd $lb{l1} $l{lm}{own}/$imr{OWN if both else OWN_FIRST}")


def _alike(asm: Asm, route: Route, lm: str, place: Places, count: int) -> None:
    step = route.l2_count(route.num_lw) // 4
    for bank in (0, 1):
        for half in (0, 1):
            for a in range(0, count, 4):
                l1 = L1BM_HALF + step * bank + 16 * (a // 8) + 8 * half + a % 8
                group = [place(bank, half, min(a + c, count - 1)) for c in range(4)]
                asm.op(f"l1bmp $lb{l1} $l{lm}{flat(group)}{cycle_mask(count - a)}")
