"""`sanitize` for program text: the run-time sanitizers with debug statements understood."""

from __future__ import annotations

import warnings
from collections.abc import Iterable

from hw.program import Program
from hw.sanitizer.runtime import Area, Finding
from hw.sanitizer.runtime import sanitize as sanitize_program
from hw.spec import ChipSpec
from hw.state.board import Board
from isa.assemble import assemble
from isa.debugger.areas import debug_areas
from isa.dump import debug_handler
from isa.dump.handler import PdmDump
from isa.errors import AsmWarning


def sanitize(
    program: Program | str,
    board: Board | None = None,
    *,
    mode: str = "strict",
    spec: ChipSpec | None = None,
    output: list[str] | None = None,
    loaded: Iterable[Area] = (),
    whole_chip: bool = False,
) -> list[Finding]:
    """Run a program or VSM text in lock-step and return what it does wrong; see `hw.sanitizer.runtime.sanitize`.

    output: receives the lines of `d get`.  Text that breaks hazard distances is refused (AsmError), as by `assemble`.
    """
    if isinstance(program, str):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", AsmWarning)
            program = assemble(program)
    handler = debug_handler([] if output is None else output, pdm=PdmDump.REAL)
    return sanitize_program(
        program,
        board,
        mode=mode,
        spec=spec,
        on_debug=handler,
        debug_reader=debug_areas,
        loaded=loaded,
        whole_chip=whole_chip,
    )
