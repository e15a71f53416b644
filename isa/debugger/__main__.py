"""``python -m isa.debugger FILE``: debug a VSM program in the terminal."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from isa.debugger.debugger import Debugger
from isa.debugger.shell import read_program, run


def main(arguments: Sequence[str] | None = None) -> int:
    """Parse the command line and run the loop; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m isa.debugger", description="Step through a VSM program in lock-step with the time model."
    )
    parser.add_argument("file", help="program text (VSM)")
    parser.add_argument(
        "--check", choices=("off", "warn", "strict"), default="off", help="run the sanitizers (default off)"
    )
    parser.add_argument("--no-hazards", action="store_true", help="take programs that break hazard distances")
    options = parser.parse_args(arguments)
    terminal = sys.stdin.isatty()
    if terminal:
        import readline  # noqa: F401  # line editing and history of `input`
    return run(
        lambda: Debugger(read_program(options.file), check=options.check, hazards=not options.no_hazards),
        None if terminal else sys.stdin,
    )


if __name__ == "__main__":
    sys.exit(main())
