"""`simulate`: the time of a program on a chip, computed once per (program, chip, start) and then reused exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from hw.model.account import Account
from hw.model.eventlog import LogSource
from hw.model.host import HostTransfer
from hw.model.memo import IdentityMemo
from hw.model.packing import check_auto_stride, pack
from hw.model.sequencer import Machine
from hw.model.spans import joined, stall_spans, step_cycles, step_spans, step_starts
from hw.model.state import IDLE, EngineState
from hw.model.stream import Stream, lower
from hw.model.timing import Timing
from hw.model.traffic import Planner
from hw.program import Program
from hw.spec import ChipSpec, default_spec

_MEMO_SIZE = 64

_lowered: IdentityMemo[Program, Stream] = IdentityMemo(lower)


def simulate(
    program: Program,
    spec: ChipSpec | None = None,
    *,
    detail: bool = False,
    start: EngineState = IDLE,
    host: Sequence[HostTransfer] = (),
) -> Timing:
    """Time of `program` on `spec` (default MN-Core 2).

    detail: log one span per step and item; the default merges runs of equal ones.  start: what the engines are doing
    (`end_state` of the program before; default idle).  host: transfers of the host around it.  Values never take part:
    no state of a board is passed.  Raises DeadlockError, TagError, PlaceError, TransferError or PackingError (all
    ModelError) with the source line.
    """
    chosen = spec or default_spec()
    if chosen.integer("stream.auto_stride"):
        check_auto_stride(program)
    return _simulate(_lowered(program), chosen, detail, start, tuple(host))


@lru_cache(maxsize=_MEMO_SIZE)
def _simulate(
    stream: Stream, spec: ChipSpec, detail: bool, start: EngineState, host: tuple[HostTransfer, ...]
) -> Timing:
    if detail:  # only the log differs
        return replace(_simulate(stream, spec, False, start, host), detail=True)
    return simulate_stream(stream, spec, start=start, host=host)


def simulate_stream(
    stream: Stream,
    spec: ChipSpec,
    *,
    detail: bool = False,
    start: EngineState = IDLE,
    host: Sequence[HostTransfer] = (),
) -> Timing:
    """The same without memo, from the reduced program."""
    cycles = step_cycles(stream, spec)
    packed = pack(stream, spec)
    planner = Planner(spec)
    machine = Machine(stream, packed, spec, cycles, planner, start, host)
    raw = machine.run()
    starts = step_starts(packed, raw, cycles)
    spans = joined([step_spans(stream, spec, starts, cycles, detail=False), stall_spans(raw)])
    totals = Account(stream, packed, spec, raw, planner.ports, spans, starts, cycles).totals()
    return Timing(
        cycles=raw.cycles,
        regions=totals.regions,
        by_cause=totals.by_cause,
        by_unit=totals.by_unit,
        bytes_by_link=totals.nbytes,
        transfers=raw.transfers,
        host_transfers=raw.hosts,
        steps=len(cycles),
        stream_end=raw.stream_end,
        clock_mhz=float(spec["clock.core"]),
        spec_digest=spec.digest,
        program_digest=stream.digest,
        detail=detail,
        _state=machine.state(),
        _source=LogSource(stream, packed, spec, raw, planner.ports, starts, cycles),
    )
