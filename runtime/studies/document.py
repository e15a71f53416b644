"""`python -m runtime.studies.document docs/studies.md`: renew the tables of a page, each the result of a study.

A table stands between `<!-- mncore2 sweep STUDY.toml … -->` and `<!-- end -->`; the path is relative to the page.
With matplotlib, `img/study_<name of the file>.png` is drawn anew where the page shows it.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from runtime.figures import available
from runtime.files import write_atomically
from runtime.studies.plots import write_plots
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
    page = path.read_text(encoding="utf-8")
    write_atomically(path, renewed(page, path.parent))
    for stem in re.findall(r"\(img/study_(\w+)\.png\)", page) if available() else ():
        _draw(path.parent / "studies" / f"{stem}.toml", path.parent / "img" / f"study_{stem}.png")
    return 0


def _draw(study: Path, picture: Path) -> None:
    """The first plot of a study: where the cycles of its first program go."""
    with tempfile.TemporaryDirectory(prefix="mncore2-page-") as out:
        result = _result(study)
        write_atomically(picture, write_plots(result.rows, [], Path(out))[0].read_bytes())


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
