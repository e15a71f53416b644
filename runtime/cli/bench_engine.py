"""`mncore2 bench engine`: full-chip steps per second of single instructions, a mixed program and narrow programs.

Every program repeats one line.  The board holds different data in every L1B, so that nothing can be shared between
them; for narrow programs all L1Bs but one are alike.  Beside an official emulator (`--against official`) the same lines
are timed there, as the difference of a long and a short program, so that its start-up does not count.
"""

from __future__ import annotations

import math
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hw.state import Board
    from isa.fuzz import OfficialTools

STEPS = 256
NARROW_STEPS = 8192
OFFICIAL_STEPS = (20, 220)
BLOCK_FLOATS = 0x3E003E003E003E00

MIXED_MATRIX = "hmfma $lx $lr0v $lln0v $llr64v; iadd $aluf $ls0v $ls64v; l1bmm $lb0 $lm0v"
MIXED_VECTOR = "fvfma $lr0v $ls0v $ln0v $lr64v; iadd $aluf $ls0v $ls64v; l1bmm $lb0 $lm0v"

SINGLE = {
    "iadd": "iadd $lr0v $ls0v $lr64v",
    "lsub": "lsub $lr0v $ls0v $lr64v",
    "slsl": "slsl $lr0v $ls0v $lr64v",
    "fmax": "fmax $lr0v $ls0v $lr64v",
    "hrelu": "hrelu $lr0v $lr0v $lr64v",
    "frsqrt": "frsqrt $lr0v $lr64v",
    "fftoi": "fftoi $lr0v $lr64v",
    "hbfn/9": "hbfn/9 $llr0v $lls64v",
    "gbfn": "gbfn $lr0v $ls64v",
    "dbfn": "dbfn $lr0v $ls64v",
    "dvfmau": "dvfmau $lr0v $ls0v $ln0v $lm64v",
    "fvfma": "fvfma $lr0v $ls0v $ln0v $lm64v",
    "hvfma": "hvfma $lr0v $ls0v $lln0v $llm64v",
    "dmmulu": "dmmulu $lx $lr0v $ln64v",
    "gmmul": "gmmul $lx $lr0v $ln64v",
    "hmfma": "hmfma $lx $lr0v $lls0v $lln64v",
    "hmwrite": "hmwrite $llr0v $lly0",
    "dmread": "dmread $lx0 $lr64v",
    "l1bmm load": "l1bmm $lb0 $lr64v",
    "l1bmd load": "l1bmd $lb0 $lr64v",
    "l1bmd store": "l1bmd $lr0v $lb1024",
    "l1bmrffadd": "l1bmrffadd $llr0v $llb1024",
    "l2bmb": "l2bmb $lc0 $lb1024",
    "l2bmd up": "l2bmd $lb0 $lc1024",
    "l2bmrffadd": "l2bmrffadd $lb0 $lc1024",
}
PREPARE = "iadd $lr0v $ls0v $nowrite"


