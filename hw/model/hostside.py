"""The host's side of the board: the DMA of host transfers and the feeding of instruction packets over PCIe.

Both share the link towards the board piece by piece; the other direction is the receives' own.  Behind the link a piece
of a host transfer passes the PDM port of group 0, ranked with the MVs as priority 0, while the next one is on the link.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from typing import Any

import simpy
from simpy.events import Event

from hw.model.arbiter import PortArbiter
from hw.model.errors import DeadlockError
from hw.model.host import Direction, HostTransfer
from hw.model.link import Link
from hw.model.ports import PortMap
from hw.model.tags import TagTable, Ticket
from hw.model.times import HostTime
from hw.spec import BYTES_PER_LW, ChipSpec

DOWN, UP = "PCIe down", "PCIe up"
_AFTER_MVS = 1 << 40  # order among requests of equal rank


class InstructionFeed:
    """`packets` packets through a FIFO; the first one is there at cycle 0, which is when time starts to count."""

    def __init__(self, env: simpy.Environment, spec: ChipSpec, link: Link, packets: int) -> None:
        self._nbytes = spec.integer("stream.packet_bytes")
        depth = spec.integer("stream.fifo_packets")
        first = min(packets, 1)
        self._ready = simpy.Container(env, capacity=depth, init=first)
        self._room = simpy.Container(env, capacity=depth, init=depth - first)
        self._link = link
        if packets > 1:
            env.process(self._feed(packets - 1))

    def _feed(self, packets: int) -> Generator[Event, Any, None]:
        for _ in range(packets):
            yield self._room.get(1)
            yield from self._link.carry(self._nbytes, "instructions")
            yield self._ready.put(1)

    def take(self) -> Generator[Event, Any, None]:
        """Wait until the next packet is there and make room for another one."""
        yield self._ready.get(1)
        yield self._room.put(1)


class HostDma:
    """The host transfers of one simulation, one queue per direction."""

    def __init__(
        self,
        env: simpy.Environment,
        spec: ChipSpec,
        transfers: Sequence[HostTransfer],
        ports: PortMap,
        arbiter: PortArbiter,
        tags: TagTable,
        links: dict[Direction, Link],
        program_ended: Event,
    ) -> None:
        self._env = env
        self._latency = spec.integer("host.dma_latency")
        self._chunk = spec.integer("host.dma_chunk")
        self._rate = spec.exact("host.pdm_rate")
        self._notice = spec.integer("mv.notice_latency")
        self._port = ports.pdm(0)
        self._arbiter = arbiter
        self._tags = tags
        self._links = links
        self._program_ended = program_ended
        self._order = _AFTER_MVS
        self.times = [HostTime(transfer) for transfer in transfers]
        self._ended = {id(time): env.event() for time in self.times}
        tickets = {id(time): self._announce(time) for time in self.times}
        for direction in Direction:
            queue = [time for time in self.times if time.transfer.direction is direction]
            env.process(self._serve([(time, tickets[id(time)]) for time in queue]))

    def _announce(self, time: HostTime) -> Ticket | None:
        if not time.transfer.tag:
            return None
        ticket = Ticket(time, self._env.event())
        self._tags.announce(time.transfer.tag, ticket)
        return ticket

    def holding_start(self) -> list[Event]:
        """Ends of the sends that the program waits for before its first line."""
        return [self._ended[id(time)] for time in self.times if time.transfer.holds_start]

    def check_complete(self) -> None:
        """DeadlockError when a transfer waits for a tag that nothing raised."""
        for time in self.times:
            if time.end < 0:
                what = time.transfer
                reason = f"no MV raises tag i{what.after:02x} for it" if what.after else "one before it never ends"
                raise DeadlockError(f"host {what.name} never starts: {reason}")

    def _serve(self, queue: list[tuple[HostTime, Ticket | None]]) -> Generator[Event, Any, None]:
        for time, ticket in queue:
            what = time.transfer
            if what.after:
                raised = yield self._tags.expect(what.after)
                yield raised.reported
            elif what.direction is Direction.RECEIVE:
                yield self._program_ended
            time.start = int(self._env.now)
            yield self._env.timeout(self._latency)
            yield from self._move(time)
            time.end = int(self._env.now)
            self._ended[id(time)].succeed()
            if ticket is not None:
                self._env.process(self._report(ticket))

    def _report(self, ticket: Ticket) -> Generator[Event, Any, None]:
        yield self._env.timeout(self._notice)
        ticket.reported.succeed()

    def _move(self, time: HostTime) -> Generator[Event, Any, None]:
        what, link = time.transfer, self._links[time.transfer.direction]
        behind: list[Event] = []
        for start in range(0, what.nbytes, self._chunk):
            nbytes = min(self._chunk, what.nbytes - start)
            if what.direction is Direction.SEND:
                yield from link.carry(nbytes, what.name)
                behind.append(self._env.process(self._through_pdm(time, nbytes)))
            else:
                yield from self._through_pdm(time, nbytes)
                behind.append(self._env.process(link.carry(nbytes, what.name)))
        yield self._env.all_of(behind)

    def _through_pdm(self, time: HostTime, nbytes: int) -> Generator[Event, Any, None]:
        self._order += 1
        yield from self._arbiter.acquire((self._port,), 0, self._order, int(self._env.now))
        start = int(self._env.now)
        yield self._env.timeout(math.ceil(nbytes / BYTES_PER_LW / self._rate))
        time.pdm.append((start, int(self._env.now), nbytes))
        self._arbiter.release((self._port,))
