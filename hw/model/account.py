"""Totals of a simulation: cycles by cause and by unit, bytes by link, for the whole run and for every region."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hw.events import CAUSES, Cause, RegionTime
from hw.model.hostside import DOWN, UP
from hw.model.packing import Packed
from hw.model.ports import PortMap
from hw.model.spans import Ints, StreamSpans
from hw.model.stream import Stream
from hw.model.times import RawTimes, TransferTime
from hw.model.transfer import TRANSFERS
from hw.program import Unit
from hw.spec import BYTES_PER_LW, ChipSpec

_UNITS = tuple(unit.name for unit in Unit)
_PE_LINKS = tuple(dict.fromkeys(t.link for t in TRANSFERS if t is not None))


@dataclass(frozen=True, slots=True)
class Totals:
    """See `Timing` for the meaning of each."""

    by_cause: dict[str, int]
    by_unit: dict[str, int]
    nbytes: dict[str, int]
    regions: list[RegionTime]


class Busy:
    """Time spans of one port or link that do not overlap: how much of `[0, t)` they cover."""

    def __init__(self, spans: Sequence[tuple[int, int]]) -> None:
        table = np.array(sorted(spans), dtype=np.int64).reshape(-1, 2)
        self._starts = np.maximum(table[:, 0], 0)
        self._ends = np.maximum(table[:, 1], 0)
        self._before = np.concatenate(([0], np.cumsum(self._ends - self._starts)))

    def until(self, cycles: Ints) -> Ints:
        """Covered cycles before each of `cycles`."""
        index = np.searchsorted(self._starts, cycles, side="right")
        last = np.maximum(index - 1, 0)
        if not len(self._starts):
            return np.zeros_like(cycles)
        running = np.where(index > 0, np.maximum(self._ends[last] - cycles, 0), 0)
        return self._before[index] - running


def port_spans(raw: RawTimes, ports: PortMap) -> list[list[tuple[int, int]]]:
    """When each port was held, by number."""
    spans: list[list[tuple[int, int]]] = [[] for _ in ports.names]
    for transfer in (*raw.inherited, *raw.transfers):
        held = [(turn.start, turn.end) for turn in transfer.turns if turn.end > 0]
        for port in transfer.plan.ports:
            spans[port] += held
    for host in raw.hosts:
        spans[ports.pdm(0)] += [(start, end) for start, end, _ in host.pdm]
    return spans


class Account:
    """Adds up one simulation region by region."""

    def __init__(
        self,
        stream: Stream,
        packed: Packed,
        spec: ChipSpec,
        raw: RawTimes,
        ports: PortMap,
        spans: StreamSpans,
        starts: Ints,
        cycles: Ints,
    ) -> None:
        self._stream = stream
        self._raw = raw
        self._ports = ports
        self._spans = spans
        self._cycles = cycles
        self._bytes_of_class = np.array([0 if t is None else t.nbytes(spec) for t in TRANSFERS], dtype=np.int64)
        total = raw.cycles
        marks = [(raw.op_issue[op] if op < len(raw.op_issue) else total, op, name) for op, name in packed.marks]
        self._named = bool(marks) or total > 0
        if not marks or marks[0][0] > 0:
            marks.insert(0, (0, -1, ""))
        self._names = [name for _, _, name in marks]
        self._starts = np.array([start for start, _, _ in marks], dtype=np.int64)
        self._first_ops = np.array([op for _, op, _ in marks], dtype=np.int64)
        self._ends = np.append(self._starts[1:], total)
        self._region_of_item = self._region(starts)[stream.item_step]

    def totals(self) -> Totals:
        """Everything together."""
        causes = self._causes()
        units, unit_names = self._units()
        nbytes, links = self._bytes()
        regions = [
            RegionTime(
                name,
                int(self._starts[index]),
                int(self._ends[index]),
                {c.value: n for c, n in zip(CAUSES, causes[index].tolist(), strict=True) if n},
                {u: n for u, n in zip(unit_names, units[index].tolist(), strict=True) if n},
                {link: n for link, n in zip(links, nbytes[index].tolist(), strict=True) if n},
            )
            for index, name in enumerate(self._names)
        ]
        summed = zip(CAUSES, causes.sum(axis=0).tolist(), strict=True)
        return Totals(
            {cause.value: n for cause, n in summed if cause is not Cause.NONE},
            dict(zip(unit_names, units.sum(axis=0).tolist(), strict=True)),
            dict(zip(links, nbytes.sum(axis=0).tolist(), strict=True)),
            regions if self._named else [],
        )

    def _region(self, cycles: Ints) -> NDArray[np.intp]:
        """Region in which something starts."""
        return np.maximum(np.searchsorted(self._starts, cycles, side="right") - 1, 0)

    def _region_of_op(self, op: int) -> int:
        """Region of a line, also where lines of several regions issue in one cycle."""
        return max(int(np.searchsorted(self._first_ops, op, side="right")) - 1, 0)

    def _causes(self) -> Ints:
        """Cycles [region, cause]."""
        sums = np.zeros((len(self._names), len(CAUSES)), dtype=np.int64)
        spans = self._spans
        np.add.at(sums, (self._region(spans.start), spans.cause), spans.end - spans.start)
        return sums

    def _units(self) -> tuple[Ints, list[str]]:
        """Busy cycles [region, unit] of PE units, ports and host links."""
        items, width = self._region_of_item * len(_UNITS) + self._stream.item_unit, len(_UNITS) * len(self._names)
        spent = np.bincount(items, weights=self._cycles[self._stream.item_step], minlength=width)
        columns = [*spent.reshape(len(self._names), len(_UNITS)).astype(np.int64).T]
        names = [*_UNITS]
        links = {name: [(s.start, s.end) for s in self._raw.links.get(name, [])] for name in (DOWN, UP)}
        held = dict(zip(self._ports.names, port_spans(self._raw, self._ports), strict=True))
        for name, spans in {**held, **links}.items():
            busy = Busy(spans)
            columns.append(busy.until(self._ends) - busy.until(self._starts))
            names.append(name)
        return np.stack(columns, axis=1), names

    def _bytes(self) -> tuple[Ints, list[str]]:
        """Bytes [region, link]: of an MV where it was issued, of a step where it ran, of the host where it ended."""
        memories = self._ports.names[: self._ports.memory_ports]
        names = [*memories, *_PE_LINKS, DOWN, UP]
        sums = np.zeros((len(self._names), len(names)), dtype=np.int64)
        for transfer in self._raw.transfers:
            region = self._region_of_op(transfer.op)
            for port, long_words in _moved(transfer).items():
                sums[region, port] += BYTES_PER_LW * long_words
        for host in self._raw.hosts:
            for start, _, nbytes in host.pdm:
                sums[self._region(np.array([start]))[0], self._ports.pdm(0)] += nbytes
        item_bytes = np.where(self._stream.item_memory, self._bytes_of_class[self._stream.item_class], 0)
        for number, link in enumerate(_PE_LINKS, start=len(memories)):
            mine = np.array([t is not None and t.link == link for t in TRANSFERS])[self._stream.item_class]
            np.add.at(sums[:, number], self._region_of_item[mine], item_bytes[mine])
        for name in (DOWN, UP):
            for span in self._raw.links.get(name, []):
                sums[self._region(np.array([span.start]))[0], names.index(name)] += span.nbytes
        return sums, names


def _moved(transfer: TransferTime) -> dict[int, int]:
    plan = transfer.plan
    return {port: plan.long_words(port) for port in (*plan.reads, *plan.writes)}
