"""The page of line counts: `python -m compiler.records.document RECORDS.json > docs/records.md`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from compiler.records.problems import PROBLEMS
from compiler.records.runner import Measured, measure

HEAD = """# Lines of the layers

This page is generated: `python -m compiler.records.document traces/records_mnist/records.json > docs/records.md`.

Problems of the MN-Core Challenge, done by the code that the compiler's layers emit for the stated layouts and
addresses. Lines are PE lines + MV lines; lines that only wait for a transfer are not counted, as the published counts
have none.
*refused*: the problem states an order in DRAM that no image of ours has: an image keeps what a PE reads together, so
that each stage of a transfer is one kind of instruction (`compiler.emit.transfer`), and the rows of these problems lie
across that.  The products of (256, 128) and (256, 1024) with 16 columns are missing: their pages do not say how the
operands lie.  Products of Float operands are made in pseudo-single precision (`g`), exact for the whole numbers of
the tests; a result must be within 1e-5.

*hand*: our own program for the problem; *par*, *top*: the setters' count and the best one known ("-": not published).

| problem | layers | by layer | hand | par | top | remark |
|---|---|---|---|---|---|---|
"""


def page(hand: Sequence[Mapping[str, Any]], measured: Sequence[Measured]) -> str:
    """Text of the page from the rows of a records file and our measurements."""
    rows = {row["problem"]: row for row in hand}
    assumed = {problem.name: problem.assumed for problem in PROBLEMS}
    lines = []
    for found in measured:
        row = rows.get(found.problem, {})
        own = f"{row['j']} + {row['m']}" if row else "-"
        par, top = (row.get(key) or "-" for key in ("par", "top"))
        count = "refused" if found.refused else f"{found.pe_lines} + {found.mv_lines}"
        parts = found.refused or ", ".join(f"{layer} {lines}" for layer, lines in found.layers)
        remark = assumed[found.problem]
        lines.append(f"| {found.problem} | {count} | {parts} | {own} | {par} | {top} | {remark} |")
    return HEAD + "\n".join(lines) + "\n"


def main(path: str) -> None:
    """Measure every problem and print the page."""
    hand = json.loads(Path(path).read_text(encoding="utf-8"))
    print(page(hand, [measure(problem) for problem in PROBLEMS]), end="")


if __name__ == "__main__":
    main(sys.argv[1])
