"""`python -m runtime.studies.document docs/studies.md`: renew the tables of a page, each the result of a study.

A table stands between the lines `<!-- mncore2 sweep STUDY.toml … -->` and `<!-- end -->`; the path is relative to the page.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from runtime.files import write_atomically
from runtime.studies.run import StudyResult, run_study
from runtime.studies.study import read_study
from runtime.studies.summary import markdown

_TABLE = re.compile(r"(<!-- mncore2 sweep (\S+) [^\n]*-->\n).*?(<!-- end -->\n)", re.DOTALL)


def renewed(page: str, folder: Path) -> str:
    """The page with every table computed anew; `folder` is where the page stands."""
    return _TABLE.sub(lambda found: f"{found[1]}\n{markdown(_result(folder / found[2]).rows)}\n{found[3]}", page)


def _result(study: Path) -> StudyResult:
    with tempfile.TemporaryDirectory(prefix="mncore2-page-") as out:
        return run_study(read_study(study), Path(out))


def main(path: Path) -> int:
    """Rewrite one page."""
    write_atomically(path, renewed(path.read_text(encoding="utf-8"), path.parent))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
