"""A broken rule, and how it is put into words."""

from __future__ import annotations

from dataclasses import dataclass

from hw.sanitizer.resources import UNITS, Res, name


@dataclass(frozen=True, slots=True)
class Violation:
    """One broken rule.

    rule: `"hazard 3"` (row of hazards.md) or `"line: one item per unit"` and the like for rules of a single line.
    line, earlier_line: 1-based source lines; equal for rules of one line.
    found, required: distance in steps (1 = next line); both 0 for rules of one line.
    address: the lowest common address of the worst pair of cycles, None where the rule holds at any address.
    """

    rule: str
    line: int
    earlier_line: int
    resource: Res | None
    address: int | None
    found: int
    required: int
    what: str
    earlier_text: str = ""
    text: str = ""

    @property
    def missing(self) -> int:
        """Steps that have to come in between (`nop/missing` in front of `line`)."""
        return self.required - self.found

    @property
    def message(self) -> str:
        """One sentence with both lines, the resource, the distances and the repair."""
        if self.required == 0:
            return f"line {self.line}: {self.what} [{self.rule}]"
        where = "" if self.resource is None else name(self.resource)
        if self.resource is not None and self.address is not None:
            where += f" {UNITS.get(self.resource, 'long word')} {self.address}"
        steps = "1 step" if self.found == 1 else f"{self.found} steps"
        return (
            f"line {self.line} touches {where} {steps} after line {self.earlier_line}, needs {self.required}: "
            f"{self.what}; insert nop/{self.missing} before line {self.line} [{self.rule}]"
        )
