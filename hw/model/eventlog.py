"""The event log of a simulation, made from its raw times on demand: a run without traces pays nothing for them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hw.events import CAUSE_ID, CAUSES, Cause, EventLog, EventLogBuilder, Track
from hw.model.hostside import DOWN, UP
from hw.model.packing import Packed
from hw.model.ports import PortMap
from hw.model.spans import Ints, StreamSpans, stall_spans, step_spans
from hw.model.stream import Run, Stream
from hw.model.times import HostTime, RawTimes, TransferTime
from hw.model.transfer import TRANSFERS
from hw.program import Unit
from hw.spec import BYTES_PER_LW, ChipSpec

BOARD = "board 0"
HOST = "host"
STREAM_TRACK = "PE stream"
DMA_TRACK = "DMA"
_PE_GROUP, _MV_GROUP, _MEMORY_GROUP, _LINK_GROUP = STREAM_TRACK, "MV engines", "memories", "PCIe"


@dataclass(frozen=True, eq=False)
class LogSource:
    """All that a log is made of."""

    stream: Stream
    packed: Packed
    spec: ChipSpec
    raw: RawTimes
    ports: PortMap
    starts: Ints
    cycles: Ints

    def log(self, *, detail: bool) -> EventLog:
        """One span per step and item with `detail`, otherwise stretches of equal ones."""
        return _Log(self, detail).build()


class _Log:
    """Working state of one log."""

    def __init__(self, source: LogSource, detail: bool) -> None:
        self._source = source
        self._stream = source.stream
        self._raw = source.raw
        self._detail = detail
        self._log = EventLogBuilder(float(source.spec["clock.core"]))

    def build(self) -> EventLog:
        first_row_of_step = self._stream_spans()
        for unit in Unit:
            self._unit_spans(unit)
        row_of = {**self._transfer_spans(), **self._host_spans()}
        runs = [op.first if isinstance(op, Run) else -1 for op in self._source.packed.ops]
        for release in self._raw.releases:
            step = next(first for first in runs[release.op :] if first >= 0)
            self._log.flow(row_of[id(release.released)], first_row_of_step[step])
        return self._log.freeze()

    # --- the stream: spans that partition [0, cycles) ---

    def _stream_spans(self) -> dict[int, int]:
        """Log steps and everything between them; returns the row of every span of steps by its first step."""
        source = self._source
        track = self._log.track(Track(BOARD, _PE_GROUP, STREAM_TRACK))
        labels = np.array([self._log.name(cause.value) for cause in CAUSES], dtype=np.int64)
        steps = step_spans(self._stream, source.spec, source.starts, source.cycles, detail=self._detail)
        names = labels[steps.cause]
        if self._detail:
            names = np.array([self._log.name(text or "step") for text in self._stream.step_text], dtype=np.int64)
        row = self._extend(track, names, steps)
        stalls = stall_spans(self._raw)
        self._extend(track, labels[stalls.cause], stalls)
        return {int(first): row + number for number, first in enumerate(steps.first.tolist())}

    def _extend(self, track: int, names: Ints, spans: StreamSpans) -> int:
        return self._log.extend(track, names, spans.start, spans.end, spans.cause, spans.line, 0, spans.count)

    # --- units of the PE side ---

    def _unit_spans(self, unit: Unit) -> None:
        utilisation = "MAU utilisation" if unit is Unit.MAU else ""
        track = self._log.track(Track(BOARD, _PE_GROUP, unit.name, utilisation=utilisation))
        stream, source = self._stream, self._source
        items = np.flatnonzero(stream.item_unit == unit)
        if not len(items):
            return
        steps = stream.item_step[items]
        starts, ends = source.starts[steps], source.starts[steps] + source.cycles[steps]
        local = stream.item_name[items]
        ids = np.array([self._log.name(name) for name in stream.names], dtype=np.int64)
        of_class = np.array([0 if t is None else t.nbytes(source.spec) for t in TRANSFERS], dtype=np.int64)
        nbytes = np.where(stream.item_memory[items], of_class[stream.item_class[items]], 0)
        first = np.arange(len(items))
        if not self._detail:
            breaks = (starts[1:] != ends[:-1]) | (np.diff(local) != 0)
            first = np.concatenate(([0], np.flatnonzero(breaks) + 1))
        counts = np.diff(first, append=len(items))
        self._log.extend(
            track,
            ids[local[first]],
            starts[first],
            ends[first + counts - 1],
            CAUSE_ID[Cause.NONE],
            stream.step_line[steps[first]],
            np.add.reduceat(nbytes, first),
            counts,
        )

    # --- MVs, ports and the host ---

    def _transfer_spans(self) -> dict[int, int]:
        """Log every MV on its engines and ports, from cycle 0 on; returns the first row of each by identity."""
        log, ports = self._log, self._source.ports
        engines = [log.track(Track(BOARD, _MV_GROUP, f"MV g{group}")) for group in range(ports.groups)]
        tracks = [
            log.track(Track(BOARD, _MEMORY_GROUP, name, f"{name} bandwidth" if name.startswith("DRAM") else ""))
            for name in ports.names
        ]
        rows: dict[int, int] = {}
        for transfer in (*self._raw.inherited, *self._raw.transfers):
            plan = transfer.plan
            name = plan.mv.text or plan.mv.form.name
            facts = _facts(transfer)
            begin, end = max(transfer.begin, 0), max(transfer.end, 0)
            for group in sorted({key[2] for key in plan.queues}):
                read = sum(lw for port, lw in plan.reads.items() if ports.group_of(port) == group)
                row = log.add(
                    engines[group], name, begin, end, line=plan.mv.line, nbytes=BYTES_PER_LW * read, details=facts
                )
                rows.setdefault(id(transfer), row)
            held = [(max(turn.start, 0), turn.end) for turn in transfer.turns if turn.end > max(turn.start, 0)]
            for port in plan.ports:
                shares = _shares(BYTES_PER_LW * plan.long_words(port) if transfer.op >= 0 else 0, held)
                for (start, stop), nbytes in zip(held, shares, strict=True):
                    log.add(tracks[port], name, start, stop, line=plan.mv.line, nbytes=nbytes)
        for host in self._raw.hosts:
            for start, end, nbytes in host.pdm:
                log.add(tracks[ports.pdm(0)], host.transfer.name, start, end, nbytes=nbytes)
        return rows

    def _host_spans(self) -> dict[int, int]:
        log = self._log
        for name in (DOWN, UP):
            track = log.track(Track(BOARD, _LINK_GROUP, name, f"{name} bandwidth"))
            for span in self._raw.links.get(name, []):
                log.add(track, span.label, span.start, span.end, nbytes=span.nbytes, count=span.count)
        dma = log.track(Track(HOST, "", DMA_TRACK))
        return {id(host): self._host_span(dma, host) for host in self._raw.hosts}

    def _host_span(self, track: int, host: HostTime) -> int:
        what = host.transfer
        facts = {"tag": f"i{what.tag:02x}" if what.tag else "none", "direction": str(what.direction)}
        return self._log.add(track, what.name, host.start, host.end, nbytes=what.nbytes, details=facts)


def _shares(nbytes: int, spans: list[tuple[int, int]]) -> list[int]:
    """`nbytes` over spans, none of them empty, in proportion to their length; whole bytes that add up."""
    total = sum(end - start for start, end in spans)
    shares, done, given = [], 0, 0
    for start, end in spans:
        done += end - start
        shares.append(nbytes * done // total - given)
        given += shares[-1]
    return shares


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
