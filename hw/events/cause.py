"""The closed vocabulary of reasons why a cycle of the instruction stream was spent as it was, and its summary."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class Cause(StrEnum):
    """Every cycle between the first issue and the last completion of a program has exactly one of these.

    COMPUTE      a step with an ALU, MAU or matrix register item
    TRANSFER     a step with nothing but L1BM/L2BM items, or one that a slow transfer stretches
    HAZARD_NOP   a `nop` step without `wait`: distance that the hazard rules demand
    WAIT_STEP    the `nop` step that carries a `wait`
    MV_ISSUE     the stream holds because the next MV slot has not come yet
    WAIT_QUEUE   stalled at a `wait`: the MV still stood behind others of its queue
    WAIT_LATENCY stalled at a `wait`: the start-up latency of the MV
    WAIT_PORT    stalled at a `wait`: the MV waited for a port that another one held
    WAIT_DRAM    stalled at a `wait`: data moved and DRAM took part
    WAIT_REFRESH stalled at a `wait`: DRAM refreshed while the MV held it
    WAIT_DATA    stalled at a `wait`: data moved between PDM and L2BM or inside PDM
    WAIT_NOTICE  stalled at a `wait`: the completion notice was under way, and rounding up to a whole step
    WAIT_HOST    stalled at a `wait` for a host transfer
    DRAIN        the stream has ended and MVs were still moving
    HOST_STREAM  the next packet of instructions had not arrived
    PACKET_NOP   a `nop` that fills a packet took its step
    HOST_SEND    the stream had not started: the host was still sending
    HOST_RECEIVE stream and MVs have ended, the host was still receiving
    UNATTRIBUTED anything else (a step without items that is no `nop`)
    NONE         spans that are no part of the stream's time, such as the busy time of a port
    """

    COMPUTE = "compute"
    TRANSFER = "transfer"
    HAZARD_NOP = "hazard_nop"
    WAIT_STEP = "wait_step"
    MV_ISSUE = "mv_issue"
    WAIT_QUEUE = "wait_queue"
    WAIT_LATENCY = "wait_latency"
    WAIT_PORT = "wait_port"
    WAIT_DRAM = "wait_dram"
    WAIT_REFRESH = "wait_refresh"
    WAIT_DATA = "wait_data"
    WAIT_NOTICE = "wait_notice"
    WAIT_HOST = "wait_host"
    DRAIN = "drain"
    HOST_STREAM = "host_stream"
    PACKET_NOP = "packet_nop"
    HOST_SEND = "host_send"
    HOST_RECEIVE = "host_receive"
    UNATTRIBUTED = "unattributed"
    NONE = "none"


CAUSES: tuple[Cause, ...] = tuple(Cause)
"""Causes by their id in the `cause` column of an `EventLog`."""

CAUSE_ID: Mapping[Cause, int] = {cause: index for index, cause in enumerate(CAUSES)}
"""The reverse of `CAUSES`."""


class Bound(StrEnum):
    """Summary of causes: what a cycle was bound by."""

    COMPUTE = "compute"
    ON_CHIP = "on_chip_move"
    HAZARD = "hazard_nop"
    DRAM = "dram_bound"
    MV = "mv_wait"
    HOST = "host_bound"
    UNATTRIBUTED = "unattributed"


BOUND_OF: Mapping[Cause, Bound] = {
    Cause.COMPUTE: Bound.COMPUTE,
    Cause.TRANSFER: Bound.ON_CHIP,
    Cause.HAZARD_NOP: Bound.HAZARD,
    Cause.WAIT_STEP: Bound.MV,
    Cause.MV_ISSUE: Bound.MV,
    Cause.WAIT_QUEUE: Bound.MV,
    Cause.WAIT_LATENCY: Bound.MV,
    Cause.WAIT_PORT: Bound.MV,
    Cause.WAIT_DRAM: Bound.DRAM,
    Cause.WAIT_REFRESH: Bound.DRAM,
    Cause.WAIT_DATA: Bound.MV,
    Cause.WAIT_NOTICE: Bound.MV,
    Cause.WAIT_HOST: Bound.HOST,
    Cause.DRAIN: Bound.MV,
    Cause.HOST_STREAM: Bound.HOST,
    Cause.PACKET_NOP: Bound.HOST,
    Cause.HOST_SEND: Bound.HOST,
    Cause.HOST_RECEIVE: Bound.HOST,
    Cause.UNATTRIBUTED: Bound.UNATTRIBUTED,
}
"""The summary of every cause but NONE."""


def by_bound(by_cause: Mapping[str, int]) -> dict[str, int]:
    """Cycles by cause (names as in `Cause`) as cycles by `Bound`, all bounds in order; the sum stays the same."""
    totals = {bound.value: 0 for bound in Bound}
    for cause, cycles in by_cause.items():
        totals[BOUND_OF[Cause(cause)].value] += cycles
    return totals
