"""Lowering of MV lines (isa.md 6)."""

from __future__ import annotations

from collections.abc import Callable

from hw.program import Mv, MvForm, MvPlace, Space
from isa.lower import kernels
from isa.mv_suffix import MvOptions
from isa.operand import BankOperand, Kind
from isa.record import Parsed

SPACES = {Kind.PDM: Space.PDM, Kind.DRAM: Space.DRAM, Kind.L2BM: Space.L2BM}
SIZES = {Space.PDM: 1 << 19, Space.DRAM: 1 << 29, Space.L2BM: 1 << 15}


def _place(operand: BankOperand) -> MvPlace:
    space = SPACES[operand.kind]
    address = operand.addr if operand.indirect else operand.addr % SIZES[space]
    return MvPlace(space, address, operand.group, operand.bank, operand.indirect)


def lower_mv(form: MvForm) -> Callable[[Parsed], Mv]:
    """The lowering of one form.  Both reduction stages of `mvr` use the same circuit; `mvr2`, `mvr4` have only one."""

    def lower(parsed: Parsed) -> Mv:
        source, target = parsed.operands
        options = parsed.suffix
        assert isinstance(source, BankOperand) and isinstance(target, BankOperand) and isinstance(options, MvOptions)
        circuit = kernels.reduction(parsed.variant.rrn) if parsed.variant.rrn else None
        return Mv(
            form,
            options.size,
            _place(source),
            _place(target),
            options.tag,
            options.repeat,
            options.priority,
            circuit,
            circuit,
            text=parsed.text,
        )

    return lower
