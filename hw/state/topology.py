"""Counts and capacities of a board: the only place of this room and of the engine where sizes are written down.

Sources: isa.md 1.1 and 1.2.  Capacities count long words unless the name says otherwise.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Protocol

from hw.state.errors import TopologyError


class Spec(Protocol):
    """What is needed of a chip description: whole numbers by dotted name (`hw.spec.ChipSpec` has it)."""

    def integer(self, name: str) -> int: ...


_SPEC_NAMES = {
    "groups": "topology.groups",
    "l2b_per_group": "topology.l2b_per_group",
    "l1b_per_l2b": "topology.l1b_per_l2b",
    "mabs": "topology.mab_per_l1b",
    "pes": "topology.pe_per_mab",
    "lm": "capacity.lm",
    "grf": "capacity.grf",
    "l1bm": "capacity.l1bm",
    "l2bm": "capacity.l2bm",
    "pdm": "capacity.pdm",
    "dram": "capacity.dram",
    "dar": "capacity.dar",
}
_FIXED = {"mabs": 16, "pes": 4}  # the tile of hw.kernels.abi
_POWERS_OF_TWO = ("lm", "grf", "l1bm", "l2bm")  # their addresses wrap by masking
_BLOCK = 16  # LW of a DRAM block, the unit of DAR entries


@dataclass(frozen=True, slots=True)
class Topology:
    """Sizes of a board.  TopologyError when a number is not supported."""

    groups: int = 4
    l2b_per_group: int = 2
    l1b_per_l2b: int = 8
    mabs: int = 16
    pes: int = 4
    lm: int = 2048
    grf: int = 256
    l1bm: int = 8192
    l2bm: int = 32768
    pdm: int = 524288
    dram: int = 2**29
    dar: int = 1024
    darbuf_words: int = 512

    @classmethod
    def of(cls, spec: Spec | None) -> Topology:
        """The sizes a chip description gives; the defaults without one."""
        if spec is None:
            return cls()
        return cls(**{name: spec.integer(dotted) for name, dotted in _SPEC_NAMES.items()})

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) < 1:
                raise TopologyError(f"{_SPEC_NAMES.get(field.name, field.name)} must be at least 1")
        for name, value in _FIXED.items():
            if getattr(self, name) != value:
                raise TopologyError(f"{_SPEC_NAMES[name]} = {getattr(self, name)}: the kernels are made for {value}")
        for name in _POWERS_OF_TWO:
            value = getattr(self, name)
            if value & (value - 1):
                raise TopologyError(f"{_SPEC_NAMES[name]} = {value}: expected a power of two")
        if self.dram % _BLOCK:
            raise TopologyError(f"{_SPEC_NAMES['dram']} = {self.dram}: expected a multiple of {_BLOCK}")

    @property
    def l2bs(self) -> int:
        """L2Bs of the board."""
        return self.groups * self.l2b_per_group

    @property
    def l1bs(self) -> int:
        """L1Bs of the board."""
        return self.l2bs * self.l1b_per_l2b
