"""Pages and parts of pages that are made from records; each is held to its records by a test beside them."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.docs.markdown import DOCS, ROOT


def _cycles(text: str) -> str:
    from hw.spec import default_spec
    from hw.spec.table import replace_table

    return _studies(replace_table(text, default_spec()))


def _instructions(_: str) -> str:
    from isa.reference import page

    return page()


def _operators(_: str) -> str:
    from compiler.operators import page

    return page()


def _options(_: str) -> str:
    from compiler.options.document import document

    return document()


def _records(_: str) -> str:
    from compiler.records.document import page
    from compiler.records.problems import PROBLEMS
    from compiler.records.runner import measure

    hand = json.loads((ROOT / "traces" / "records_mnist" / "records.json").read_text(encoding="utf-8"))
    return page(hand, [measure(problem) for problem in PROBLEMS])


def _studies(text: str) -> str:
    from runtime.studies.document import renewed

    return renewed(text, DOCS)


GENERATED: dict[str, Callable[[str], str]] = {
    "cycles.md": _cycles,
    "instructions.md": _instructions,
    "operators.md": _operators,
    "options.md": _options,
    "records.md": _records,
    "studies.md": _studies,
}
"""Name of a page in docs/ -> what makes its text of today from the present one."""
