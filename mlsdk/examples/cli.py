"""What the command lines of the examples share: device, folder, option file, and errors as one message."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mlsdk.errors import MLSDKError

DEVICES = "mncore2:auto, mncore2:<index>, emu2, pfvm:cpu, pfvm:cuda"


def parser(description: str | None, name: str) -> argparse.ArgumentParser:
    """A parser with --device, --outdir (default out/<name>) and --option_json; the rest is the example's own."""
    made = argparse.ArgumentParser(description=(description or "").splitlines()[0])
    made.add_argument("--device", default="mncore2:auto", help=DEVICES)
    made.add_argument("--outdir", type=Path, default=Path("out") / name, help="folder for artifacts")
    made.add_argument("--option_json", type=Path, help="file with compile options, or a preset")
    return made


def positive(text: str) -> int:
    """A whole number above zero, for argparse."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, got {number}")
    return number


def options_of(arguments: argparse.Namespace) -> dict[str, Any]:
    """Compile options that the command line asks for."""
    return {"option_json": str(arguments.option_json)} if arguments.option_json else {}


def run(main: Callable[[argparse.Namespace], Any], arguments: argparse.Namespace) -> None:
    """Run an example; what goes wrong is said in one line, an interrupt ends with 130."""
    try:
        main(arguments)
    except (MLSDKError, OSError) as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(130)
