"""Solutions of the matrix products, as straight-line code for the scheduler.

Single precision data go through pseudo-single products (`g`: blocks of 8, 18 significant bits, exact for the integer
data of the problems); where K is 4 per PE group, plain single products (`f`, blocks of 4) do.
A product gives matrix rows times vectors, both along K over the PEs.  Operands that have K along the addresses are
transposed with a raw write and a transposed read.
"""

from __future__ import annotations

from traces.records_mnist.programs_copy import interleaved_rows


def trb_mab_lm_4_8_16() -> str:
    """Lines written by hand: conversion, matrix write and product overlap."""
    return """
        gbfn $lm8v $nowrite
        gbfn $lm16v $nowrite; gmwrite $aluf $lx0
        gbfn $lm0v $lr0v; gmwrite $aluf $lx4
        gbfn $lm24v $nowrite; gmmul $lx $aluf $ln0v4
        gbfn $lm32v $nowrite; gmwrite $aluf $ly0
        gmwrite $aluf $ly4
        gmmul $ly $lr0v $ln2v4
    """


def _load(plane: str, rows: str, next_rows: str, scratch: int) -> list[str]:
    """Convert 8 rows of 8 to block floats and write them to a plane."""
    return [
        f"gbfn {rows} $ls{scratch}v",
        f"gmwrite $ls{scratch}v ${plane}0",
        f"gbfn {next_rows} $ls{scratch + 8}v",
        f"gmwrite $ls{scratch + 8}v ${plane}4",
    ]


def _trb_32(b: int, out: str) -> list[str]:
    """32 x 8 times (16 x 8)^T.  out: memory letter for the rows of four words."""
    code = _load("lx", f"$lm{b}v", f"$lm{b + 8}v", 0)
    x = [f"$ls{64 + 8 * s}v" for s in range(8)]
    late = _load("ly", f"$lm{b + 16}v", f"$lm{b + 24}v", 16)
    for s in range(8):
        code += [f"gbfn $lm{8 * s}v {x[s]}", f"gmmul $lx {x[s]} $l{out}{16 * s}v4"]
        code += late if s == 1 else []
    return code + [f"gmmul $ly {x[s]} $l{out}{16 * s + 2}v4" for s in range(8)]


def trb_mab_lm_32_8_16() -> str:
    return "\n".join(_trb_32(64, "n"))


def _transpose(plane: str, rows: str, next_rows: str, to: str, at: int) -> list[str]:
    """8 x 8 words: the columns come out as block-float vectors, eight long words from `at` in GRF `to`."""
    return [
        f"gmwrite {rows} ${plane}0",
        f"gmwrite {next_rows} ${plane}4",
        f"gmread ${plane}0 $nowrite",
        f"gbfn $mreadf $l{to}{at}v",
        f"gmread ${plane}4 $nowrite",
        f"gbfn $mreadf $l{to}{at + 8}v",
    ]


def notr_mab_lm_4_16_16() -> str:
    """B is transposed block by block; its columns become matrix rows."""
    code = []
    for n, (kb, nb) in enumerate((kb, nb) for nb in (0, 1) for kb in (0, 1)):
        row = 16 + 32 * kb + 2 * nb
        code += _transpose("lx" if n % 2 else "ly", f"$lm{row}v4", f"$lm{row + 16}v4", "s", 16 * n)
    code += ["gbfn $lm0v4 $lr0v", "gbfn $lm2v4 $lr8v"]
    for nb in (0, 1):
        for kb, plane in enumerate(("lx", "ly")):
            at = 16 * (2 * nb + kb)
            code += [f"gmwrite $ls{at}v ${plane}0", f"gmwrite $ls{at + 8}v ${plane}4"]
        code += ["gmmul $lx $lr0v $nowrite", f"gmfma $ly $lr8v $mauf $ln{2 * nb}v4"]
    return "\n".join(code)


# The order of the work and the matrix planes that keep both planes busy; found by trying random orders.
# B: transpose rows 8k.. of B; L, R: of the left, right half of A; P: add the product of these rows.
_TRA_ORDER = "B0y L0x R0y B1y L1y R1x B2x P0x L2x P1y R2y B3x L3y R3y P2x P3y"


