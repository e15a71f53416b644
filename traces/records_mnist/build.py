"""Writes the solutions and the table of line counts: ``python -m traces.records_mnist.build``.

A solution is the shorter one of the code as written, if the hazard rules allow it, and the scheduler's result.
"""

from __future__ import annotations

import json
from pathlib import Path

from isa.assemble import assemble
from isa.errors import AsmError
from isa.pack import pack, vsm_text
from traces.records_mnist import programs_copy, programs_elementwise, programs_matmul, programs_reduce
from traces.records_mnist.problems import PROBLEMS
from traces.records_mnist.run import score

HERE = Path(__file__).parent
PROGRAMS = (
    programs_elementwise.PROGRAMS | programs_reduce.PROGRAMS | programs_copy.PROGRAMS | programs_matmul.PROGRAMS
)


def solution(name: str) -> str:
    """The VSM text of a problem's solution."""
    plain = PROGRAMS[name]()
    packed = vsm_text(pack(assemble(plain, check_hazards=False).lines))
    try:
        as_written = assemble(plain)
    except AsmError:
        return packed
    if score(as_written).total <= score(assemble(packed)).total:
        return vsm_text(as_written.lines)
    return packed


def table(solutions: dict[str, str]) -> list[dict[str, object]]:
    """One record per problem: j PE lines, m MV lines, their sum, and the published counts."""
    rows: list[dict[str, object]] = []
    for name, text in solutions.items():
        counted, problem = score(assemble(text)), PROBLEMS[name]
        row: dict[str, object] = {"problem": name, "j": counted.j, "m": counted.m, "score": counted.total}
        row |= {"par": problem.par, "top": problem.top}
        if problem.assumed:
            row["assumed"] = problem.assumed
        rows.append(row)
    return rows


def main() -> None:
    """Write every file that differs from what is there."""
    solutions = {name: solution(name) for name in PROBLEMS}
    for name, text in solutions.items():
        (HERE / f"{name}.vsm").write_text(text)
    rows = ",\n".join("  " + json.dumps(row) for row in table(solutions))
    (HERE / "records.json").write_text(f"[\n{rows}\n]\n")


if __name__ == "__main__":
    main()
