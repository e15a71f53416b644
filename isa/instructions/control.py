"""Synchronisation items and statements without operands (isa.md 2.2, 12)."""

from __future__ import annotations

from isa.instructions.slots import untyped
from isa.record import Group, Hazard, Record


def _record(name: str, title: str, group: Group, meaning: str, example: str, source: str) -> Record:
    return Record(
        name=name,
        title=title,
        group=group,
        mnemonics=untyped(name),
        slots=(),
        meaning=meaning,
        example=example,
        source=source,
        hazard=Hazard.NONE,
    )


RECORDS = (
    _record(
        "nop", "four idle cycles; `nop/N` repeats it", Group.NOP, "latches keep their values", "nop/2", "isa.md 12"
    ),
    _record(
        "noforward",
        "keep the forwarding latches and the turnaround register",
        Group.NOFORWARD,
        "the other items of the line execute, latches keep their old values",
        "noforward",
        "isa.md 12",
    ),
    _record(
        "wait",
        "wait for the transfer with a tag",
        Group.WAIT,
        "the stream stops before this step until the transfer has completed",
        "nop; wait i01",
        "isa.md 2.5, 12",
    ),
    _record("mvnop", "an MV slot without transfer", Group.MV, "nothing moves", "mvnop", "isa.md 6.1"),
    _record(
        "mask",
        "persistent write mask: `mask[l|ll][r s t m n k] N`; N without letters or 0 ends it",
        Group.STATEMENT,
        "writes to the listed targets are masked with entry N from the next PE line on",
        "maskmn 1",
        "isa.md 4.3",
    ),
    _record(
        "d",
        "debug statement `d get` or `d set`, executed by the emulator between the lines",
        Group.STATEMENT,
        "prints or stores memory words",
        "d get $lm0n0c0b0m0p0 1",
        "isa.md 14",
    ),
    _record(
        "quit", "end of the program text", Group.STATEMENT, "the rest of the file is ignored", "quit", "isa.md 2.2"
    ),
)
