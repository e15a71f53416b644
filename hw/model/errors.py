"""What the time model refuses, with the source line."""

from __future__ import annotations


class ModelError(Exception):
    """A program that the time model cannot run.  `line` is the 1-based source line (0 = unknown)."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message, line)  # all arguments: SimPy and pickle rebuild exceptions from `args`
        self.line = line

    def __str__(self) -> str:
        return f"line {self.line}: {self.args[0]}" if self.line else str(self.args[0])


class DeadlockError(ModelError):
    """A `wait` for a tag that no earlier MV raises: the stream would stop for good (isa.md 2.5)."""


class TagError(ModelError):
    """A tag that was raised twice without a `wait` between is used again (isa.md 2.5, "double asserted")."""


class PlaceError(ModelError):
    """An MV names a group or bank that the chip does not have, or leaves out one that its form needs."""


class TransferError(ModelError):
    """An L1BM or L2BM item whose geometry matches no documented instruction."""


class PackingError(ModelError):
    """A step that the chosen packing mode cannot encode."""


class HostError(ModelError):
    """A host transfer whose size or tags make no sense."""


class StateError(ModelError):
    """The state of the engines was asked for where it cannot be handed over."""
