"""Which items may share a line: issue groups and the MAU's matrix rules (isa.md 5.2, 5.3 rules 1, 4, 5, 6)."""

from __future__ import annotations

from collections.abc import Sequence

from isa.errors import AsmError
from isa.operand import BankOperand, Kind, MatrixOperand, PeOperand
from isa.record import Group, Parsed

_MAU_GROUPS = (Group.MAU, Group.MWRITE, Group.MREAD)


def check_issue(items: Sequence[Parsed]) -> None:
    """Raises AsmError rules line/group, line/l1bm, line/mau, line/precision, line/mwrite-source, line/matrix-plane."""
    seen: dict[object, Parsed] = {}
    for item in items:
        key: object = item.record.group
        if key is Group.L1BM:
            key = "load" if _is_load(item) else "store"
        if key in seen:
            raise AsmError(
                "line/group",
                f"`{item.text}` and `{seen[key].text}` need the same unit",
                expected=f"one item of group {item.record.group.value} in a line",
            )
        seen[key] = item
    load, store = seen.get("load"), seen.get("store")
    if load and store and not reads_turn(load):
        raise AsmError(
            "line/l1bm",
            f"`{load.text}` reads the L1BM while `{store.text}` writes",
            expected="a load from `$lbi` beside a store",
        )
    _check_mau([item for item in items if item.record.group in _MAU_GROUPS])


def _is_load(item: Parsed) -> bool:
    return isinstance(item.operands[0], BankOperand)


def reads_turn(item: Parsed) -> bool:
    """Whether the item reads the turnaround register."""
    return bool(item.operands) and item.operands[0].kind == Kind.TURN


def _check_mau(items: list[Parsed]) -> None:
    if len(items) > 2:
        raise AsmError(
            "line/mau",
            "three MAU items in a line",
            expected="at most two of arithmetic, matrix write and matrix read",
        )
    if len(items) < 2:
        return
    first, second = items
    if first.variant.prec != second.variant.prec:
        raise AsmError(
            "line/precision",
            f"`{first.text}` and `{second.text}` have different precisions",
            expected=f"precision `{first.variant.prec}` in both",
        )
    planes = [operand.plane for item in items for operand in item.operands if isinstance(operand, MatrixOperand)]
    if len(set(planes)) < len(planes):
        raise AsmError("line/matrix-plane", f"`{first.text}` and `{second.text}` use the same matrix plane")
    groups = {item.record.group: item for item in items}
    write, arithmetic = groups.get(Group.MWRITE), groups.get(Group.MAU)
    if write and arithmetic and arithmetic.record.name in ("vfma", "vmul"):
        source, factor = write.operands[0], arithmetic.operands[1]
        assert isinstance(source, PeOperand) and isinstance(factor, PeOperand)
        if _port_b(source) != _port_b(factor):
            raise AsmError(
                "line/mwrite-source",
                f"`{write.text}` writes `{source.text}` but `{arithmetic.text}` multiplies by `{factor.text}`",
                expected="the same operand in both",
                nearest=f"{arithmetic.operands[0].text} {source.text}",
            )


def _port_b(operand: PeOperand) -> tuple[object, ...]:
    return operand.kind, operand.port, operand.negate, operand.modifier
