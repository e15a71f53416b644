"""Writes the `nop` lines that hazard distances need into a program's text, and changes nothing else."""

from __future__ import annotations

from hw.sanitizer.hazards import check
from isa.assemble import assemble


def with_nops(text: str) -> str:
    """The text with `nop/N` in front of every line that comes too early; text without hazards comes back unchanged.

    Raises AsmError for text that is refused for other reasons.  A violation of one line alone cannot be mended this
    way and stays for the assembler to report.
    """
    lines = text.splitlines()
    while True:
        violations = [v for v in check(assemble("\n".join(lines), check_hazards=False)) if v.missing > 0]
        if not violations:
            return "\n".join(lines) + "\n" if lines else text
        first = min(v.line for v in violations)
        missing = max(v.missing for v in violations if v.line == first)
        lines.insert(first - 1, "nop" if missing == 1 else f"nop/{missing}")
