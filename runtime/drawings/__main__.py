"""`python -m runtime.drawings [FOLDER]`: draw every picture into a folder (default: docs/img)."""

from __future__ import annotations

import sys
from pathlib import Path

from hw.spec import default_spec
from runtime.drawings.pictures import PICTURES
from runtime.files import write_atomically


def main(folder: Path) -> int:
    """Write the pictures; returns 0."""
    for name, draw in PICTURES.items():
        write_atomically(folder / f"{name}.svg", draw(default_spec()).file())
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/img")))
