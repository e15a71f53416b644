"""One violation found while a program runs, and how it is put into words."""

from __future__ import annotations

from dataclasses import dataclass

from hw.lockstep.cells import Spot


@dataclass(frozen=True, slots=True)
class Finding:
    """A violation.

    rule: `family/name`, e.g. ``uninitialised/read``.  line, text: the source line and the item or MV.  spot: the first
    cell concerned, None where no cell is.  others: how many more PEs (or L1Bs, L2Bs, groups) are concerned alike.
    what: what is wrong, with "{spot}" for the cell.  hint: what to do.
    """

    rule: str
    line: int
    text: str
    what: str
    hint: str
    spot: Spot | None = None
    others: int = 0

    @property
    def family(self) -> str:
        """Part of the rule before the slash."""
        return self.rule.partition("/")[0]

    @property
    def location(self) -> str:
        """The cell with every level spelled out, "" without one."""
        if self.spot is None:
            return ""
        names = ("group", "L2B", "L1B", "MAB", "PE")
        place = ", ".join(f"{name} {index}" for name, index in zip(names, self.spot.place, strict=False))
        return f"{place}, {self.spot.name}"

    @property
    def message(self) -> str:
        """One sentence with line, text, cell, rule and remedy."""
        where = ""
        if self.spot is not None:
            where = str(self.spot)
            if self.others:
                where += f" (and {self.others} more alike)"
        shown = f" `{self.text}`" if self.text else ""
        return f"line {self.line}:{shown} {self.what.format(spot=where)}; {self.hint} [{self.rule}]"

    def __str__(self) -> str:
        return self.message
