"""The application: verbs, and the one place where errors become messages and exit codes."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, TextIO

import typer

from runtime.cli import (
    assembly,
    bench,
    compile_bench,
    compile_onnx,
    config,
    coverage,
    debug,
    explain,
    fuzz,
    plot,
    records,
    report,
    run,
    sweep,
    trace,
)
from runtime.cli.errors import FAILED, INTERRUPTED, OK, exit_code_of, message_of
from runtime.cli.output import say

TRACEBACK = "MNCORE2_TRACEBACK"

app = typer.Typer(
    name="mncore2",
    epilog="Exit codes: 0 done, 1 the job failed, 2 wrong command line or file, 130 interrupted.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_VERBS = (
    run,
    assembly,
    debug,
    explain,
    compile_onnx,
    compile_bench,
    report,
    plot,
    trace,
    sweep,
    bench,
    fuzz,
    coverage,
    records,
    config,
)
for verb in _VERBS:
    verb.add_to(app)


def _print_config(wanted: bool) -> None:
    if wanted:
        config.config()
        raise typer.Exit


@app.callback()
def options(
    print_config: Annotated[
        bool,
        typer.Option("--print-config", is_eager=True, callback=_print_config, help="The same as `config`, then end."),
    ] = False,
) -> None:
    """A simulator of the MN-Core 2 processor: values exact to the bit, time in cycles."""


def run_application(arguments: Sequence[str] | None = None) -> int:
    """What `runtime.cli.main` does, once everything is imported."""
    with warnings.catch_warnings():
        warnings.showwarning = _show_warning
        try:
            app(None if arguments is None else list(arguments), prog_name="mncore2")
        except SystemExit as end:
            return end.code if isinstance(end.code, int) else OK if end.code is None else FAILED
        except KeyboardInterrupt:
            say("interrupted")
            return INTERRUPTED
        except BrokenPipeError:
            # The reader has seen enough (`| head`); nothing may be written at exit either.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return OK
        except Exception as error:
            if os.environ.get(TRACEBACK):
                raise
            code = exit_code_of(error)
            if code is None:
                say(f"internal error: {type(error).__name__}: {error}\n(set {TRACEBACK}=1 to see where)")
                return FAILED
            say(f"error: {message_of(error)}")
            return code
    return OK


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Our own warnings name the program's line already; where in our sources they arose tells a user nothing."""
    say(f"warning: {message}")
