"""`mncore2 run`: execute a program on a fresh board and count its cycles."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runtime.cli.arguments import ChipFile, Json, Sets, chip
from runtime.cli.errors import UsageError, read_text
from runtime.cli.output import print_json, print_table, say, working

if TYPE_CHECKING:
    from hw.program import Program
    from hw.spec import ChipSpec


class Memory(StrEnum):
    """Contents of DRAM and PDM before the program."""

    ZERO = "zero"
    UNIQUE = "unique"


def add_to(app: typer.Typer) -> None:
    """Register the verb."""
    app.command("run")(run)


def run(
    file: Annotated[Path, typer.Argument(metavar="FILE.vsm", help="Program text; - reads standard input.")],
    sets: Sets = None,
    chip_file: ChipFile = None,
    memory: Annotated[Memory, typer.Option("--memory", help="DRAM and PDM at the start.")] = Memory.ZERO,
    permissive: Annotated[
        bool, typer.Option("--permissive", help="Accept hazards and waits that never end; the result says so.")
    ] = False,
    sanitize: Annotated[
        bool,
        typer.Option("--sanitize/--no-sanitize", help="Refuse uninitialised reads, races and stray addresses."),
    ] = True,
    json: Json = False,
) -> None:
    """Run a program: print what its `d get` lines show, and its cycles by cause."""
    from hw.engine import execute
    from hw.state import Board
    from isa.assemble import assemble
    from isa.debugger import sanitize as sanitize_program
    from isa.dump import debug_handler

    if file.is_dir():
        raise UsageError(f"{file} is a folder; `run` takes program text. A compiled function needs inputs: use mlsdk")
    spec = chip(sets, chip_file)
    program = assemble(read_text(file), check_hazards=not permissive, name=file.name)
    lines: list[str] = []
    with working("running (the first run of an instruction compiles its kernel)"):
        board = Board(spec, offchip=memory.value)
        if sanitize and not permissive and memory is Memory.ZERO:
            sanitize_program(program, board, spec=spec, output=lines)
        else:
            execute(program, board, on_debug=debug_handler(lines), strict=not permissive)
    result = {"program": file.name, "permissive": permissive, "dump": lines, **_time(program, spec, permissive)}
    if json:
        print_json(result)
        return
    for line in lines:
        print(line)
    _print_time(result)


def _time(program: Program, spec: ChipSpec, permissive: bool) -> dict[str, Any]:
    """The totals of the time model; with `permissive`, why there are none where the stream would stop for good."""
    from hw.model import ModelError, simulate

    try:
        return simulate(program, spec).as_dict()
    except ModelError as error:
        if not permissive:
            raise
        return {"vsm_cycles": None, "time_error": str(error)}


def _print_time(result: dict[str, Any]) -> None:
    if result["permissive"]:
        say("permissive: hazards were not checked, a real chip may compute something else")
    cycles = result["vsm_cycles"]
    if cycles is None:
        say(f"no time: {result['time_error']}")
        return
    rows = [(cause, n, round(100.0 * n / cycles, 1)) for cause, n in result["by_cause"].items()] if cycles else []
    title = f"{cycles:,} cycles, {result['seconds'] * 1e6:.3f} µs at {result['core_freq']:g} MHz"
    print_table(title, ("cause", "cycles", "%"), rows, ("all", cycles, 100.0) if rows else ())
