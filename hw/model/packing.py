"""Instruction packets: which lines share one, and what that costs (timing.md 6).

A packet holds one MV slot and two (flat) or three (auto-stride) PE slots.  Lines fill packets in order.  The MV of a
packet issues before its steps, so an MV that follows steps opens the next packet and leaves slots for `nop`.
"""

from __future__ import annotations

from dataclasses import dataclass

from hw.model.errors import PackingError
from hw.model.stream import Fetch, Fill, Issue, Op, Run, Stream
from hw.program import Compute, Dest, Mem, PeLoad, PeStore, Program, Source, Step
from hw.spec import ChipSpec

_ADDRESSED = frozenset({Mem.LM0, Mem.LM1, Mem.GRF0, Mem.GRF1})


@dataclass(frozen=True, slots=True)
class Packed:
    """Ops with packets in them, the regions' places among them, and the number of packets fetched."""

    ops: tuple[Op, ...]
    marks: tuple[tuple[int, str], ...]
    packets: int


def pack(stream: Stream, spec: ChipSpec) -> Packed:
    """The ops that the sequencer runs: as they are unless packets take time on this chip."""
    finite, fill = bool(spec.integer("stream.finite")), bool(spec.integer("stream.fill_nops"))
    if not finite and not fill:
        return Packed(stream.ops, stream.marks, 0)
    slots = spec.integer("stream.auto_stride_steps" if spec.integer("stream.auto_stride") else "stream.flat_steps")
    work = _Packing(slots, finite, fill)
    places = [work.add(op) for op in stream.ops]
    work.close()
    marks = tuple((places[op] if op < len(places) else len(work.ops), name) for op, name in stream.marks)
    return Packed(tuple(work.ops), marks, work.packets)


class _Packing:
    """The packet being filled: `room` PE slots are free, 0 while none is open."""

    def __init__(self, slots: int, finite: bool, fill: bool) -> None:
        self._slots = slots
        self._finite = finite
        self._fill = fill
        self._room = 0
        self.ops: list[Op] = []
        self.packets = 0

    def add(self, op: Op) -> int:
        """Append one op; returns the place of the first op that belongs to it."""
        if isinstance(op, Issue):
            self.close()
        place = len(self.ops)
        self._open()  # a `wait` arrives with the packet of its step
        if isinstance(op, Run):
            first, count = op.first, op.count
            while count:
                self._open()
                taken = min(count, self._room)
                self.ops.append(Run(first, taken))
                first, count, self._room = first + taken, count - taken, self._room - taken
        else:
            self.ops.append(op)
        return place

    def _open(self) -> None:
        if not self._room:
            self._room = self._slots
            self.packets += 1
            if self._finite:
                self.ops.append(Fetch())

    def close(self) -> None:
        """Fill what is left of the packet."""
        if self._room and self._fill:
            self.ops.append(Fill(self._room))
        self._room = 0


def check_auto_stride(program: Program) -> None:
    """PackingError for the first step whose operands do not all have a start and an increment."""
    for line in program.lines:
        if isinstance(line, Step):
            for item in line.items:
                for operand in _operands(item):
                    if operand.mem in _ADDRESSED and not _strided(operand.addr):
                        raise PackingError(
                            f"{line.text or 'a step'}: addresses {operand.addr} have no common increment; "
                            "auto-stride packets need one, set stream.auto_stride=false for flat ones",
                            line.line,
                        )


def _operands(item: object) -> tuple[Source | Dest, ...]:
    if isinstance(item, Compute):
        return (*item.sources, *item.dests)
    if isinstance(item, PeLoad):
        return item.dests
    return (item.source,) if isinstance(item, PeStore) else ()


def _strided(addr: tuple[int, int, int, int]) -> bool:
    return addr[1] - addr[0] == addr[2] - addr[1] == addr[3] - addr[2]
