"""Ports of the PE memories in one line: reads, writes, and the immediate field (isa.md 5.3 rules 7-10, 14)."""

from __future__ import annotations

from collections.abc import Sequence

from isa.errors import AsmError
from isa.operand import KIND_NAMES, MEMORIES, Kind, PeOperand
from isa.record import Parsed

# A base address register is written through the port of its memory.
_WRITE_PORTS = {Kind.BAR0: Kind.LM0, Kind.BAR1: Kind.LM1}
_NOWRITE = Kind.NOWRITE
_SINGLE_PORT = (Kind.LM0, Kind.LM1)


def check_ports(items: Sequence[Parsed]) -> None:
    """Raises AsmError rules port/read, port/write, port/local-memory, port/immediate."""
    reads: dict[Kind, tuple[PeOperand, Parsed]] = {}
    writes: dict[Kind, tuple[PeOperand, Parsed]] = {}
    literal: Parsed | None = None
    for item in items:
        if item.record.name == "imm":
            literal = item
        for operand in item.sources:
            if operand.kind not in MEMORIES:
                continue
            if operand.kind not in reads:
                reads[operand.kind] = operand, item
                continue
            other = reads[operand.kind]
            if other[0].port != operand.port:
                raise AsmError(
                    "port/read",
                    f"{_name(operand.kind)} is read at `{operand.text}` by `{item.text}` and at `{other[0].text}` by "
                    f"`{other[1].text}`",
                    expected="one address and width per memory and line",
                )
        for operand in item.dests:
            port = _WRITE_PORTS.get(operand.kind, operand.kind)
            if port is _NOWRITE:
                continue
            if port in writes:
                other = writes[port]
                raise AsmError(
                    "port/write",
                    f"{_name(port)} is written at `{operand.text}` by `{item.text}` and at `{other[0].text}` by "
                    f"`{other[1].text}`",
                    expected="one destination per memory and line",
                )
            writes[port] = operand, item
    if reads and writes:
        _check_local(reads, writes)
    if literal is not None and (Kind.LM0 in reads or Kind.LM0 in writes):
        operand, item = reads.get(Kind.LM0) or writes[Kind.LM0]
        raise AsmError(
            "port/immediate",
            f"`{literal.text}` and `{operand.text}` of `{item.text}` share a field of the instruction word",
            expected="no access to LM0 beside an immediate",
        )


def _name(kind: Kind) -> str:
    return KIND_NAMES[kind].partition(" `")[0]


def _check_local(reads: dict[Kind, tuple[PeOperand, Parsed]], writes: dict[Kind, tuple[PeOperand, Parsed]]) -> None:
    for kind in _SINGLE_PORT:
        if kind not in reads or kind not in writes:
            continue
        read, written = reads[kind][0], writes[kind][0]
        if written.kind != kind or read.port != written.port:
            raise AsmError(
                "port/local-memory",
                f"{_name(kind)} is read at `{read.text}` and written at `{written.text}`",
                expected="the same address and width for both, in place",
            )
