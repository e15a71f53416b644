"""The command `mncore2`: one verb per job (docs/studies.md, `mncore2 --help`).

Exit codes: 0 the job succeeded; 1 it failed (a program is refused, a model cannot be compiled, points of a study
failed); 2 the command line or a file it names is wrong; 130 interrupted from the keyboard.
"""

from runtime.cli.main import main

__all__ = ["main"]
