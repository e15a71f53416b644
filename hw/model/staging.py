"""A whole call from host memory to host memory: a program with its inputs and outputs staged through PDM (timing.md 7).

The host reaches only the PDM of group 0, so every image goes there in pieces, and `mvd` spreads a piece over the four
DRAMs (or gathers it).  Pieces use the PDM as a ring: the host sends ahead while earlier pieces move on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from hw.model.errors import HostError
from hw.model.host import HostTransfer, receive, send
from hw.program import Line, Mv, MvForm, MvPlace, Program, Region, Space, Step
from hw.spec import BYTES_PER_LW, ChipSpec

_MV_UNIT = 64
_MV_MOST = 32704
_TAGS = 256
_RING_MOST = 16


@dataclass(frozen=True, slots=True)
class Image:
    """A value in DRAM: `long_words` from `address` on in each of the groups."""

    name: str
    address: int
    long_words: int


@dataclass(frozen=True, slots=True)
class Call:
    """The program around which `host` moves data, for `simulate(program, spec, host=host)`."""

    program: Program
    host: tuple[HostTransfer, ...]


def staged(program: Program, spec: ChipSpec, inputs: Sequence[Image], outputs: Sequence[Image]) -> Call:
    """`program` with its inputs sent before it and its outputs received after it.

    Regions "host inputs" and "host outputs" hold the added lines.  HostError when the program leaves too few tags free.
    """
    used = {line.tag for line in program.lines if isinstance(line, Mv)}
    free = [tag for tag in range(1, _TAGS) if tag not in used]
    slots = min(_RING_MOST, spec.integer("capacity.pdm") // _MV_MOST)
    if not slots:
        raise HostError(f"capacity.pdm = {spec['capacity.pdm']}: staging needs at least {_MV_MOST} LW")
    if len(free) < 4 * slots:
        raise HostError(f"the program uses {len(used)} tags: expected at least {4 * slots} of {_TAGS - 1} to be free")
    groups = spec.integer("topology.groups")
    before, sends = _inputs(inputs, groups, free[:slots], free[slots : 2 * slots])
    after, receives = _outputs(outputs, groups, free[2 * slots : 3 * slots], free[3 * slots : 4 * slots])
    lines = (*before, *program.lines, *after)
    moved = [replace(region, start=region.start + len(before)) for region in program.regions]
    if not moved or moved[0].start > len(before):
        moved.insert(0, Region(len(before), "program"))
    regions = (Region(0, "host inputs"), *moved, Region(len(lines) - len(after), "host outputs"))
    return Call(replace(program, lines=lines, regions=regions), (*sends, *receives))


def _pieces(images: Sequence[Image], groups: int) -> Iterator[tuple[str, int, int]]:
    """(name, DRAM address, PDM long words) of every piece."""
    unit = _MV_UNIT // groups if _MV_UNIT % groups == 0 else _MV_UNIT
    most = _MV_MOST // (unit * groups) * unit
    for image in images:
        for first in range(0, image.long_words, most):
            count = min(most, image.long_words - first)
            yield image.name, image.address + first, -(-count // unit) * unit * groups


def _inputs(
    images: Sequence[Image], groups: int, arrived: Sequence[int], moved: Sequence[int]
) -> tuple[list[Line], list[HostTransfer]]:
    lines: list[Line] = []
    host: list[HostTransfer] = []
    pieces = list(_pieces(images, groups))
    for number, (name, address, size) in enumerate(pieces):
        slot = number % len(arrived)
        again = moved[slot] if number >= len(arrived) else 0  # the piece before in this slot has left
        host.append(send(size * BYTES_PER_LW, arrived[slot], after=again, label=name))
        lines.append(_wait(arrived[slot]))
        places = (MvPlace(Space.PDM, slot * _MV_MOST, 0), MvPlace(Space.DRAM, address))
        lines.append(Mv(MvForm.D_PDM_DRAM, size, *places, tag=moved[slot], text=f"mvd {name}"))
    left = range(max(0, len(pieces) - len(arrived)), len(pieces))
    return [*lines, *(_wait(moved[number % len(moved)]) for number in left)], host


def _outputs(
    images: Sequence[Image], groups: int, moved: Sequence[int], received: Sequence[int]
) -> tuple[list[Line], list[HostTransfer]]:
    lines: list[Line] = []
    host: list[HostTransfer] = []
    for number, (name, address, size) in enumerate(_pieces(images, groups)):
        slot = number % len(moved)
        if number >= len(moved):
            lines.append(_wait(received[slot]))
        places = (MvPlace(Space.DRAM, address), MvPlace(Space.PDM, slot * _MV_MOST, 0))
        lines.append(Mv(MvForm.D_DRAM_PDM, size, *places, tag=moved[slot], text=f"mvd {name}"))
        host.append(receive(size * BYTES_PER_LW, received[slot], after=moved[slot], label=name))
    return lines, host


def _wait(tag: int) -> Step:
    return Step(nop=True, wait=tag, text=f"nop; wait i{tag:02x}")
