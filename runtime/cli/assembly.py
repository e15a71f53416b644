"""`mncore2 asm`, `dis` and `judge`: program text to an instruction stream and back, and contest solutions."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from runtime.cli.arguments import Json
from runtime.cli.errors import FAILED, CommandError, read_text
from runtime.cli.output import print_json
from runtime.files import write_atomically


class InstructionMode(StrEnum):
    """How a PE line is encoded."""

    FLAT = "flat"
    AUTO_STRIDE = "auto_stride"


Out = Annotated[Path | None, typer.Option("--out", "-o", metavar="FILE", help="Write there, not to standard output.")]


def add_to(app: typer.Typer) -> None:
    """Register the verbs."""
    app.command("asm")(asm)
    app.command("dis")(dis)
    app.command("judge")(judge)


def asm(
    file: Annotated[Path, typer.Argument(metavar="FILE.vsm", help="Program text; - reads standard input.")],
    out: Out = None,
    mode: Annotated[InstructionMode, typer.Option("--mode", help="Encoding of PE lines.")] = InstructionMode.FLAT,
    hazards: Annotated[bool, typer.Option("--hazards/--no-hazards", help="Refuse hazards.")] = True,
    fix_nops: Annotated[
        bool, typer.Option("--fix-nops", help="Write the program with the nops its hazards need, not a stream.")
    ] = False,
    json: Json = False,
) -> None:
    """Assemble program text to an instruction stream (one j, i, m or d line per instruction)."""
    from hw.program import Mv, MvNop, Step
    from isa.assemble import assemble
    from isa.encoding import AUTO_STRIDE, FLAT, encode

    if fix_nops:
        from isa.fixnops import with_nops

        fixed = with_nops(read_text(file))
        assemble(fixed, mode=mode.value, name=file.name)
        if json:
            print_json({"program": file.name, "text": fixed})
        else:
            _write(fixed, out)
        return
    program = assemble(read_text(file), mode=mode.value, check_hazards=hazards, name=file.name)
    stream = list(encode(program, FLAT if mode is InstructionMode.FLAT else AUTO_STRIDE))
    if json:
        steps = sum(isinstance(line, Step) for line in program.lines)
        transfers = sum(isinstance(line, (Mv, MvNop)) for line in program.lines)
        print_json({"program": file.name, "mode": mode.value, "steps": steps, "transfers": transfers, "stream": stream})
    else:
        _write("".join(f"{line}\n" for line in stream), out)


def dis(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="An instruction stream, program text, model.app or codegen_dir.")
    ],
    out: Out = None,
    json: Json = False,
) -> None:
    """Disassemble to canonical program text; program text in other spellings becomes canonical too."""
    from isa.disassemble import disassemble
    from runtime.studies.programs import load_program

    if str(file) != "-" and (file.is_dir() or file.suffix in (".app", ".vsm")):
        program = load_program(file)
    else:
        from isa.commands.stream import load_stream

        program = load_stream(read_text(file).splitlines())
    text = disassemble(program)
    if json:
        print_json({"program": file.name, "lines": text.splitlines()})
    else:
        _write(text, out)


def judge(
    testcase: Annotated[Path, typer.Argument(metavar="TESTCASE", help="Test case with the insertion marker.")],
    solution: Annotated[Path, typer.Argument(metavar="SOLUTION.vsm", help="Program text; - reads standard input.")],
    enable_get: Annotated[bool, typer.Option("--enable-get", help="Keep the solution's `d get` lines.")] = False,
    enable_set: Annotated[bool, typer.Option("--enable-set", help="Keep its `d set` lines (never accepted).")] = False,
    json: Json = False,
) -> None:
    """Run a solution on a contest test case and print its score; exit code 1 when it is not accepted."""
    from isa.commands.judge import judge as run_judge

    verdict = run_judge(read_text(testcase), read_text(solution), enable_get=enable_get, enable_set=enable_set)
    if json:
        counts = {"score": verdict.score, "steps": verdict.steps, "transfers": verdict.transfers, "bytes": verdict.size}
        values = {"correct": verdict.correct, "mismatches": verdict.mismatches, "used_set": verdict.used_set}
        print_json({"accepted": verdict.accepted, **counts, **values, "dump": verdict.user_dump})
    else:
        for line in (*verdict.user_dump, *verdict.mismatches):
            print(line)
    if verdict.accepted:
        if not json:
            j, m, size = verdict.steps, verdict.transfers, verdict.size
            print(f"ACCEPTED!! score={verdict.score} j={j} m={m} bytes={size}")
    elif json:
        raise typer.Exit(FAILED)
    elif verdict.mismatches:
        raise CommandError(f"not accepted: {verdict.correct} values agree, {len(verdict.mismatches)} do not")
    else:
        raise CommandError("not accepted: a solution may not use `d set`")


def _write(text: str, out: Path | None) -> None:
    if out is None:
        sys.stdout.write(text)
    else:
        write_atomically(out, text)
