"""Several small values behind each other in DRAM, moved by one transfer (MV), since each one starts up for itself.

In L2BM they lie as in DRAM: the long words of an L2B stand in a fixed relation to those of a DRAM (`SHARE`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from compiler.emit.asm import Asm
from compiler.emit.transfer import DOWN, SHARE, UP, Route, l1_to_l2, l1_to_pe, l2_to_l1, pe_to_l1
from compiler.layout.l2b import L2bUse


@dataclass(frozen=True)
class Part:
    """A value of a joint transfer: its route, its place in DRAM and in local memory ("m" or "n", word address).

    alone: whether it goes by a transfer of its own although it lies beside another.
    """

    route: Route
    dram: int
    lm: str
    addr: int
    alone: bool = False

    @property
    def size(self) -> int:
        """Long words of an L2B."""
        return self.route.l2_count(self.route.num_lw)

    def place(self, first: int) -> int:
        """Long word of L2BM where it begins, if a part at DRAM address `first` lies at 0."""
        return (self.dram - first) * SHARE[self.route.l2b]


def download_together(asm: Asm, parts: Sequence[Part]) -> None:
    """DRAM -> local memory, of parts with one use of L2B and rising addresses.

    The lower half of L2BM serves: the upper one may still hold what a large download has brought.
    """
    first, use = parts[0].dram, parts[0].route.l2b
    size = parts[-1].place(first) + parts[-1].size
    asm.wait(asm.mv(DOWN[use], size, f"$d{first} $lc0"))
    half = 0
    for part in parts:
        for start, count in part.route.ranges():
            half = 1 - half
            skip = part.route.l2_count(start) if start else 0
            l2_to_l1(asm, part.route, part.place(first) + skip, half, count)
            l1_to_pe(asm, part.route, half, part.lm, part.addr + 2 * start, count)


def upload_together(asm: Asm, parts: Sequence[Part]) -> None:
    """Local memory -> DRAM; parts that do not follow each other there go by transfers of their own, each from its own
    place in L2BM: the transfers before may still be reading.
    """
    half = l2 = 0
    for run in _runs(parts):
        first, use = run[0].dram, run[0].route.l2b
        for part in run:
            for start, count in part.route.ranges():
                half = 1 - half
                skip = part.route.l2_count(start) if start else 0
                pe_to_l1(asm, part.route, half, part.lm, part.addr + 2 * start, count)
                l1_to_l2(asm, part.route, half, count, l2 + part.place(first) + skip)
        bank = "@.0" if use is L2bUse.GROUPS else ""
        size = run[-1].place(first) + run[-1].size
        asm.mv(UP[use], size, f"$lc{l2}{bank} $d{first}")
        l2 += size
    asm.wait_all()


def _runs(parts: Sequence[Part]) -> list[list[Part]]:
    runs: list[list[Part]] = []
    for part in parts:
        before = runs[-1][-1] if runs else None
        if before is not None and not (part.alone or before.alone) and part.place(before.dram) == before.size:
            runs[-1].append(part)
        else:
            runs.append([part])
    return runs
