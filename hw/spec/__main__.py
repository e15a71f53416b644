"""`python -m hw.spec`: print the chip description, with overrides, as text, Markdown or JSON."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from hw.spec.chip import ChipSpec, parse_assignments
from hw.spec.errors import SpecError
from hw.spec.table import as_dict, markdown_table, replace_table, text_table


def main(arguments: list[str] | None = None) -> int:
    """Print; 0, or 2 with a message on stderr when an override is not possible."""
    parser = argparse.ArgumentParser(prog="python -m hw.spec", description="print the numbers of the chip")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="replace a number")
    parser.add_argument("--into", type=Path, metavar="PAGE", help="replace the table of numbers in a Markdown page")
    parser.add_argument("--file", type=Path, help="another chip file")
    style = parser.add_mutually_exclusive_group()
    style.add_argument("--markdown", action="store_true")
    style.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    try:
        spec = ChipSpec.load(parse_assignments(options.set), path=options.file)
        if options.into is not None:
            page = replace_table(options.into.read_text(encoding="utf-8"), spec)
            options.into.write_text(page, encoding="utf-8")
            return 0
    except SpecError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(as_dict(spec), indent=2))
    else:
        print(markdown_table(spec) if options.markdown else text_table(spec))
    return 0


if __name__ == "__main__":
    sys.exit(main())