@dataclass(frozen=True)
class Speed:
    """Result of one program; `official` in the same unit, where it was measured."""

    name: str
    kind: str
    steps_per_s: float
    official: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Plain data."""
        row: dict[str, Any] = {"name": self.name, "kind": self.kind, "steps_per_s": round(self.steps_per_s, 1)}
        if self.official is not None:
            row |= {
                "official_steps_per_s": round(self.official, 1),
                "ratio": round(self.steps_per_s / self.official, 1),
            }
        return row


def programs() -> list[tuple[str, str, str]]:
    """(name, kind, line) of everything that is measured."""
    rows = [(name, "single", line) for name, line in SINGLE.items()]
    rows += [("mixed hmfma", "mixed", MIXED_MATRIX), ("mixed fvfma", "mixed", MIXED_VECTOR)]
    narrow = {"iadd": SINGLE["iadd"], "fvfma": SINGLE["fvfma"], "hmfma": SINGLE["hmfma"], "mixed hmfma": MIXED_MATRIX}
    return rows + [(f"narrow {name}", "narrow", line) for name, line in narrow.items()]


def measure(repeat: int, official: OfficialTools | None) -> Iterator[Speed]:
    """Time every program; medians of `repeat` runs."""
    from hw.state import Board

    wide, narrow = Board(), Board()
    _fill(wide, alike=False)
    _fill(narrow, alike=True)
    for name, kind, line in programs():
        board, steps = (narrow, NARROW_STEPS) if kind == "narrow" else (wide, STEPS)
        theirs = _official_rate(official, line) if official is not None and kind == "single" else None
        yield Speed(name, kind, _own_rate(board, line, steps, repeat), theirs)


def geometric_mean_ratio(speeds: list[Speed]) -> float | None:
    """Geometric mean of our speed over the official one, over the single instructions; None if none was timed."""
    ratios = [speed.steps_per_s / speed.official for speed in speeds if speed.official]
    return math.exp(statistics.fmean(math.log(ratio) for ratio in ratios)) if ratios else None


def _fill(board: Board, *, alike: bool) -> None:
    """Block floats of one exponent everywhere, different in every L1B or (`alike`) in one of them."""
    import numpy as np

    rng = np.random.default_rng(1)
    for array in (board.grf, board.lm[:, :, :64], board.matrix, board.l1bm[:, :2048]):
        axis = 1 if array.ndim > 3 else 0
        data = np.uint64(BLOCK_FLOATS) | rng.integers(0, 512, array.shape, dtype=np.uint64)
        if alike:
            data[:] = np.take(data, [0], axis=axis)
        array[:] = data
    board.l2bm[:, :2048] = np.uint64(BLOCK_FLOATS)
    if alike:
        board.grf[0, 5, 3, 2, 1] += np.uint64(1)


def _own_rate(board: Board, line: str, steps: int, repeat: int) -> float:
    from hw.engine import lower
    from isa.assemble import assemble

    lowered = lower(assemble("\n".join([PREPARE, *[line] * steps]), check_hazards=False))
    lowered.run(board)
    times = []
    for _ in range(repeat):
        begin = time.perf_counter()
        lowered.run(board)
        times.append(time.perf_counter() - begin)
    return steps / statistics.median(times)


def _official_rate(official: OfficialTools, line: str) -> float | None:
    """Steps per second of the official emulator; None when the machine is too busy to tell."""
    short, long = OFFICIAL_STEPS
    data = f"{BLOCK_FLOATS:016x}"
    setup = [f"d set ${memory}0 64 {data * 64}" for memory in ("lm", "ln", "lr", "ls")]
    setup += [f"d set $lb0 512 {data * 512}", f"d set $lc0 512 {data * 512}"]
    setup += [f"hmwrite $llr0v $llx{row}" for row in (0, 8)]
    seconds = []
    with tempfile.TemporaryDirectory(prefix="mncore2-bench-") as folder:
        for count in (short, long):
            path = Path(folder) / f"{count}.vsm"
            path.write_text("\n".join([*setup, "nop/4", PREPARE, *[line] * count]) + "\n")
            seconds.append(_official_seconds(official, path))
    return (long - short) / (seconds[1] - seconds[0]) if seconds[1] > seconds[0] else None


def _official_seconds(official: OfficialTools, program: Path) -> float:
    """Shortest of two runs of the emulator on a program file."""
    options = ["--instruction-mode", "flat", "--disable-hazard-checker"]
    made = subprocess.run([str(official.assembler), *options, str(program)], capture_output=True, text=True, check=True)
    stream = program.with_suffix(".asm")
    stream.write_text(made.stdout)
    command = [str(official.emulator), "-i", str(stream), "--offchip-memory-init", "zero"]
    times = []
    for _ in range(2):
        begin = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        times.append(time.perf_counter() - begin)
    return min(times)
