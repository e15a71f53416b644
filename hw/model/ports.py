"""The ports of a chip by number: DRAM, PDM, the MV side of each L2BM, and the links between groups."""

from __future__ import annotations

from collections.abc import Iterable

from hw.spec import ChipSpec


class PortMap:
    """One port per DRAM, PDM and L2BM; a ring or, without `ring.shared`, a link out of and into every group.

    With `pdm.cross_port` every PDM has a second port for what crosses groups.  `names` are the names by number.
    """

    def __init__(self, spec: ChipSpec) -> None:
        self.groups = spec.integer("topology.groups")
        self.banks = spec.integer("topology.l2b_per_group")
        self._names: list[str] = []
        self._groups: list[int | None] = []
        everyone = range(self.groups)
        self._dram = self._add([f"DRAM g{g}" for g in everyone], everyone)
        self._pdm = self._add([f"PDM g{g}" for g in everyone], everyone)
        self._pdm_cross = self._pdm
        if spec.integer("pdm.cross_port"):
            self._pdm_cross = self._add([f"PDM g{g} cross" for g in everyone], everyone)
        names = [f"L2BM g{g}.{bank}" for g in everyone for bank in range(self.banks)]
        self._l2bm = self._add(names, [g for g in everyone for _ in range(self.banks)])
        self._ring: int | None = None
        self.memory_ports = len(self._names)
        """Ports with a smaller number belong to memories, the others to links."""
        if spec.integer("ring.shared"):
            self._ring = self._add(["ring"], [None])
        else:
            self._out = self._add([f"link g{g} out" for g in everyone], [None] * self.groups)
            self._in = self._add([f"link g{g} in" for g in everyone], [None] * self.groups)
        self.names = tuple(self._names)

    def _add(self, names: Iterable[str], groups: Iterable[int | None]) -> int:
        first = len(self._names)
        self._names += names
        self._groups += groups
        return first

    def dram(self, group: int) -> int:
        """Port of the DRAM of a group."""
        return self._dram + group

    def pdm(self, group: int, crossing: bool = False) -> int:
        """Port of the PDM of a group, for a transfer inside the group or one that crosses groups."""
        return (self._pdm_cross if crossing else self._pdm) + group

    def l2bm(self, group: int, bank: int) -> int:
        """MV port of one L2BM."""
        return self._l2bm + group * self.banks + bank

    def group_of(self, port: int) -> int | None:
        """Group whose memory a port belongs to; None for links."""
        return self._groups[port]

    def links(self, reading: Iterable[int], writing: Iterable[int]) -> list[int]:
        """Links between groups that a transfer holds which reads in and writes to these groups."""
        sources, targets = set(reading), set(writing)
        if self._ring is not None:
            return [self._ring]
        out = [self._out + g for g in sorted(sources) if targets - {g}]
        return out + [self._in + g for g in sorted(targets) if sources - {g}]
