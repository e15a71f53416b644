"""The memories of a whole MN-Core 2 board as numpy arrays: `Board`, its `Topology` and the `Memory` names."""

from __future__ import annotations

from hw.state.board import Board, LatchState
from hw.state.errors import PlaceError, StateError, TopologyError
from hw.state.memory import Memory
from hw.state.offchip import OffchipInit
from hw.state.topology import Topology

__all__ = [
    "Board",
    "LatchState",
    "Memory",
    "OffchipInit",
    "PlaceError",
    "StateError",
    "Topology",
    "TopologyError",
]
