"""`python -m tests.docs.refresh [PAGE ...]`: put the outputs of today into the pages (default: README.md and docs/).

Generated pages and parts are made anew, then every command of the page is run. Outputs that fit, `...` included, stay
as they are. The pages that changed are named; look at the difference before it is committed.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from runtime.files import write_atomically
from tests.docs.generated import GENERATED
from tests.docs.markdown import DOCS, ROOT, pages
from tests.docs.session import renewed


def fresh(page: Path) -> str:
    """The text that the page should have."""
    text = page.read_text(encoding="utf-8")
    if page.parent == DOCS and page.name in GENERATED:
        text = GENERATED[page.name](text)
    with tempfile.TemporaryDirectory(prefix="mncore2-page-") as folder:
        os.environ["MNCORE2_RUNTIME_DIR"] = f"{folder}/boards"  # every page finds all boards free
        (Path(folder) / "page").mkdir()
        return renewed(text, Path(folder) / "page")


def main(arguments: list[str] | None = None) -> int:
    """Renew pages; returns 0."""
    parser = argparse.ArgumentParser(prog="python -m tests.docs.refresh", description="Renew the outputs in the pages.")
    parser.add_argument("pages", nargs="*", type=Path, default=pages())
    for page in parser.parse_args(arguments).pages:
        text = fresh(page.resolve())
        if text != page.read_text(encoding="utf-8"):
            write_atomically(page, text)
            print(f"changed: {page.resolve().relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
