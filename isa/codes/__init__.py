"""The codes of refusals and findings: what each means, a program that breaks the rule, one that keeps it, what to do.

The texts come from where the rule is: the message is the one that the assembler or the sanitizer gives for the example,
hazard rows speak through `hw.sanitizer.rules`.  Only the examples are written down, in codes.toml.
"""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Literal

from isa.errors import AsmError, IsaError, nearest

if TYPE_CHECKING:
    from hw.sanitizer.runtime import Finding

ASSEMBLER = "assembler"

FAMILIES = {
    "address": "an address is outside its memory, badly aligned, or names a part the board does not have",
    "debug": "a `d` line cannot be read",
    "forwarding": "a forwarding latch is read that its unit has not written in the step before",
    "hazard": "two lines are too close: the chip does not wait for a value or a port, the program has to",
    "item": "an item has no meaning: its name, or the number of its operands",
    "l1bm": "a transfer between PEs and L1BM has the wrong width or direction",
    "l2bm": "a transfer between L1BM and L2BM has the wrong width",
    "latch": "a forwarding latch is read before anything was written to it",
    "line": "items cannot share this line",
    "literal": "an immediate cannot be read or does not fit its type",
    "mask": "a mask cannot be read, has no place there, or contradicts another one",
    "matrix": "an access to the matrix registers has the wrong width, row or destination",
    "mode": "the chosen instruction mode cannot encode this",
    "mv": "an MV line is badly formed, or its data are used while it is under way",
    "operand": "an operand cannot be read, or may not stand in this place",
    "port": "a memory or register file is used more often in a step than it has ports",
    "suffix": "a suffix of the instruction is missing or out of range",
    "turnaround": "the turnaround register is read before it was written, or in another form",
    "uninitialised": "a value is used that nothing has written",
    "wait": "a `wait` names no tag",
}


class UnknownCode(IsaError, LookupError):
    """There is no such code."""


@dataclass(frozen=True, slots=True)
class Code:
    """One rule.  found: by the assembler or in a run.  wrong, right: programs; mode: the instruction mode for them."""

    name: str
    found: Literal["assembler", "run"]
    wrong: str
    right: str
    mode: Literal["flat", "auto_stride"] = "flat"

    @property
    def family(self) -> str:
        """The part before the slash."""
        return self.name.partition("/")[0]

    @property
    def meaning(self) -> str:
        """One sentence: for hazards the row of the table, else what the family is about."""
        if self.family != "hazard":
            return FAMILIES[self.family]
        from hw.sanitizer import RULES

        row = int(self.name.partition("/")[2])
        return "; ".join(dict.fromkeys(rule.what for rule in RULES if rule.row == row))

    def message(self) -> str:
        """What the assembler or the sanitizer says about the wrong program, with the remedy; "" if it is accepted."""
        if self.found == ASSEMBLER:
            from isa.assemble import assemble

            try:
                assemble(self.wrong, mode=self.mode)
            except AsmError as error:
                return str(error) if error.rule == self.name else ""
            return ""
        return next((str(finding.message) for finding in findings(self.wrong) if finding.rule == self.name), "")


def findings(program: str) -> list[Finding]:
    """What the run-time sanitizers say about a program, all of it."""
    from isa.debugger import sanitize

    return sanitize(program, mode="warn", output=[])


@lru_cache(maxsize=1)
def codes() -> dict[str, Code]:
    """All codes by name."""
    text = (files(__name__) / "codes.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    return {
        name: Code(name, row.get("found", ASSEMBLER), row["wrong"], row["right"], row.get("mode", "flat"))
        for name, row in table.items()
    }


def code_named(name: str) -> Code:
    """The code of this name, in brackets or not; `hazard 3` is `hazard/3`.  Raises UnknownCode, naming the nearest."""
    plain = name.strip().strip("[]").replace(" ", "/")
    known = codes()
    if plain not in known:
        near = nearest(plain, known)
        hint = f"; did you mean `{near}`?" if near else ""
        raise UnknownCode(f"there is no code `{name}`{hint} (`mncore2 explain` lists all)")
    return known[plain]
