"""The machine in time: a SimPy model of the instruction stream, the MV engines, the memories and the host link."""

from hw.events import Bound, Cause, RegionTime
from hw.model.errors import (
    DeadlockError,
    HostError,
    ModelError,
    PackingError,
    PlaceError,
    StateError,
    TagError,
    TransferError,
)
from hw.model.eventlog import STREAM_TRACK
from hw.model.host import Direction, HostTransfer, receive, send
from hw.model.simulate import simulate, simulate_stream
from hw.model.staging import Call, Image, staged
from hw.model.state import IDLE, EngineState
from hw.model.stream import Stream, lower
from hw.model.times import HostTime, TransferTime
from hw.model.timing import Timing

__all__ = [
    "IDLE",
    "STREAM_TRACK",
    "Bound",
    "Call",
    "Cause",
    "DeadlockError",
    "Direction",
    "EngineState",
    "HostError",
    "HostTime",
    "HostTransfer",
    "Image",
    "ModelError",
    "PackingError",
    "PlaceError",
    "RegionTime",
    "StateError",
    "Stream",
    "TagError",
    "Timing",
    "TransferError",
    "TransferTime",
    "lower",
    "receive",
    "send",
    "simulate",
    "simulate_stream",
    "staged",
]
