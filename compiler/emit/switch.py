"""Moves inside local memory that change the layout of a value: between words of one PE, and over the MABs of an L1B.

`local`: every PE rearranges its own words or half words.  `gather`: MABs that hold different long words give all of
them to every MAB, through L1BM.  `scatter`: every MAB keeps its share of what all of them hold.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from compiler.emit.asm import Asm, flat
from compiler.emit.padding import emit_constant

FIRST_HALF_MASK = 4
ROTATION = 24
HALF_FLAGS = 28
L1BM_LW = 8192


@dataclass(frozen=True)
class LocalMove:
    """Lane moves of one PE: (source long word, source lane) -> (destination long word, destination lane)."""

    lanes: int
    moves: dict[tuple[int, int], tuple[int, int]]


def _pad4(items: list[int]) -> list[int]:
    return items + [items[-1]] * (4 - len(items))


def _pattern(count: int) -> str:
    return "" if count == 4 else "/" + "1" * count + "0" * (4 - count)


def emit_local(asm: Asm, job: LocalMove, src: tuple[str, int], dst: tuple[str, int]) -> None:
    """src, dst: (memory letter, word address).  `job.moves` maps destination to source (addresses in long words)."""
    rotations: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    whole: list[tuple[int, int]] = []
    by_lw: dict[int, dict[int, tuple[int, int]]] = defaultdict(dict)
    for (d_lw, d_lane), source in job.moves.items():
        by_lw[d_lw][d_lane] = source
    for d_lw, lanes in sorted(by_lw.items()):
        sources = {lw for lw, _ in lanes.values()}
        if len(sources) == 1 and all(lane == d_lane for d_lane, (_, lane) in lanes.items()):
            whole.append((d_lw, sources.pop()))
            continue
        for d_lane, (s_lw, s_lane) in sorted(lanes.items()):
            rotations[((s_lane - d_lane) % job.lanes, d_lane)].append((d_lw, s_lw))
    _whole_moves(asm, whole, src, dst)
    if job.lanes == 2:
        _word_moves(asm, rotations, src, dst)
    else:
        _half_moves(asm, rotations, src, dst)


def _whole_moves(asm: Asm, moves: list[tuple[int, int]], src: tuple[str, int], dst: tuple[str, int]) -> None:
    """Long words that keep the order of their lanes: (destination, source) pairs."""
    for k in range(0, len(moves), 4):
        group = moves[k : k + 4]
        source = flat(_pad4([src[1] + 2 * s for _, s in group]))
        target = flat(_pad4([dst[1] + 2 * d for d, _ in group]))
        asm.op(f"lpassa $l{src[0]}{source} $l{dst[0]}{target}{_pattern(len(group))}")


def _word_moves(
    asm: Asm, moves: dict[tuple[int, int], list[tuple[int, int]]], src: tuple[str, int], dst: tuple[str, int]
) -> None:
    flat_moves = [
        (dst[1] + 2 * d + lane, src[1] + 2 * s + (lane + rotation) % 2)
        for (rotation, lane), pairs in sorted(moves.items())
        for d, s in pairs
    ]
    for k in range(0, len(flat_moves), 4):
        group = flat_moves[k : k + 4]
        source, target = flat(_pad4([s for _, s in group])), flat(_pad4([d for d, _ in group]))
        asm.op(f"ipassa ${src[0]}{source} ${dst[0]}{target}{_pattern(len(group))}")


def _half_moves(
    asm: Asm, moves: dict[tuple[int, int], list[tuple[int, int]]], src: tuple[str, int], dst: tuple[str, int]
) -> None:
    """Rotate the long word so that the half arrives in its lane, and write that lane only."""
    for lane in sorted({lane for _, lane in moves}):
        emit_constant(asm, HALF_FLAGS, 0x0001000100010001 & ~(0xFFFF << (48 - 16 * lane)))
        asm.op(f"spassa $ls{HALF_FLAGS} $omr{FIRST_HALF_MASK + lane}")
    for (rotation, lane), pairs in sorted(moves.items()):
        asm.op(f'imm i"{16 * rotation}" $ls{ROTATION}')
        for k in range(0, len(pairs), 4):
            group = _pad4_pairs(pairs[k : k + 4])
            source, target = flat([src[1] + 2 * s for _, s in group]), flat([dst[1] + 2 * d for d, _ in group])
            asm.op(f"lbsl $l{src[0]}{source} $ls{ROTATION} $l{dst[0]}{target}/$imr{FIRST_HALF_MASK + lane}")


def _pad4_pairs(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    return pairs + [pairs[-1]] * (4 - len(pairs))


def emit_gather(asm: Asm, sources: dict[tuple[int, int], int], src: tuple[str, int], dst: tuple[str, int]) -> None:
    """sources: (mab, source long word) -> destination long word, the same for every PE."""
    chunk = L1BM_LW // 64
    addresses = sorted({lw for _, lw in sources})
    for first in range(0, len(addresses), chunk):
        part = addresses[first : first + chunk]
        for k in range(0, len(part), 4):
            asm.op(f"l1bmd $l{src[0]}{flat(_pad4([src[1] + 2 * lw for lw in part[k : k + 4]]))} $lb{64 * k}")
        for slot, lw in enumerate(part):
            for mab in range(0, 16, 4):
                wanted = [sources.get((mab + c, lw)) for c in range(4)]
                if all(d is None for d in wanted):
                    continue
                some = next(d for d in wanted if d is not None)
                target = flat([dst[1] + 2 * (some if d is None else d) for d in wanted])
                pattern = "" if None not in wanted else "/" + "".join("0" if d is None else "1" for d in wanted)
                asm.op(f"l1bmm $lb{64 * slot + 4 * mab} $l{dst[0]}{target}{pattern}")


def emit_scatter(asm: Asm, sources: dict[tuple[int, int], int], src: tuple[str, int], dst: tuple[str, int]) -> None:
    """sources: (mab, destination long word) -> source long word, the same for every PE."""
    chunk = L1BM_LW // 64
    addresses = sorted({lw for _, lw in sources})
    some = next(iter(sources.values()))
    for first in range(0, len(addresses), chunk):
        part = addresses[first : first + chunk]
        for slot, lw in enumerate(part):
            for mab in range(0, 16, 4):
                wanted = [src[1] + 2 * sources.get((mab + c, lw), some) for c in range(4)]
                asm.op(f"l1bmm@0 $l{src[0]}{flat(wanted)} $lb{64 * slot + 4 * mab}")
        for k in range(0, len(part), 4):
            group = part[k : k + 4]
            target = flat(_pad4([dst[1] + 2 * lw for lw in group]))
            asm.op(f"l1bmd $lb{64 * k} $l{dst[0]}{target}{_pattern(len(group))}")
