"""What a program can do wrong while it runs, or when it is lowered."""

from __future__ import annotations


class EngineError(Exception):
    """Base of this room's errors.  `line` is the 1-based source line (0 when the program has none)."""

    def __init__(self, message: str, line: int = 0, text: str = "") -> None:
        where = f"line {line}: " if line else ""
        shown = f" [{text}]" if text else ""
        super().__init__(f"{where}{message}{shown}")
        self.line = line
        self.text = text


class LoweringError(EngineError):
    """A decoded line that no MN-Core 2 step can be: a unit used twice, missing operands, too many sources."""


class Deadlock(EngineError):
    """A `wait` for a tag that no earlier MV has raised, or that a `wait` has consumed already (isa.md 2.5)."""


class TagReuse(EngineError):
    """A tag was raised twice without a wait between, then waited for or raised once more (isa.md 2.5)."""


class InvalidLatch(EngineError):
    """`$aluf` or `$mauf` was read though its unit never ran or was idle in the last step that counts (isa.md 3.11)."""


class MixedExponents(EngineError):
    """A matrix operation met a block whose elements have different exponents (isa.md 9.4, 19.9)."""

    def __init__(self, message: str, line: int, text: str, place: tuple[int, int, int, int]) -> None:
        n, c, b, m = place
        super().__init__(f"{message} at group {n}, L2B {c}, L1B {b}, MAB {m}", line, text)
        self.place = place
