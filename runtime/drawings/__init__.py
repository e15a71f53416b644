"""The pictures of the documentation, drawn from the chip's numbers: `python -m runtime.drawings docs/img`."""

from runtime.drawings.pictures import PICTURES

__all__ = ["PICTURES"]
