"""The machine in time: a SimPy model of the instruction stream and the MV engines."""

from hw.events import Cause, RegionTime
from hw.model.errors import DeadlockError, ModelError, PlaceError, TagError, TransferError
from hw.model.sequencer import TransferTime
from hw.model.simulate import simulate, simulate_stream
from hw.model.stream import Stream, lower
from hw.model.timing import Timing

__all__ = [
    "Cause",
    "DeadlockError",
    "ModelError",
    "PlaceError",
    "RegionTime",
    "Stream",
    "TagError",
    "Timing",
    "TransferError",
    "TransferTime",
    "lower",
    "simulate",
    "simulate_stream",
]
