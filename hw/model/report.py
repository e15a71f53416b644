"""From raw times to a `Timing`: the event log, the partition by cause and region, busy times and bytes."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hw.events import CAUSES, Cause, EventLog, EventLogBuilder, RegionTime, Track, cause_ids
from hw.model.sequencer import RawTimes, Stall, TransferTime
from hw.model.stream import Run, Stream
from hw.model.timing import Timing
from hw.model.traffic import PortMap
from hw.model.transfer import TRANSFERS
from hw.program import Unit
from hw.spec import ChipSpec

BOARD = "board 0"
STREAM_TRACK = "PE stream"
_PE_GROUP, _MV_GROUP, _MEMORY_GROUP = "PE stream", "MV engines", "memories"
_REPORTED_CAUSES = tuple(cause for cause in CAUSES if cause is not Cause.NONE)

Ints = NDArray[np.int64]


def step_cycles(stream: Stream, spec: ChipSpec) -> Ints:
    """Cycles of every step: four, or what its slowest L1BM/L2BM item needs."""
    cycles = np.full(len(stream.step_cause), spec.integer("step.cycles"), dtype=np.int64)
    by_class = np.array([0 if t is None else t.cycles(spec) for t in TRANSFERS], dtype=np.int64)
    np.maximum.at(cycles, stream.item_step, by_class[stream.item_class])
    return cycles


class Report:
    """Builds the `Timing` of one simulation; `detail` keeps one span per step instead of merging equal ones."""

    def __init__(self, stream: Stream, spec: ChipSpec, raw: RawTimes, cycles_of_step: Ints, detail: bool) -> None:
        self._stream = stream
        self._spec = spec
        self._raw = raw
        self._detail = detail
        self._log = EventLogBuilder(float(spec["clock.core"]))
        self._ports = PortMap(spec)
        self._step_cycles = cycles_of_step
        runs = [(op.first, op.count, raw.op_issue[i]) for i, op in enumerate(stream.ops) if isinstance(op, Run)]
        table = np.array(runs, dtype=np.int64).reshape(-1, 3)
        offsets = np.cumsum(cycles_of_step) - cycles_of_step
        shift = table[:, 2] - (offsets[table[:, 0]] if len(table) else 0)
        self._run_of_step = np.repeat(np.arange(len(table)), table[:, 1])
        self._step_start = offsets + np.repeat(shift, table[:, 1])
        self._bytes_of_class = np.array([0 if t is None else t.nbytes(spec) for t in TRANSFERS], dtype=np.int64)

    def timing(self) -> Timing:
        """Everything together."""
        stream_rows = self._stream_spans()
        for unit in Unit:
            self._unit_spans(unit)
        self._transfer_spans(stream_rows)
        events = self._log.freeze()
        cycles = self._raw.cycles
        by_cause, regions = self._partition(events, cycles)
        return Timing(
            cycles,
            events,
            regions,
            by_cause,
            self._by_unit(),
            self._bytes_by_link(),
            self._raw.transfers,
            len(self._step_cycles),
            float(self._spec["clock.core"]),
            self._spec.digest,
            self._stream.digest,
        )

    # --- the stream: spans that partition [0, cycles) ---

    def _stream_spans(self) -> dict[int, int]:
        """Log steps, stalls and drain; returns the row of the first span of every run (by number of the run)."""
        track = self._log.track(Track(BOARD, _PE_GROUP, STREAM_TRACK))
        starts = self._step_start
        causes = self._stream.step_cause.astype(np.int64)
        # A step with an L1BM/L2BM item slower than four cycles is bounded by the transfer, whatever else it does.
        slow = self._step_cycles > self._spec.integer("step.cycles")
        causes = np.where(slow, cause_ids([Cause.TRANSFER])[0], causes)
        if self._detail:
            first = np.arange(len(starts))
            names = np.array([self._log.name(text or "step") for text in self._stream.step_text], dtype=np.int64)
        else:
            breaks = (np.diff(causes) != 0) | (np.diff(self._run_of_step) != 0)
            first = np.concatenate(([0], np.flatnonzero(breaks) + 1)) if len(starts) else np.arange(0)
            labels = np.array([self._log.name(cause.value) for cause in CAUSES], dtype=np.int64)
            names = labels[causes[first]]
        counts = np.diff(np.append(first, len(starts)))
        last = first + counts - 1
        ends = starts[last] + self._step_cycles[last]
        row = self._log.extend(
            track, names, starts[first], ends, causes[first], self._stream.step_line[first], 0, counts
        )
        runs, where = np.unique(self._run_of_step[first], return_index=True)
        rows = {int(run): row + int(index) for run, index in zip(runs, where, strict=True)}
        for stall in self._raw.stalls:
            self._stall_spans(track, stall)
        if self._raw.cycles > self._raw.stream_end:
            self._log.add(track, "drain", self._raw.stream_end, self._raw.cycles, Cause.DRAIN)
        return rows

    def _stall_spans(self, track: int, stall: Stall) -> None:
        if stall.mv < 0:
            self._log.add(track, "mv_issue", stall.start, stall.end, Cause.MV_ISSUE, line=stall.line)
            return
        transfer = self._raw.transfers[stall.mv]
        parts = [*transfer.phases, (Cause.WAIT_NOTICE, transfer.end, stall.end)]
        for cause, start, end in parts:
            start, end = max(start, stall.start), min(end, stall.end)
            if end > start:
                self._log.add(track, cause.value, start, end, cause, line=stall.line)

    # --- units of the PE side ---

    def _unit_spans(self, unit: Unit) -> None:
        track = self._log.track(Track(BOARD, _PE_GROUP, unit.name))
        stream = self._stream
        items = np.flatnonzero(stream.item_unit == unit)
        if not len(items):
            return
        steps = stream.item_step[items]
        starts, ends = self._step_start[steps], self._step_start[steps] + self._step_cycles[steps]
        local = stream.item_name[items]
        ids = np.array([self._log.name(name) for name in stream.names], dtype=np.int64)
        nbytes = np.where(stream.item_memory[items], self._bytes_of_class[stream.item_class[items]], 0)
        first = np.arange(len(items))
        if not self._detail:
            breaks = (starts[1:] != ends[:-1]) | (np.diff(local) != 0)
            first = np.concatenate(([0], np.flatnonzero(breaks) + 1))
        counts = np.diff(np.append(first, len(items)))
        self._log.extend(
            track,
            ids[local[first]],
            starts[first],
            ends[first + counts - 1],
            cause_ids([Cause.NONE])[0],
            stream.step_line[steps[first]],
            np.add.reduceat(nbytes, first),
            counts,
        )

    # --- MVs and ports ---

    def _transfer_spans(self, first_row_of_run: dict[int, int]) -> None:
        log, ports = self._log, self._ports
        engines = [log.track(Track(BOARD, _MV_GROUP, f"MV g{group}")) for group in range(ports.groups)]
        port_tracks = [
            log.track(Track(BOARD, _MEMORY_GROUP, name, f"{name} bandwidth" if name.startswith("DRAM") else ""))
            for name in ports.names
        ]
        rows: list[int] = []
        for transfer in self._raw.transfers:
            plan = transfer.plan
            name = plan.mv.text or plan.mv.form.name
            facts = _facts(transfer)
            line = plan.mv.line
            engine_rows: list[int] = []
            for group in sorted({key[2] for key in plan.queues}):
                read = sum(lw for port, lw in plan.reads.items() if ports.group_of(port) == group)
                span = (engines[group], name, transfer.begin, transfer.end)
                engine_rows.append(log.add(*span, line=line, nbytes=8 * read, details=facts))
            rows.append(engine_rows[0])
            for port in plan.ports:
                span = (port_tracks[port], name, transfer.data, transfer.end)
                log.add(*span, line=line, nbytes=8 * plan.long_words(port))
        run_number = {op: n for n, op in enumerate(i for i, op in enumerate(self._stream.ops) if isinstance(op, Run))}
        for release in self._raw.releases:
            log.flow(rows[release.mv], first_row_of_run[run_number[release.op + 1]])

    # --- totals ---

    def _partition(self, events: EventLog, cycles: int) -> tuple[dict[str, int], list[RegionTime]]:
        """Cycles by cause, of the whole and of every region, from the spans of the stream track."""
        raw, stream = self._raw, self._stream
        marks = [(raw.op_issue[op] if op < len(raw.op_issue) else cycles, name) for op, name in stream.marks]
        if cycles and (not marks or marks[0][0] > 0):
            marks.insert(0, (0, ""))
        starts = np.array([start for start, _ in marks], dtype=np.int64)
        ends = np.append(starts[1:], cycles)[: len(starts)]
        rows = events.on_track(STREAM_TRACK)
        sums = np.zeros((max(len(marks), 1), len(CAUSES)), dtype=np.int64)
        region = np.maximum(np.searchsorted(starts, events.start[rows], side="right") - 1, 0)
        np.add.at(sums, (region, events.cause[rows]), events.end[rows] - events.start[rows])
        total = dict(zip((c.value for c in CAUSES), sums.sum(axis=0).tolist(), strict=True))
        by_cause = {cause.value: total[cause.value] for cause in _REPORTED_CAUSES}
        regions = [
            RegionTime(name, start, int(end), _named(sums[index]))
            for index, ((start, name), end) in enumerate(zip(marks, ends, strict=True))
        ]
        return by_cause, regions

    def _by_unit(self) -> dict[str, int]:
        spent = self._step_cycles[self._stream.item_step]
        steps = np.bincount(self._stream.item_unit, weights=spent, minlength=len(Unit))
        result = {unit.name: int(steps[unit]) for unit in Unit}
        result.update({name: 0 for name in self._ports.names})
        for transfer in self._raw.transfers:
            for port in transfer.plan.ports:
                result[self._ports.names[port]] += transfer.plan.data
        return result

    def _bytes_by_link(self) -> dict[str, int]:
        result = {name: 0 for name in self._ports.names[: self._ports.ring]}
        for transfer in self._raw.transfers:
            for port in {*transfer.plan.reads, *transfer.plan.writes}:
                result[self._ports.names[port]] += 8 * transfer.plan.long_words(port)
        moved = np.bincount(self._stream.item_class[self._stream.item_memory], minlength=len(TRANSFERS))
        for transfer_class, count in zip(TRANSFERS, moved.tolist(), strict=True):
            if transfer_class is not None:
                link = transfer_class.link
                result[link] = result.get(link, 0) + count * transfer_class.nbytes(self._spec)
        return result


def _named(sums: Ints) -> dict[str, int]:
    return {cause.value: int(n) for cause, n in zip(CAUSES, sums, strict=True) if cause is not Cause.NONE and n}


def _facts(transfer: TransferTime) -> dict[str, int | str]:
    mv = transfer.plan.mv
    return {
        "issued": transfer.issue,
        "queued": transfer.spent(Cause.WAIT_QUEUE),
        "latency": transfer.spent(Cause.WAIT_LATENCY),
        "port wait": transfer.spent(Cause.WAIT_PORT),
        "data": transfer.plan.data,
        "tag": f"i{mv.tag:02x}" if mv.tag else "none",
        "priority": mv.prio,
    }
