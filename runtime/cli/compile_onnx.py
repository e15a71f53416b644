"""`mncore2 compile`: an ONNX file becomes a folder with its program, report and trace."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from runtime.cli.arguments import Json
from runtime.cli.errors import CommandError, UsageError, existing
from runtime.cli.output import print_json, print_table, say
from runtime.compiling import APP, OPTIMISED, compile_folder
from runtime.files import write_atomically
from runtime.progress import watching

if TYPE_CHECKING:
    import onnx

    from compiler.options import Options

LISTING = "artifacts.json"


def add_to(app: typer.Typer) -> None:
    """Register the verb."""
    app.command("compile")(compile_onnx)


def compile_onnx(
    model: Annotated[Path, typer.Argument(metavar="MODEL.onnx", help="A model with static shapes.")],
    outdir: Annotated[Path, typer.Option("--outdir", metavar="DIR", help="Folder of all artifacts.")],
    option: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="NAME=VALUE", help="A compile option or variable (docs/options.md)."),
    ] = None,
    option_json: Annotated[
        str | None,
        typer.Option("--option_json", "--option-json", metavar="FILE", help="Option file or preset O0 to O4, debug."),
    ] = None,
    cache: Annotated[
        Path | None, typer.Option("--cache", metavar="DIR", help="Folder of earlier results that may be used again.")
    ] = None,
    json: Json = False,
) -> None:
    """Compile an ONNX model for the chip."""
    options = _options(option or [], option_json)
    source = read_model(existing(model, "model"))
    for notice in options.notices():
        say(notice)
    with _alarm(options["CODEGEN_ALARM"]), watching("compiling") as watcher, _staged(outdir) as stage:
        report = compile_folder(source, options, stage, cache=cache, watcher=watcher).report
    _copy_optimised(options["out_onnx"], outdir / OPTIMISED)
    files = sorted(str(path.relative_to(outdir)) for path in outdir.rglob("*") if path.is_file())
    if json:
        print_json({"outdir": str(outdir), "files": files, "report": report})
        return
    rows = [(phase["name"], phase["status"], phase["seconds"]) for phase in report.get("phases", ())]
    print_table(f"{model.name} -> {outdir}", ("phase", "status", "seconds"), rows)
    print(f"{report['vsm_cycles']:,} cycles; `mncore2 report {outdir}` tells where they go")


def _options(texts: Sequence[str], file: str | None) -> Options:
    """Options of the command line; OptionError names what does not exist."""
    from compiler.options import Options
    from compiler.options.resolve import VARIABLE_RECORDS

    given: dict[str, Any] = {}
    envs: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise UsageError(f"--option {text}: expected NAME=VALUE, for example scheduler=reuse_consecutive")
        (envs if name in VARIABLE_RECORDS else given)[name] = value
    if envs:
        given["envs"] = envs
    if file is not None:
        given["option_json"] = file
    return Options.resolve(given, os.environ)


def read_model(path: Path) -> onnx.ModelProto:
    """The model in a file.  Raises CommandError for what is none."""
    import onnx
    from google.protobuf.message import DecodeError

    try:
        model = onnx.load(path)
    except (DecodeError, ValueError) as error:
        raise CommandError(f"{path} is no ONNX model: {error}") from error
    if not model.graph.node:
        raise CommandError(f"{path} is no ONNX model, or an empty one: it has no nodes")
    return model


def _copy_optimised(wanted: str | None, present: Path) -> None:
    """Honour `out_onnx`: the optimised model also at the path the user asked for."""
    if wanted is not None and Path(wanted).resolve() != present.resolve():
        try:
            write_atomically(Path(wanted), present.read_bytes())
        except OSError as error:
            raise CommandError(f"out_onnx: cannot write {wanted}: {error.strerror}") from error


@contextmanager
def _alarm(seconds: int | None) -> Iterator[None]:
    """Stop the block after some seconds (CODEGEN_ALARM, seed 4.2.3.22); 0 or None is no limit."""
    if not seconds:
        yield
        return

    def ring(number: int, frame: object) -> None:
        raise CommandError(f"CODEGEN_ALARM: the compilation took more than {seconds} s and was stopped")

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _staged(target: Path) -> Iterator[Path]:
    """An empty folder beside `target`; its files move into `target`, the program last, when the block ends well."""
    if target.exists() and not target.is_dir():
        raise UsageError(f"--outdir {target} exists and is not a folder")
    target.parent.mkdir(parents=True, exist_ok=True)
    stage = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}-"))
    try:
        yield stage
        target.mkdir(exist_ok=True)
        # A reader must not take the old program, or the old list of files, for those of the new artifacts.
        for name in (LISTING, APP):
            (target / name).unlink(missing_ok=True)
        for path in sorted(stage.rglob("*"), key=lambda path: (path.name == APP, path)):
            if path.is_file():
                place = target / path.relative_to(stage)
                place.parent.mkdir(parents=True, exist_ok=True)
                os.replace(path, place)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
