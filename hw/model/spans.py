"""The time of the instruction stream as columns: spans that partition `[0, cycles)`, each with one cause."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hw.events import CAUSE_ID, Cause
from hw.model.packing import Packed
from hw.model.stream import Run, Stream
from hw.model.times import RawTimes
from hw.model.transfer import TRANSFERS
from hw.spec import ChipSpec

Ints = NDArray[np.int64]
_DRAIN, _SEND, _RECEIVE = CAUSE_ID[Cause.DRAIN], CAUSE_ID[Cause.HOST_SEND], CAUSE_ID[Cause.HOST_RECEIVE]
_NOTICE, _TRANSFER = CAUSE_ID[Cause.WAIT_NOTICE], CAUSE_ID[Cause.TRANSFER]


def step_cycles(stream: Stream, spec: ChipSpec) -> Ints:
    """Cycles of every step: four, or what its slowest L1BM/L2BM item needs."""
    cycles = np.full(len(stream.step_cause), spec.integer("step.cycles"), dtype=np.int64)
    by_class = np.array([0 if t is None else t.cycles(spec) for t in TRANSFERS], dtype=np.int64)
    if by_class.max() > spec.integer("step.cycles"):
        np.maximum.at(cycles, stream.item_step, by_class[stream.item_class])
    return cycles


def step_starts(packed: Packed, raw: RawTimes, cycles: Ints) -> Ints:
    """Issue cycle of every step."""
    runs = [(op.first, op.count, raw.op_issue[i]) for i, op in enumerate(packed.ops) if isinstance(op, Run)]
    table = np.array(runs, dtype=np.int64).reshape(-1, 3)
    offsets = np.cumsum(cycles) - cycles
    shift = table[:, 2] - offsets[table[:, 0]] if len(table) else table[:, 2]
    return offsets + np.repeat(shift, table[:, 1])


@dataclass(frozen=True, eq=False)
class StreamSpans:
    """`first` is the first step of a span of steps and -1 for stalls; `count` its steps, or 1."""

    start: Ints
    end: Ints
    cause: Ints
    line: Ints
    count: Ints
    first: Ints


def step_spans(stream: Stream, spec: ChipSpec, starts: Ints, cycles: Ints, *, detail: bool) -> StreamSpans:
    """The steps: one span each with `detail`, otherwise one per stretch of one cause in a run."""
    causes = stream.step_cause.astype(np.int64)
    # A step with an L1BM/L2BM item slower than four cycles is bounded by the transfer, whatever else it does.
    causes[cycles > spec.integer("step.cycles")] = _TRANSFER
    count = len(starts)
    if detail:
        first = np.arange(count)
    else:
        cut = np.zeros(count, dtype=np.bool_)
        cut[[op.first for op in stream.ops if isinstance(op, Run)]] = True
        cut[1:] |= (causes[1:] != causes[:-1]) | (starts[1:] != starts[:-1] + cycles[:-1])
        first = np.flatnonzero(cut)
    counts = np.diff(first, append=count)
    last = first + counts - 1
    ends = starts[last] + cycles[last]
    return StreamSpans(starts[first], ends, causes[first], stream.step_line[first], counts, first)


def stall_spans(raw: RawTimes) -> StreamSpans:
    """Everything else: stalls by what was waited for meanwhile, and what came after the end of the stream."""
    rows: list[tuple[int, int, int, int]] = []
    for stall in raw.stalls:
        if stall.waited is None:
            rows.append((stall.start, stall.end, CAUSE_ID[stall.cause], stall.line))
            continue
        for cause, start, end in stall.waited.phases:
            start, end = max(start, stall.start), min(end, stall.end)
            if end > start:
                rows.append((start, end, CAUSE_ID[cause], stall.line))
        start = max(stall.waited.end, stall.start)
        if stall.end > start:
            rows.append((start, stall.end, _NOTICE, stall.line))
    drained, cycles = raw.program_end, raw.cycles
    if drained > raw.stream_end:
        rows.append((raw.stream_end, drained, _DRAIN, 0))
    if cycles > drained:
        receiving = any(time.end == cycles and time.transfer.direction == "receive" for time in raw.hosts)
        rows.append((drained, cycles, _RECEIVE if receiving else _SEND, 0))
    table = np.array(rows, dtype=np.int64).reshape(-1, 4)
    ones = np.ones(len(table), dtype=np.int64)
    return StreamSpans(table[:, 0], table[:, 1], table[:, 2], table[:, 3], ones, -ones)


def joined(parts: list[StreamSpans]) -> StreamSpans:
    """Several span tables as one."""
    columns = zip(*((p.start, p.end, p.cause, p.line, p.count, p.first) for p in parts), strict=True)
    return StreamSpans(*(np.concatenate(column) for column in columns))
