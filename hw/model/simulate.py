"""`simulate`: the time of a program on a chip, computed once per (program, chip) and then reused exactly."""

from __future__ import annotations

from functools import lru_cache

from hw.model.memo import IdentityMemo
from hw.model.report import Report, step_cycles
from hw.model.sequencer import Machine
from hw.model.stream import Stream, lower
from hw.model.timing import Timing
from hw.program import Program
from hw.spec import ChipSpec, default_spec

_MEMO_SIZE = 32

_lowered: IdentityMemo[Program, Stream] = IdentityMemo(lower)


def simulate(program: Program, spec: ChipSpec | None = None, *, detail: bool = False) -> Timing:
    """Time of `program` on `spec` (default MN-Core 2) from idle engines on.

    `detail` logs one span per step and item; the default merges runs of equal ones.  Values never take part.  Raises
    DeadlockError, TagError, PlaceError or TransferError (all ModelError) with the source line.
    """
    return _simulate(_lowered(program), spec or default_spec(), detail)


@lru_cache(maxsize=_MEMO_SIZE)
def _simulate(stream: Stream, spec: ChipSpec, detail: bool) -> Timing:
    return simulate_stream(stream, spec, detail=detail)


def simulate_stream(stream: Stream, spec: ChipSpec, *, detail: bool = False) -> Timing:
    """The same without memo, from the reduced program."""
    cycles = step_cycles(stream, spec)
    raw = Machine(stream, spec, cycles).run()
    return Report(stream, spec, raw, cycles, detail).timing()
