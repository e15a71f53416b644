"""How a matrix product in local memory is spread over the chip, and the layouts that follow from it.

Each of the four levels G (groups), B (banks), L1B and MAB is given to one axis of the product: M (rows of the left
operand), N (columns of the right one), K (the contraction), S (a leading axis that both operands have), or to none
(`-`: copies).  A level given to K leaves partial sums that are added over it.  All tensors of a product lie alike:

* the last axis: its levels, then tiles (addresses), then one tile over `W` and `PE`: `(levels, T:s, 4_W:1, 4_PE:1)`;
* other axes: their levels, then addresses; a multiple of the tile in the order of the rows of a matrix plane,
  `(t:16, 4:1, 4:4)`, so that sixteen neighbours in memory are one tile.

So the result of one product, forward or backward, is an operand of the next without any move.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from compiler.layout import Broadcast, Layout, Level, PadLayout

Digit = tuple[int, Level, int]

UNITS = ("G", "B", "L1B", "MAB")
MEMBERS = {"G": 4, "B": 2, "L1B": 8, "MAB": 16}
DIGITS: dict[str, Digit] = {
    "G": (4, Level.L2B, 2),
    "B": (2, Level.L2B, 1),
    "L1B": (8, Level.L1B, 1),
    "MAB": (16, Level.MAB, 1),
}
COPIES = {
    "G": Broadcast(Level.L2B, 4, 2),
    "B": Broadcast(Level.L2B, 2, 1),
    "L1B": Broadcast(Level.L1B),
    "MAB": Broadcast(Level.MAB),
}
LM_LWS = 1800
LATENCY = 220
SWITCH = 2000
#: A weight that is read again (by a backward pass, by its update) is worth spreading without copies.
REUSED = 6
#: Cycles for each long word of a weight in half precision: six element-wise steps on twice as many singles.
UPDATE = 12


@dataclass(frozen=True)
class Role:
    """An axis of a tensor: what it is in the product (M, N, K, S, or 1 where it is broadcast) and its extent."""

    letter: str
    extent: int


@dataclass(frozen=True)
class Shape:
    """A product: the roles of the axes of both operands and of the result; `tile`: 16 (half), 8 or 4 (double).

    held: what a place holds of letters whose axes are not laid out by the spread.
    """

    left: tuple[Role, ...]
    right: tuple[Role, ...]
    result: tuple[Role, ...]
    tile: int
    held: tuple[tuple[str, int], ...] = ()

    @property
    def lanes(self) -> int:
        """Elements of a long word."""
        return self.tile // 4

    def main(self, letter: str) -> int:
        """Extent of the axis that the levels of a letter split: the longest axis of that letter, 1 without one."""
        axes = (*self.left, *self.right)
        return max((role.extent for role in axes if role.letter == letter), default=1)

    @property
    def left_direct(self) -> bool:
        """Whether the contraction lies over the words and PEs of the left operand (else a tile is transposed)."""
        return self.left[-1].letter == "K"

    @property
    def right_direct(self) -> bool:
        """The same for the right operand."""
        return self.right[-1].letter == "K"


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


@dataclass(frozen=True)
class Spread:
    """The letter of each of G, B, L1B, MAB."""

    letters: str

    def of(self, letter: str) -> list[str]:
        """Units given to a letter."""
        return [unit for unit, given in zip(UNITS, self.letters, strict=True) if given == letter]

    def members(self, letter: str) -> int:
        """Number of parts of a letter."""
        return math.prod(MEMBERS[unit] for unit in self.of(letter))

    def local(self, shape: Shape, letter: str) -> int:
        """Padded extent that one place holds of the main axis of a letter."""
        held = dict(shape.held)
        if letter in held:
            return held[letter]
        extent = -(-shape.main(letter) // self.members(letter))
        in_tiles = letter == "N" or (letter == "M" and shape.left[-1].letter == "M")
        if in_tiles or (letter == "K" and (shape.left_direct or shape.right_direct)):
            return _up(extent, shape.tile)
        return _up(extent, 4) if letter == "K" or extent > 2 else extent

    @property
    def over_l2b(self) -> bool:
        """Whether the partial sums of several L2Bs are added, which only MVs can do."""
        return "K" in self.letters[:2]

    @property
    def over_l1b(self) -> bool:
        """Whether the partial sums of the L1Bs are added."""
        return self.letters[2] == "K"


def _main_axis(roles: Sequence[Role], letter: str) -> int:
    """Number of the axis that the levels of a letter split, -1 without one: the longest, the last of equals."""
    found = [(role.extent, number) for number, role in enumerate(roles) if role.letter == letter]
    return max(found, default=(0, -1))[1]


def _rows(extent: int, stride: int, tile: int) -> list[Digit]:
    if extent % tile:
        return [(extent, Level.ADDR, stride)]
    lanes = tile // 4
    return [(extent // tile, Level.ADDR, tile * stride), (lanes, Level.ADDR, stride), (4, Level.ADDR, lanes * stride)]


@lru_cache(maxsize=1 << 13)
def tensor_layout(shape: Shape, spread: Spread, roles: tuple[Role, ...]) -> PadLayout:
    """The layout of a tensor of the product with the given roles."""
    axes: list[list[Digit]] = [[] for _ in roles]
    stride = 1
    inner = len(roles) - 1
    for number in (*reversed(range(inner)), inner):
        role = roles[number]
        main = role.letter in "MNKS" and number == _main_axis(roles, role.letter)
        levels = [DIGITS[unit] for unit in spread.of(role.letter)] if main else []
        local = spread.local(shape, role.letter) if main else role.extent
        if number == inner:
            tiles = -(-local // shape.tile)
            addresses = [(tiles, Level.ADDR, stride), (shape.lanes, Level.W, 1), (4, Level.PE, 1)]
        else:
            addresses = _rows(local, stride, shape.tile)
            stride *= local
        axes[number] = [digit for digit in (*levels, *addresses) if digit[0] > 1]
    return PadLayout(tuple(role.extent for role in roles), Layout.build(axes, _copies(spread, roles)).canonical())


def bias_layout(shape: Shape, spread: Spread) -> PadLayout:
    """The layout of a vector over N in the precision and order of the accumulators."""
    levels = [DIGITS[unit] for unit in spread.of("N")]
    tiles = spread.local(shape, "N") // shape.tile
    words, wide = min(shape.lanes, 2), max(shape.lanes // 2, 1)
    digits = [*levels, (tiles, Level.ADDR, wide), (wide, Level.ADDR, 1), (words, Level.W, 1), (4, Level.PE, 1)]
    roles = (Role("N", shape.main("N")),)
    layout = Layout.build([[digit for digit in digits if digit[0] > 1]], _copies(spread, roles))
    return PadLayout((shape.main("N"),), layout.canonical())


def _copies(spread: Spread, roles: Sequence[Role]) -> list[Broadcast]:
    split = {role.letter for role in roles}
    copied = [unit for unit, letter in zip(UNITS, spread.letters, strict=True) if letter not in split]
    if copied[:2] == ["G", "B"]:
        return [Broadcast(Level.L2B), *(COPIES[unit] for unit in copied[2:])]
    return [COPIES[unit] for unit in copied]


def candidates(shape: Shape, *, wasteful: bool = False) -> Iterator[Spread]:
    """The spreads that leave less than half of a level empty (`wasteful`: all); that of copies only is among them."""
    letters = [letter for letter in "MNKS" if shape.main(letter) > 1]
    for choice in itertools.product([*letters, "-"], repeat=len(UNITS)):
        spread = Spread("".join(choice))
        if wasteful or all(_fits(shape, spread, letter) for letter in letters):
            yield spread


@lru_cache(maxsize=256)
def _usual_candidates(shape: Shape) -> tuple[Spread, ...]:
    return tuple(candidates(shape))


def _fits(shape: Shape, spread: Spread, letter: str) -> bool:
    members = spread.members(letter)
    unit = shape.tile if letter in "NK" else 1
    return members == 1 or members * spread.local(shape, letter) < 2 * _up(shape.main(letter), unit)


@dataclass(frozen=True)
class Known:
    """What is known of an operand: its layout now, or that it comes from DRAM (`free`) and how much that weighs."""

    layout: PadLayout | None = None
    free: bool = False
    weight: float = 1.0


def cost(shape: Shape, spread: Spread, operands: Sequence[Known], result: Layout | None) -> float:
    """Estimated cycles of a product with a spread: arrival of the operands, work, sums over levels, result."""
    tensors = [tensor_layout(shape, spread, roles) for roles in (shape.left, shape.right, shape.result)]
    total = 0.0
    for known, wanted in zip(operands, tensors, strict=False):
        if known.free:
            total += known.weight * _arrival(wanted)
        elif known.layout is not None and not known.layout.equivalent(wanted):
            total += SWITCH + 4 * _arrival(wanted)
    if operands[1].weight > 1:
        total += _training(spread, tensors[1])
    total += work(shape, spread)
    out = tensors[2]
    on_l1b = out.num_lw * (4 if out.is_broadcast(Level.MAB) else 64)
    if spread.over_l1b:
        total += on_l1b / 16 + on_l1b / 64
    if spread.over_l2b:
        total += 1.5 * _arrival(out) + LATENCY
    elif spread.over_l1b:
        total += on_l1b / 16
    if result is not None and not result.equivalent(out.layout):
        total += SWITCH + _arrival(out)
    if 2 * tensors[0].num_lw + out.num_lw > LM_LWS or tensors[0].num_lw + tensors[1].num_lw > LM_LWS:
        total *= 100
    return total


def work(shape: Shape, spread: Spread) -> float:
    """Estimated cycles of the steps of a product in a MAB."""
    steps = {letter: spread.local(shape, letter) for letter in "MNK"}
    others = math.prod(role.extent for role in shape.result[:-2]) / max(1, spread.members("S"))
    groups = -(-steps["M"] // 4)
    tiles = -(-steps["N"] // shape.tile) * -(-steps["K"] // shape.tile)
    return 4 * others * (tiles * (groups + 4 + 4 * (not shape.right_direct)) + groups * -(-steps["N"] // shape.tile))


def _training(spread: Spread, weight: PadLayout) -> float:
    """Cycles of a weight that is updated, beside its arrivals: adding up its gradient over levels that hold different
    rows, and the element-wise update of what a PE holds.
    """
    on_l1b = weight.num_lw * (4 if weight.is_broadcast(Level.MAB) else 64)
    total = 2 * _arrival(weight) + LATENCY if "M" in spread.letters[:2] else 0.0
    return total + (on_l1b / 8 if spread.letters[2] == "M" else 0.0) + UPDATE * weight.num_lw


def _arrival(layout: PadLayout) -> float:
    """Cycles from DRAM to local memory."""
    spec = layout.layout
    lws = layout.num_lw * (4 if spec.is_broadcast(Level.MAB) else 64)
    inside = lws / 16 if spec.is_broadcast(Level.L1B) else 8 * lws / 64
    moved = lws * (1 if spec.is_broadcast(Level.L1B) else 8)
    banks_apart = spec.split_extent(Level.L2B) == MEMBERS["G"] * MEMBERS["B"]
    return LATENCY + moved * (2 if banks_apart else 1) / 16 + inside / 4 + layout.num_lw / 4


def best(shape: Shape, operands: Sequence[Known], result: Layout | None) -> Spread:
    """The spread of least estimated cost; of equals the first."""
    return min(_usual_candidates(shape), key=lambda spread: cost(shape, spread, operands, result))
