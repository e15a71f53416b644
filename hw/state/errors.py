"""What can go wrong with a board: an unsupported chip size, a place that does not exist, an unknown option."""

from __future__ import annotations


class StateError(Exception):
    """Base of all errors of this room."""


class TopologyError(StateError):
    """A chip description asks for sizes that the value engine does not support.  The message names the number."""


class PlaceError(StateError, IndexError):
    """An access names an L2B, L1B, MAB, PE or address that the board does not have."""


class OptionError(StateError, ValueError):
    """An unknown off-chip initialisation mode.  The message lists the modes."""
