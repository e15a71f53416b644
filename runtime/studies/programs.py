"""Programs of a study: from a name, a path or a pattern to the reduced program that the time model takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hw.model import Stream, lower
from runtime.app import VSM, App
from runtime.errors import did_you_mean
from runtime.studies.errors import ProgramFileError
from runtime.studies.eval_step import NAME as EVAL_STEP

if TYPE_CHECKING:
    from hw.program import Program

APP = "model.app"


@dataclass(frozen=True)
class StudyProgram:
    """A program by name and, reduced to what time depends on, as data that can travel to other processes."""

    name: str
    stream: Stream


def load_program(path: Path) -> Program:
    """The program in a VSM file, a `model.app` or a codegen_dir (its `model.app`, else its `model.vsm`).

    Raises ProgramFileError for a path without a program, AppFileError for a damaged one, AsmError for refused text.
    """
    if path.is_dir():
        inside = [path / name for name in (APP, VSM) if (path / name).is_file()]
        if not inside:
            raise ProgramFileError(f"{path} holds neither {APP} nor {VSM}: nothing was compiled there")
        return load_program(inside[0])
    if not path.exists():
        names = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
        raise ProgramFileError(f"there is no file {path}{did_you_mean(path.name, names)}")
    if path.suffix == ".app":
        app = App.load(path)
        if app.kind != "vsm":
            raise ProgramFileError(f"{path} was compiled for a pfvm device, it holds no chip program")
        return app.program
    from isa.assemble import assemble

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ProgramFileError(f"{path} is no readable program text: {error}") from error
    return assemble(text, name=path.name)


def study_program(name: str, program: Program) -> StudyProgram:
    """A decoded program, reduced."""
    return StudyProgram(name, _portable(lower(program)))


def find_programs(entries: Sequence[str], folder: Path) -> list[StudyProgram]:
    """All programs of a study: `eval_step`, and paths or patterns relative to `folder`.  Names are unique."""
    found: dict[str, StudyProgram] = {}
    for entry in entries:
        for name, program in _programs_of(entry, folder):
            if name in found:
                raise ProgramFileError(f"two programs of the study are called {name}")
            found[name] = study_program(name, program)
    return list(found.values())


def _programs_of(entry: str, folder: Path) -> list[tuple[str, Program]]:
    if entry == EVAL_STEP and not (folder / entry).exists():
        from runtime.studies.eval_step import eval_step_program

        return [(entry, eval_step_program())]
    if any(sign in entry for sign in "*?["):
        given = Path(entry)
        root = Path(given.anchor) if given.is_absolute() else folder
        paths = sorted(root.glob(str(given.relative_to(given.anchor) if given.is_absolute() else given)))
        if not paths:
            raise ProgramFileError(f"no file matches {entry} (in {folder})")
        return [(str(path.relative_to(root)), load_program(path)) for path in paths]
    return [(entry, load_program(folder / entry))]


def _portable(stream: Stream) -> Stream:
    """Without the reduction kernels of MVs: they hold functions, which cannot be sent, and time does not need them."""
    return replace(stream, mvs=tuple(replace(mv, first=None, last=None) for mv in stream.mvs))
