"""A program reduced to what time depends on: runs of steps, MVs, waits and regions, without a single value.

This reduced form is also what the memo of `simulate` is keyed by, so equal time is reused exactly and values cannot
take part in it.
"""

from __future__ import annotations

import hashlib
from array import array
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hw.events import CAUSES, Cause
from hw.model.transfer import l1_class, l2_class
from hw.program import Compute, Item, L2Move, Mv, MvNop, Program, Step

_CAUSE_ID = {cause: index for index, cause in enumerate(CAUSES)}
_COMPUTE, _TRANSFER = _CAUSE_ID[Cause.COMPUTE], _CAUSE_ID[Cause.TRANSFER]
_NOP, _WAIT_STEP, _IDLE = _CAUSE_ID[Cause.HAZARD_NOP], _CAUSE_ID[Cause.WAIT_STEP], _CAUSE_ID[Cause.UNATTRIBUTED]


@dataclass(frozen=True, slots=True)
class Run:
    """`count` steps from step `first` on, issued back to back."""

    first: int
    count: int


@dataclass(frozen=True, slots=True)
class Wait:
    """The stream stops here until the MV that raised `tag` has reported its completion."""

    tag: int
    line: int


@dataclass(frozen=True, slots=True)
class Issue:
    """MV number `mv` of the stream enters its queue; -1 is `mvnop`."""

    mv: int
    line: int


Op = Run | Wait | Issue


@dataclass(frozen=True, eq=False)
class Stream:
    """The reduced program.

    step_cause u8[n], step_line i64[n], step_text: per step.  item_*: one row per item of a step: its step, `Unit`, name
    (index into `names`), transfer class and whether it touches the L1BM or L2BM itself.  marks: (index into ops, name)
    where regions start.
    """

    ops: tuple[Op, ...]
    mvs: tuple[Mv, ...]
    marks: tuple[tuple[int, str], ...]
    names: tuple[str, ...]
    step_cause: NDArray[np.uint8]
    step_line: NDArray[np.int64]
    step_text: tuple[str, ...]
    item_step: NDArray[np.int64]
    item_unit: NDArray[np.uint8]
    item_name: NDArray[np.int64]
    item_class: NDArray[np.uint8]
    item_memory: NDArray[np.bool_]
    digest: str

    def __hash__(self) -> int:
        return hash(self.digest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.digest == self.digest


def _item_name(item: Item) -> str:
    if item.text:
        return item.text.split(maxsplit=1)[0]
    if isinstance(item, Compute):
        return item.kernel.name
    if isinstance(item, L2Move):
        return item.map.name if item.map is not None else item.kind.name.lower()
    return item.map.name


class _Lowering:
    """Working state of `lower`."""

    def __init__(self) -> None:
        self.ops: list[Op] = []
        self.mvs: list[Mv] = []
        self.marks: list[tuple[int, str]] = []
        self.pending_marks: list[str] = []
        self.names: dict[str, int] = {}
        self.causes = bytearray()
        self.lines: list[int] = []
        self.texts: list[str] = []
        self.items = array("q")
        self.run_first = 0

    def end_run(self) -> None:
        count = len(self.causes) - self.run_first
        if count:
            self.ops.append(Run(self.run_first, count))
        self.run_first = len(self.causes)

    def place_marks(self) -> None:
        """The next op is the first line of the regions that were named since the last op."""
        self.marks += [(len(self.ops), name) for name in self.pending_marks]
        self.pending_marks.clear()

    def step(self, step: Step) -> None:
        if step.wait is not None:
            self.end_run()
            self.ops.append(Wait(step.wait, step.line))
        if self.pending_marks:
            self.place_marks()
        index = len(self.causes)
        cause = (_WAIT_STEP if step.wait is not None else _NOP) if step.nop else _IDLE
        names = self.names
        for item in step.items:
            if isinstance(item, Compute):
                cause, transfer, memory = _COMPUTE, 0, False
            elif isinstance(item, L2Move):
                transfer, memory = l2_class(item, step.line), True
            else:
                transfer, memory = l1_class(item.map, step.line), item.addr is not None
            if cause != _COMPUTE:
                cause = _TRANSFER
            name = names.setdefault(_item_name(item), len(names))
            self.items.extend((index, item.unit, name, transfer, memory))
        self.causes.append(cause)
        self.lines.append(step.line)
        self.texts.append(step.text)

    def issue(self, line: Mv | MvNop) -> None:
        self.end_run()
        self.place_marks()
        if isinstance(line, Mv):
            self.ops.append(Issue(len(self.mvs), line.line))
            self.mvs.append(line)
        else:
            self.ops.append(Issue(-1, line.line))

    def finish(self) -> Stream:
        self.end_run()
        self.place_marks()
        causes = np.frombuffer(bytes(self.causes), dtype=np.uint8)
        lines = np.array(self.lines, dtype=np.int64)
        items = np.frombuffer(self.items.tobytes(), dtype=np.int64).reshape(-1, 5)
        content = hashlib.blake2b(digest_size=16)
        for column in (causes, lines, items):
            content.update(len(column).to_bytes(8, "little"))
            content.update(column.tobytes())
        facts = (self.ops, self.marks, list(self.names), [_mv_facts(mv) for mv in self.mvs])
        content.update(repr(facts).encode())
        content.update("\n".join(self.texts).encode())
        return Stream(
            tuple(self.ops),
            tuple(self.mvs),
            tuple(self.marks),
            tuple(self.names),
            causes,
            lines,
            tuple(self.texts),
            items[:, 0],
            items[:, 1].astype(np.uint8),
            items[:, 2],
            items[:, 3].astype(np.uint8),
            items[:, 4].astype(np.bool_),
            content.hexdigest(),
        )


def _mv_facts(mv: Mv) -> tuple[object, ...]:
    places = [(p.space, p.addr, p.group, p.bank, p.indirect) for p in (mv.src, mv.dst)]
    return (mv.form, mv.size, places, mv.tag, mv.nd, mv.prio, mv.line, mv.text)


def lower(program: Program, *, merge: bool = True) -> Stream:
    """Reduce a program; `merge=False` keeps every step an event of its own (same times, for proofs).

    Raises TransferError for L1BM/L2BM items of an unknown geometry.
    """
    work = _Lowering()
    regions = iter(program.regions)
    region = next(regions, None)
    for index, line in enumerate(program.lines):
        while region is not None and region.start <= index:
            work.end_run()
            work.pending_marks.append(region.name)
            region = next(regions, None)
        if isinstance(line, Step):
            work.step(line)
            if not merge:
                work.end_run()
        elif isinstance(line, Mv | MvNop):
            work.issue(line)
    while region is not None:
        work.end_run()
        work.pending_marks.append(region.name)
        region = next(regions, None)
    return work.finish()
