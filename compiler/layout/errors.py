"""Errors of the layout room: every refusal of a layout, a place or an image is one of these."""

from __future__ import annotations


class LayoutError(ValueError):
    """A layout text, a layout or a pair of shape and layout that means nothing; the message says what was expected."""


class ImageError(LayoutError):
    """A value that has no DRAM image, or an array that does not fit the image it was given to."""