def _tra_32(out: str, at: int) -> list[str]:
    """(32 x 16)^T times 32 x 8; row i of the result is long word i from `at` in memory `out`."""
    code = []
    for what, k, letter in ((step[0], int(step[1]), step[2]) for step in _TRA_ORDER.split()):
        plane = "l" + letter
        if what == "B":
            row = 128 + 16 * k
            code += _transpose(plane, f"$lm{row}v", f"$lm{row + 8}v", "s", 16 * k)
        elif what in "LR":
            half = "LR".index(what)
            row = 32 * k + 2 * half
            code += _transpose(plane, f"$lm{row}v4", f"$lm{row + 16}v4", "r", 32 * k + 16 * half)
        else:
            code += [f"gmwrite $ls{16 * k}v ${plane}0", f"gmwrite $ls{16 * k + 8}v ${plane}4"]
            for i in range(4):
                x, sums = f"$lr{32 * k + 8 * i}v", f"$ls{64 + 8 * i}v"
                target = f"$l{out}{at + 8 * i}v" if k == 3 else sums
                code.append(f"gmfma ${plane} {x} {sums} {target}" if k else f"gmmul ${plane} {x} {target}")
    return code


def tra_mab_lm_16_32_8() -> str:
    return "\n".join(_tra_32("n", 0))


def trb_pkg_lm_256_16_16() -> str:
    code = ["gbfn $lm0v4 $lr0v", "gbfn $lm2v4 $lr8v"]
    for nb in (0, 1):
        for kb, plane in enumerate(("lx", "ly")):
            row = 16 + 32 * nb + 2 * kb
            code += _load(plane, f"$lm{row}v4", f"$lm{row + 16}v4", 16 * (2 * nb + kb))
        code += ["gmmul $lx $lr0v $nowrite", f"gmfma $ly $lr8v $mauf $ln{2 * nb}v4"]
    return "\n".join(code)


def trb_pkg_lmdram_256_1024_16() -> str:
    """K = 8 per MAB; the partial sums meet in the L1BM (over MABs) and the L2BM (over L1Bs)."""
    code = _trb_32(64, "r")
    code += [f"l1bmrffadd $llr{16 * s}v $llb{32 * s}" for s in range(8)]
    code += [f"l2bmrffadd $lb{64 * s} $lc{64 * s}" for s in range(4)]
    return "\n".join([*code, "mvp/n256 $lc0@.0 $d0", "mvp/n256 $lc0@.1 $d256"])


def tra_pkg_lmdram_16_256_16() -> str:
    """K = 4 per L1B: double moves transpose long words, so K comes to lie over the PEs, two columns per long word."""
    code = []
    for n, (at, to) in enumerate(((0, "$lr0v"), (2, "$lr8v"), (16, "$ls0v"), (18, "$ls8v"))):
        plane = "ly0" if n % 2 else "lx0"
        code += [f"dmwrite $lm{at}v4 ${plane}", f"dmread ${plane} $nowrite", f"fbfn $mreadf {to}"]
    for u, plane in enumerate(("lx", "ly")):
        code += [f"fmwrite $s{8 * u}v ${plane}0", f"fmwrite $s{8 * u + 4}v ${plane}4"]
        code += [f"fmmul ${plane} $r{4 * t}v $lr{128 + 16 * t + 2 * u}v4" for t in range(4)]
    code += [f"l1bmm@0 $llr{interleaved_rows(s, 128)} $llb{32 * s}" for s in range(4)]
    return "\n".join([*code, "l2bmrffadd $lb0 $lc0", "l2bmrffadd $lb64 $lc64", "mvrffadd/n128 $lc0 $d0"])


def tra_pkg_lmdram_16_256_1024() -> str:
    """K over the L2Bs: rows are joined over MABs and L1Bs and added on the way to a PDM."""
    code = _tra_32("r", 128)
    code += [f"l1bmd $lr{128 + 8 * s}v $lb{256 * s}" for s in range(4)]
    code += [f"l2bmd $lb{32 * s} $lc{256 * s}" for s in range(32)]
    code += ["mvrffadd/n8192 $lc0 $p0@0"]
    return "\n".join(code + [f"mvp/n2048 $p{2048 * g}@0 $d0@{g}" for g in range(4)])


PROGRAMS = {
    f"matmul_{name}": f
    for name, f in {
        "trb_mab_lm_4_8_16": trb_mab_lm_4_8_16,
        "trb_mab_lm_32_8_16": trb_mab_lm_32_8_16,
        "notr_mab_lm_4_16_16": notr_mab_lm_4_16_16,
        "tra_mab_lm_16_32_8": tra_mab_lm_16_32_8,
        "notr_pkg_lm_256_16_16": notr_mab_lm_4_16_16,  # every L1B has four rows, laid out as for one MAB
        "trb_pkg_lm_256_16_16": trb_pkg_lm_256_16_16,
        "trb_pkg_lmdram_256_1024_16": trb_pkg_lmdram_256_1024_16,
        "tra_pkg_lmdram_16_256_16": tra_pkg_lmdram_16_256_16,
        "tra_pkg_lmdram_16_256_1024": tra_pkg_lmdram_16_256_1024,
    }.items()
}
