"""Numbers as the pictures write them."""

from __future__ import annotations

from fractions import Fraction

from hw.spec import BYTES_PER_LW, ChipSpec


def size(lws: int) -> str:
    """Long words as bytes in the largest binary unit that keeps a whole number: 32768 -> "256 KiB"."""
    count, unit = lws * BYTES_PER_LW, 0
    while count % 1024 == 0 and unit < 3:
        count //= 1024
        unit += 1
    return f"{count} {('B', 'KiB', 'MiB', 'GiB')[unit]}"


def rate(value: Fraction | float) -> str:
    """A rate without needless digits: 16, 21.3."""
    return f"{float(value):.1f}".removesuffix(".0")


def bandwidth(spec: ChipSpec, lw_per_cycle: Fraction | float, places: int) -> str:
    """The bytes per second of a rate at `places` places of the board: "768 GB/s", "12.3 TB/s"."""
    gigabytes = float(lw_per_cycle) * places * BYTES_PER_LW * spec.clock_hz / 1e9
    return f"{gigabytes / 1000:.1f} TB/s" if gigabytes >= 1000 else f"{gigabytes:.0f} GB/s"
