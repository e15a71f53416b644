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

from hw.events import CAUSE_ID, Cause
from hw.model.transfer import l1_class, l2_class
from hw.program import Compute, Item, L2Move, Mv, MvNop, Program, Step

_COMPUTE, _TRANSFER = CAUSE_ID[Cause.COMPUTE], CAUSE_ID[Cause.TRANSFER]
_NOP, _WAIT_STEP, _IDLE = CAUSE_ID[Cause.HAZARD_NOP], CAUSE_ID[Cause.WAIT_STEP], CAUSE_ID[Cause.UNATTRIBUTED]

# One item of a step in one integer: its step, name, transfer class, unit and whether it touches a memory.
_STEP_BIT, _NAME_BIT, _CLASS_BIT, _UNIT_BIT = 32, 12, 5, 1


@dataclass(frozen=True, slots=True)
class Run:
    """`count` steps from step `first` on, issued back to back."""

    first: int
    count: int


@dataclass(frozen=True, slots=True)
class Wait:
    """The stream stops here until the transfer that raised `tag` has reported its completion."""

    tag: int
    line: int


@dataclass(frozen=True, slots=True)
class Issue:
    """MV number `mv` of the stream enters its queue; -1 is `mvnop`."""

    mv: int
    line: int


@dataclass(frozen=True, slots=True)
class Fetch:
    """The stream needs the next packet (only where packets take time, see `hw.model.packing`)."""


@dataclass(frozen=True, slots=True)
class Fill:
    """`count` steps of `nop` fill a packet (see `hw.model.packing`)."""

    count: int


Op = Run | Wait | Issue | Fetch | Fill


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
    item_unit: NDArray[np.int64]
    item_name: NDArray[np.int64]
    item_class: NDArray[np.int64]
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
        self.named_texts: dict[str, int] = {}
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
        at = len(self.causes) << _STEP_BIT
        cause = (_WAIT_STEP if step.wait is not None else _NOP) if step.nop else _IDLE
        for item in step.items:
            if isinstance(item, Compute):
                cause, transfer, memory = _COMPUTE, 0, False
            elif isinstance(item, L2Move):
                transfer, memory = l2_class(item, step.line), True
            else:
                transfer, memory = l1_class(item.map, step.line), item.addr is not None
            if cause != _COMPUTE:
                cause = _TRANSFER
            text = item.text
            name = self.named_texts.get(text) if text else None
            if name is None:
                name = self.named_texts[text] = self.names.setdefault(_item_name(item), len(self.names))
            self.items.append(at | name << _NAME_BIT | transfer << _CLASS_BIT | item.unit << _UNIT_BIT | memory)
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
        items = np.frombuffer(self.items.tobytes(), dtype=np.int64)
        content = hashlib.blake2b(digest_size=16)
        for column in (causes, lines, items):
            content.update(len(column).to_bytes(8, "little"))
            content.update(column.tobytes())
        facts = ([_op_facts(op) for op in self.ops], self.marks, list(self.names), [_mv_facts(mv) for mv in self.mvs])
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
            items >> _STEP_BIT,
            _bits(items, _UNIT_BIT, _CLASS_BIT),
            _bits(items, _NAME_BIT, _STEP_BIT),
            _bits(items, _CLASS_BIT, _NAME_BIT),
            _bits(items, 0, _UNIT_BIT).astype(np.bool_),
            content.hexdigest(),
        )


def _bits(values: NDArray[np.int64], low: int, high: int) -> NDArray[np.int64]:
    return (values >> low) & ((1 << (high - low)) - 1)


def _op_facts(op: Op) -> tuple[int, ...]:
    if isinstance(op, Run):
        return (op.first, op.count)
    return (0, op.tag, op.line) if isinstance(op, Wait) else (1, op.mv, op.line) if isinstance(op, Issue) else ()


def _mv_facts(mv: Mv) -> tuple[object, ...]:
    places = [(int(p.space), p.addr, p.group, p.bank, p.indirect) for p in (mv.src, mv.dst)]
    return (int(mv.form), mv.size, places, mv.tag, mv.nd, mv.prio, mv.line, mv.text)


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
