"""Compare the simulator with a folder of recorded vectors: ``python -m tests.isa.run_vectors FOLDER [FAMILY ...]``.

`<family>.jsonl.xz` holds records {id, mode, vsm, dump}: programs and their exact dump lines.  `refusals.jsonl` holds
{id, kind, mode, vsm, verdict}: programs the assembler must take or refuse.  Prints a line per family and the first
differences.
"""

from __future__ import annotations

import argparse
import json
import lzma
import time
import warnings
from collections import Counter
from pathlib import Path

from hw.engine import execute
from hw.engine.errors import EngineError
from hw.state.board import Board
from isa import assemble
from isa.dump import debug_handler
from isa.errors import IsaError

SHOWN = 3


def run_program(text: str, mode: str, board: Board) -> list[str]:
    """The dump lines of one program on a fresh state of `board`."""
    out: list[str] = []
    board.reset()
    program = assemble(text, mode="flat" if mode == "flat" else "auto_stride")
    execute(program, board, on_debug=debug_handler(out))
    return out


def check_family(path: Path, board: Board, shown: int) -> tuple[int, int, int]:
    """(programs, programs with equal dumps, equal lines) of one family; prints the first differences."""
    programs = equal = lines = 0
    for row in lzma.decompress(path.read_bytes()).decode().splitlines():
        record = json.loads(row)
        programs += 1
        try:
            got = run_program(record["vsm"], record["mode"], board)
        except (IsaError, EngineError) as error:
            got = [f"{type(error).__name__}: {error}"]
        same = sum(a == b for a, b in zip(got, record["dump"], strict=False))
        lines += same
        equal += got == record["dump"]
        if got != record["dump"] and shown > 0:
            shown -= 1
            first = next((pair for pair in zip(record["dump"], got, strict=False) if pair[0] != pair[1]), ("?", "?"))
            print(f"  {record['id']}: {len(got)} of {len(record['dump'])} lines, {same} equal")
            print(f"    expected {first[0][:200]}\n    got      {first[1][:300]}")
    return programs, equal, lines


def check_refusals(path: Path, shown: int) -> Counter[tuple[str, str]]:
    """Verdicts by kind: (kind, "same" or the difference)."""
    counts: Counter[tuple[str, str]] = Counter()
    for row in path.open():
        record = json.loads(row)
        try:
            assemble(record["vsm"], mode="flat" if record["mode"] == "flat" else "auto_stride")
            verdict, why = "accepted", ""
        except IsaError as error:
            verdict, why = "refused", str(error)
        same = verdict == record["verdict"]
        counts[record["kind"], "same" if same else f"{verdict} here"] += 1
        if not same and shown > 0:
            shown -= 1
            print(f"  {record['id']} {record['kind']}: {record['verdict']} there: {record['vsm']!r} {why[:120]}")
    return counts


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("families", nargs="*")
    parser.add_argument("--show", type=int, default=SHOWN, help="differences to print per family")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    board = Board()
    for path in sorted(options.folder.glob("*.jsonl.xz")):
        family = path.name.partition(".")[0]
        if options.families and family not in options.families:
            continue
        start = time.perf_counter()
        programs, equal, lines = check_family(path, board, options.show)
        print(
            f"{family:14} {equal:4} of {programs:4} programs, {lines} lines equal, {time.perf_counter() - start:.1f} s"
        )
    refusals = options.folder / "refusals.jsonl"
    if refusals.exists() and (not options.families or "refusals" in options.families):
        for (kind, verdict), count in sorted(check_refusals(refusals, options.show).items()):
            print(f"refusals {kind:14} {verdict:14} {count}")


if __name__ == "__main__":
    main()
