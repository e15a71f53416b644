"""Lock-step: values and time of a program run together, line by line, with observers.

`run` executes a program so that the data of every MV appear when the time model says that the MV completes;
`Lockstep` is the same, one event at a time.  `touched` says which cells a line reads and writes on the board as it is.
"""

from hw.lockstep.cells import Cells
from hw.lockstep.observer import Kind, Moment, Observer
from hw.lockstep.runner import Lockstep, LockstepResult, run
from hw.lockstep.schedule import Schedule, schedule
from hw.lockstep.stores import Store
from hw.lockstep.touch import touched

__all__ = [
    "Cells",
    "Kind",
    "Lockstep",
    "LockstepResult",
    "Moment",
    "Observer",
    "Schedule",
    "Store",
    "run",
    "schedule",
    "touched",
]
