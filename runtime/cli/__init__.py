"""The command `mncore2`: one verb per job (docs/studies.md, `mncore2 --help`).

Exit codes: 0 the job succeeded; 1 it failed (a program is refused, a model cannot be compiled, points of a study
failed); 2 the command line or a file it names is wrong; 130 interrupted from the keyboard.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command (default: the arguments of the process); returns its exit code.

    With MNCORE2_TRACEBACK=1 in the environment an error is raised instead of printed, for those who debug it.
    """
    try:
        # Imported here because half a second passes meanwhile, in which Ctrl-C must not print a traceback either.
        from runtime.cli.application import run_application

        return run_application(arguments)
    except KeyboardInterrupt:
        return 130
