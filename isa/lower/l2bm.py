"""L2BM maps and the lowering of L2BM items (isa.md 7)."""

from __future__ import annotations

from hw.program import L2Kind, L2Map, L2Move, Unit
from isa.lower import kernels
from isa.operand import BankOperand
from isa.record import Parsed
from isa.suffix import members

# Sixteen long words a cycle at every L1B; the L2BM side is shared by all L1Bs, by pairs of them, or by none.
SHARED = L2Map("shared", 16, lambda b, c, k: 16 * c + k, lambda c, k: 16 * c + k, 64, 64)
PAIRS = L2Map("pairs", 16, lambda b, c, k: 64 * c + 16 * (b // 2) + k, lambda c, k: 16 * c + k, 256, 64)
SCATTER = L2Map("scatter", 8, lambda b, c, k: 64 * c + 8 * b + k, lambda c, k: 8 * c + k, 256, 32)

L1BM_LWS = 8192

MAPS = {"l2bmb": SHARED, "l2bmb2": PAIRS, "l2bmd": SCATTER, "l2bm@": SHARED, "l2bmr": SHARED, "l2bmr2": PAIRS}


def _bank(parsed: Parsed, index: int) -> BankOperand:
    operand = parsed.operands[index]
    assert isinstance(operand, BankOperand)
    return operand


def _l1bm(parsed: Parsed, index: int) -> int:
    """An L1BM address; L2BM items let it run past the memory and wrap."""
    return _bank(parsed, index).addr % L1BM_LWS


def lower_down(parsed: Parsed) -> L2Move:
    """L2BM to the L1Bs of a set."""
    return L2Move(
        Unit.L2BM,
        L2Kind.DOWN,
        MAPS[parsed.record.name],
        _bank(parsed, 0).addr,
        _l1bm(parsed, 1),
        members=members(parsed.suffix),
        text=parsed.text,
    )


def lower_up(parsed: Parsed) -> L2Move:
    """All L1Bs (`l2bmd`) or one (`l2bm@n`) to the L2BM."""
    writers = (parsed.suffix,) if isinstance(parsed.suffix, int) else tuple(range(8))
    return L2Move(
        Unit.L2BM,
        L2Kind.UP,
        MAPS[parsed.record.name],
        _bank(parsed, 1).addr,
        _l1bm(parsed, 0),
        members=writers,
        text=parsed.text,
    )


def lower_reduce(parsed: Parsed) -> L2Move:
    """`l2bmr` over a set, `l2bmr2` over each pair of L1Bs."""
    assert parsed.variant.rrn is not None
    return L2Move(
        Unit.L2BM,
        L2Kind.REDUCE,
        MAPS[parsed.record.name],
        _bank(parsed, 1).addr,
        _l1bm(parsed, 0),
        members=members(parsed.suffix),
        kernel=kernels.reduction(parsed.variant.rrn),
        text=parsed.text,
    )


def multicast_pairs(value: tuple[int, int]) -> tuple[tuple[int, int], ...]:
    """(source, destination) L1Bs of `l2bmi`: each source serves those that agree with it in the ignored bits."""
    ignore = value[1]
    sources = members(value)
    return tuple(
        (source, b) for b in range(8) for source in sources if b not in sources and source & ignore == b & ignore
    )


def lower_inner(parsed: Parsed) -> L2Move:
    """`l2bmi`: L1BM to L1BM inside each L2B."""
    assert isinstance(parsed.suffix, tuple)
    return L2Move(
        Unit.L2BM,
        L2Kind.INNER,
        SHARED,
        lb=_l1bm(parsed, 0),
        lb2=_l1bm(parsed, 1),
        inner=multicast_pairs(parsed.suffix),
        text=parsed.text,
    )


def lower_dars(parsed: Parsed) -> L2Move:
    """`l2bmdars`: L2BM to the group's DAR buffer."""
    place = _bank(parsed, 0)
    return L2Move(
        Unit.L2BM, L2Kind.DARS, lc=place.addr, bank=place.bank or 0, dar=_bank(parsed, 1).addr, text=parsed.text
    )


def lower_darw(parsed: Parsed) -> L2Move:
    """`l2bmdarw`: four words of the buffer to the DAR."""
    return L2Move(Unit.DARW, L2Kind.DARW, text=parsed.text)
