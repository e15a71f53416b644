"""DRAM in time: whole bursts, opened rows, and refresh pauses (timing.md 5; figures estimated, see docs/cycles.md)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from hw.spec import ChipSpec

BLOCK = 16
"""Long words that one DAR entry addresses (isa.md 3.9)."""


@dataclass(frozen=True, slots=True)
class DramCost:
    """How long one DRAM is busy: `cycles` exact, for `bursts` whole bursts in `rows` rows."""

    cycles: Fraction
    bursts: int
    rows: int


class DramRules:
    """Burst and row arithmetic of one chip."""

    def __init__(self, spec: ChipSpec) -> None:
        self._burst = spec.integer("dram.burst")
        self._row = spec.integer("dram.row")
        self._row_open = spec.integer("dram.row_open")
        self._rate = spec.dram_lw_per_cycle

    def contiguous(self, address: int, long_words: int) -> DramCost:
        """`long_words` from long word `address` on."""
        if not long_words:
            return DramCost(Fraction(0), 0, 0)
        end = address + long_words
        return self._cost(-(-end // self._burst) - address // self._burst, -(-end // self._row) - address // self._row)

    def indirect(self, long_words: int, consecutive: int | None) -> DramCost:
        """Through DAR: runs of `consecutive` blocks, each at an aligned place of its own; None: one single run.

        The entries are data, so where the runs lie takes no part in time.
        """
        if not long_words:
            return DramCost(Fraction(0), 0, 0)
        run = min(BLOCK * consecutive if consecutive else long_words, long_words)
        runs, rest = divmod(long_words, run)
        bursts = runs * -(-run // self._burst) + -(-rest // self._burst)
        return self._cost(bursts, runs * -(-run // self._row) + -(-rest // self._row))

    def _cost(self, bursts: int, rows: int) -> DramCost:
        return DramCost(Fraction(bursts * self._burst) / self._rate + rows * self._row_open, bursts, rows)


@dataclass(frozen=True, slots=True)
class Refresh:
    """Pauses of all DRAMs: `length` cycles every `interval`, the next (or current) one starting at cycle `first`.

    `first` may lie up to `length` cycles in the past.
    """

    first: int
    interval: int
    length: int

    @classmethod
    def of(cls, spec: ChipSpec, first: int | None = None) -> Refresh | None:
        """The pauses that `spec` asks for, None without refresh; `first` None means a whole interval from now."""
        if not spec.integer("dram.refresh"):
            return None
        interval = spec.integer("dram.refresh_interval")
        return cls(interval if first is None else first, interval, spec.integer("dram.refresh_cycles"))

    def pieces(self, start: int, work: int) -> Iterator[tuple[int, int, bool]]:
        """(start, end, pausing) of `work` cycles of data begun at `start`, without gaps; empty pieces are left out."""
        number = max(0, -(-(start - self.first - self.length + 1) // self.interval))
        pause = self.first + number * self.interval  # the first pause that ends after `start`
        while work > 0:
            busy = min(work, max(pause - start, 0))
            if busy:
                yield start, start + busy, False
                start += busy
                work -= busy
            if work:
                yield start, pause + self.length, True
                start = pause + self.length
                pause += self.interval

    def next_after(self, cycle: int) -> int:
        """Start of the first pause that ends after `cycle`."""
        number = max(0, -(-(cycle - self.first - self.length + 1) // self.interval))
        return self.first + number * self.interval
