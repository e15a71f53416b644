"""Reading report.json back, from wherever a compilation put it, and checking that it adds up."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Any

from compiler.errors import CompilerError

NAME = "report.json"
_REQUIRED = ("vsm_cycles", "core_freq", "causes", "bounds", "units", "layers")


class ReportError(CompilerError):
    """There is no report, or what is there is none."""


def load_report(folder: str | Path) -> dict[str, Any]:
    """The report of a codegen_dir (or the file itself).

    Raises ReportError when it is missing, unreadable or from another version.  `check_report` tells whether it adds up.
    """
    path = Path(folder)
    if path.is_dir():
        path /= NAME
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ReportError(f"{path}: {error.strerror}{_hint(path)}") from error
    try:
        report = json.loads(text)
    except ValueError as error:
        raise ReportError(f"{path} is no JSON: {error}") from error
    if not isinstance(report, dict):
        raise ReportError(f"{path}: expected an object with {', '.join(_REQUIRED)}")
    missing = [key for key in _REQUIRED if key not in report]
    if missing:
        raise ReportError(f"{path} lacks {', '.join(missing)}; compile again to get a complete report")
    return report


def check_report(report: dict[str, Any]) -> list[str]:
    """What does not add up; empty when all is well."""
    from hw.model.report import problems

    found = problems(report)
    if "flops" in report:
        flops = sum(layer.get("flops", 0) for layer in report["layers"]) + report.get("flops_outside_layers", 0)
        if flops != report["flops"]:
            found.append(f"flops of the layers add up to {flops}, expected {report['flops']}")
    return found


def _hint(path: Path) -> str:
    """The nearest folder beside `path` that has a report."""
    around = path.parent.parent if path.name == NAME else path.parent
    found = {found.parent.name: found.parent for found in around.glob(f"*/{NAME}")} if around.is_dir() else {}
    near = difflib.get_close_matches(path.parent.name if path.name == NAME else path.name, found, n=1, cutoff=0.0)
    return f"; did you mean {found[near[0]]}?" if near else "; compile first, with codegen_dir set"
