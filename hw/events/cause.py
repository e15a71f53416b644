"""The closed vocabulary of reasons why a cycle of the instruction stream was spent as it was."""

from __future__ import annotations

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
    WAIT_DATA    stalled at a `wait`: data moved between PDM and L2BM or inside PDM
    WAIT_NOTICE  stalled at a `wait`: the completion notice was under way, and rounding up to a whole step
    DRAIN        the stream has ended and MVs were still moving
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
    WAIT_DATA = "wait_data"
    WAIT_NOTICE = "wait_notice"
    DRAIN = "drain"
    UNATTRIBUTED = "unattributed"
    NONE = "none"


CAUSES: tuple[Cause, ...] = tuple(Cause)
"""Causes by their id in the `cause` column of an `EventLog`."""
