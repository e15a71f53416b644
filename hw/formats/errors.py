"""Errors of the number-format room."""

from __future__ import annotations


class FormatError(ValueError):
    """Base of all errors raised by `hw.formats`."""


class MixedBlockError(FormatError):
    """Elements of one block-float block have different exponents (numerics.md 1.2)."""

    def __init__(self, element: int, exponent: int, common: int) -> None:
        super().__init__(
            f"element {element} of a block has exponent field {exponent}, expected the common exponent {common}; "
            "convert the block with bfn (or bfe) first"
        )
        self.element = element


class LiteralError(FormatError):
    """A text that is no floating-point literal (numerics.md 10)."""
