"""Small programs and study files for the tests of studies."""

from __future__ import annotations

from pathlib import Path

# Two transfers that wait for each other's port, work beside them, and all four groups by name.
COPY = """\
#@layer load
mvp/n6400i01 $d0@0 $lc0@0.0
mvp/n640i02 $d0@3 $lc0@3.1
nop; wait i01
nop; wait i02
#@layer work
l2bmd $lc0 $lb0
nop/4
l1bmd $lb0 $lm0v
nop/8
"""
WORK = 'imm f"1.5" $lr0\nnop/2\nlpassa $lr0 $ln0\n'


def write_study(folder: Path, text: str, **programs: str) -> Path:
    """A study file, with program texts beside it as `<name>.vsm`."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, source in programs.items():
        (folder / f"{name}.vsm").write_text(source)
    path = folder / "study.toml"
    path.write_text(text)
    return path
