"""Writes the solutions that a program unrolls; `python -m traces.records_challenge.generate` refreshes the files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

HERE = Path(__file__).parent


def mul_7() -> Iterator[str]:
    """7x = (x << 3) - x: two ALU lines per four long words, the shifted value passes through `$aluf`."""
    yield 'imm i"3" $lls0v'
    for group in range(32):
        yield f"ilsl $lm{8 * group}v {'$ls0v' if group else '$aluf'} $nowrite"
        yield f"isub $aluf $lm{8 * group}v $ln{8 * group}v"


def absolute() -> Iterator[str]:
    """abs: write -x everywhere, then x over it where x >= 0.

    The MAU reads the same two long words as the ALU and leaves the four signs in a mask entry; four copies of two long
    words per cycle finish.
    """
    for block in range(4):
        at = 16 * block
        yield f"isub $ls0 $llm{at}v $ln{at}v4; hvpassa $llm{at}vr $omr{block + 1}"
        yield f"isub $ls0 $lm{at + 2}v4 $ln{at + 2}v4"
    for block in range(4):
        yield f"lpassa $llm{16 * block}v $lln{16 * block}v/$llimr{block + 1}"


def fadd_mul() -> Iterator[str]:
    """(x + 8) * 8 = 8x + 64, with two routes so that ALU and MAU share the work.

    Route f: `fvfma` on four long words.  Route h: the ALU adds 3 to the exponents (8x) of eight long words, then one
    `hvadd` adds 64 to all of them.  `noforward` keeps $aluf = 3 << 23 and $mauf = 64 for the whole program.  The ALU
    passes LW1 of its first source on, so the unscaled half of route h also lands in GRF0 and frees the port of LM0.
    """
    blocks = {name: 16 * number for number, name in enumerate("ABCDhijk")}
    wide = {name: f"$llm{at}v" for name, at in blocks.items()}

    def mau_f(source: str, target: int, step: int) -> str:
        return f"fvfma {source} $ls0v $mauf $ln{target}v{step}"

    def scale_first(name: str) -> str:
        return f"iadd {wide[name]} $aluf $llr{blocks[name]}v"

    def scale_second(name: str) -> str:
        at = f"$lr{blocks[name] + 2}v4"
        return f"iadd {at} $aluf {at}"

    def mau_h(name: str) -> str:
        return f"hvadd $maufr $llr{blocks[name]}v $lln{blocks[name]}v"

    def copied(name: str) -> str:
        return f"lpassa {wide[name]} $llr{blocks[name]}v"

    a, b, c, d = (blocks[name] for name in "ABCD")
    yield 'imm f"8" $lls0v'
    yield 'hvmul $alufr $alufr $nowrite; imm i"0x01800000" $nowrite'
    for mau, alu in (
        (mau_f(wide["A"], a, 4), copied("A")),
        (mau_f(wide["B"], b, 4), copied("B")),
        (mau_f(f"$lr{a + 2}v4", a + 2, 4), scale_first("h")),
        (mau_f(f"$lr{b + 2}v4", b + 2, 4), scale_first("i")),
        (mau_f(f"$lm{c}v", c, 2), scale_second("h")),
        (mau_f(f"$lm{c + 8}v", c + 8, 2), scale_second("i")),
        (mau_h("h"), scale_first("j")),
        (mau_h("i"), scale_first("k")),
        (mau_f(f"$lm{d}v", d, 2), scale_second("j")),
        (mau_f(f"$lm{d + 8}v", d + 8, 2), scale_second("k")),
    ):
        yield f"noforward; {mau}; {alu}"
    yield f"noforward; {mau_h('j')}"
    yield mau_h("k")


def mul2() -> Iterator[str]:
    """2x in half: x + x, one four-long-word `hvaddr` per line and no constant."""
    for group in range(8):
        yield f"hvaddr $lm{8 * group}v $lm{8 * group}ve $ln{8 * group}v"


def transpose() -> Iterator[str]:
    """8x16 to 16x8 inside each PE: four rows of one column per line."""
    for column in range(16):
        for half in range(2):
            yield f"lpassa $lm{2 * (64 * half + column)}v32 $ln{2 * (8 * column + 4 * half)}v"


def contains() -> Iterator[str]:
    """Compare every key with the 16 table entries of the PE; a hit leaves a non-zero word at GRF0[2 * key].

    Line n: the ALU compares (`lxor`, flag = equal); in line n + 1 the MAU writes under that flag.  Every cycle writes
    the same address, which is the OR over the cycles.  `l1bmrlor` ORs over the MABs, rotations over the PEs.
    """
    yield 'imm f"1" $lls0v'
    pairs = [(key, group) for key in range(16) for group in range(4)]
    for number in range(len(pairs) + 1):
        items = []
        if number < len(pairs):
            key, group = pairs[number]
            items.append(f"lxor $lm{2 * key} $ln{8 * group}v $omr1")
        if number:
            items.append(f"dvpassa $ls0v $lr{2 * pairs[number - 1][0]}/$imr1")
        done, phase = divmod(number, 16)
        if phase == 2 and 0 < done < 4:
            items.append(f"l1bmrlor $lr{8 * (done - 1)}v $lb{16 * (done - 1)}")
        yield "; ".join(items)
    yield from ("nop", "l1bmrlor $lr24v $lb48", "nop/2")
    yield "l1bmd $lb0 $lr64v   # MAB = key"
    yield from ("msr $lbf $nowrite", "lor $aluf $lr64v $lr72v", "msr $aluf $nowrite", "msr $aluf $nowrite")
    yield from ("lor $aluf $lr72v $nowrite", "l1bmd $aluf $lb64", "nop/2")
    for group in range(4):
        yield f"l1bmm $lb{64 + 16 * group} $ln{32 + 8 * group}v"


def inversion_small() -> Iterator[str]:
    """28 pairs (i < j) of 8 values in 7 lines: the ALU's borrow flag says a_i <= a_j, the MAU subtracts 1 under it.

    Eight lanes (two GRFs, four cycles) start at 3.5 each, so their sum is 28 minus the ordered pairs.
    """
    pairs = [(i, j) for j in range(1, 8) for i in range(j)]
    yield from ("lpassa $llm0v $llr0v $lls0v", 'imm f"-1" $lln0v', 'imm f"3.5" $lr16v $ls16v')
    for number in range(8):
        items = []
        if number < 7:
            group = pairs[4 * number : 4 * number + 4]
            left, right = (str([2 * pair[side] for pair in group]).replace(" ", "") for side in (0, 1))
            items.append(f"uisub $lm{right} ${'lr' if number % 2 == 0 else 'ls'}{left} $omr1")
        if number:
            items.append(_count_down(f"${'ls' if number % 2 == 0 else 'lr'}16v"))
        yield "; ".join(items)
    yield from _sum_of_lanes(16)
    yield "fftoi $mauf $ln0"


def inversion() -> Iterator[str]:
    """64 values per sequence: L1B number i of the 64 counts the j < i with a_j > a_i; the reduction tree adds.

    The base address 2i makes `$lm0` a_i and `$lm3968..` the 64 values before it; addresses below 0 wrap to the end of
    LM0, whose zeros are greater than nothing.  Eight lanes start at 8, so their sum is 64 minus the ordered pairs.
    """
    yield from ('imm i"3" $nowrite', "ilsl $l2bid $aluf $nowrite", "iadd $l1bid $aluf $nowrite", "iadd $aluf $aluf $mb")
    yield from ('imm f"8" $lr16v $ls16v', 'imm f"-1" $lln0v', "lpassa $lm0 $t", "nop")
    for number in range(17):
        items = []
        if number < 16:
            items.append(f"uisub $t $lm{3968 + 8 * number}v $omr1")
        if number:
            items.append(_count_down(f"${'lr' if number % 2 == 0 else 'ls'}16v"))
        yield "; ".join(items)
    yield from _sum_of_lanes(16)
    yield from ("l1bmd $mauf $lb0         # the sum is in cycle 3", "nop/3", "l2bmrffadd $lb192 $lc0", "nop")
    yield from ("mvrffadd/n64 $lc0 $p0@0", "mvb/n64 $p0@0 $lc64", "nop/2", "l2bmb $lc64 $lb256", "nop/2")
    yield from ("l1bmd $lb256 $nowrite", "fftoi $lbf $ln0/1000")


def _count_down(lane: str) -> str:
    return f"fvadd {lane} $ln0v {lane}/$imr1"


def _sum_of_lanes(at: int) -> Iterator[str]:
    """Add GRF0 and GRF1 [at .. at + 7] over the four cycles; the sum is $mauf in cycle 3."""
    yield from ("nop", f"fvadd $lr{at}v $ls{at}v $lr{at}v $ls{at}v", "nop")
    low, high, to = f"[{at},{at},{at},{at + 4}]", f"[{at + 2},{at + 2},{at + 2},{at + 6}]", at + 8
    yield f"fvadd $lr{low} $ls{high} $lr[{to},{to + 4},{to + 6},{to + 2}]"
    yield f"fvadd $mauf $lr[128,128,128,{to}] $nowrite"


GENERATED: dict[str, Callable[[], Iterator[str]]] = {
    "mul_7": mul_7,
    "abs": absolute,
    "fadd_mul": fadd_mul,
    "mul2": mul2,
    "transpose": transpose,
    "contains": contains,
    "inversion_small": inversion_small,
    "inversion": inversion,
}


def text(name: str) -> str:
    """The file content of one generated solution."""
    return "\n".join(["# Written by generate.py.", *GENERATED[name]()]) + "\n"


if __name__ == "__main__":
    for solution in GENERATED:
        (HERE / f"{solution}.vsm").write_text(text(solution))
