"""Solutions of the element-wise problems.

Row-wise problems hold the same 256 words in every MAB, so each MAB works on an eighth of the rows and half of their
columns, and the parts are exchanged through the L1BM (`share`).
"""

from __future__ import annotations

from collections.abc import Iterator

# exp(x) = 2^k * 2^f with x * log2(e) = k + f, |f| <= 1/2.  Adding 1.5 * 2^23 leaves k in the low mantissa bits.
_LOG2E = "1.44269504089"
_MAGIC = "12582912"
# 2^f on [-1/2, 1/2], lowest power first, least relative error: 7.7e-8 and 2.6e-6
_EXP2_5 = ("1.00000007", "0.693146968", "0.240221143", "0.055507096", "0.00967575764", "0.00132779389")
_EXP2_4 = ("0.999999261", "0.693121815", "0.240247448", "0.0559178603", "0.00957010191")


def mat_sub() -> str:
    """The copy of B leaves its even long words in the forwarding latch: they are subtracted in the next line."""
    return """
        lpassa $llm16v $llr0v
        fvadd $lm0v4 -$aluf $ln0v4
        fvadd $lm2v4 -$lr2v4 $ln2v4
    """


def add_colvec() -> str:
    return """
        lpassa $lm[16,18,16,18] $lr0v
        fvadd $lm0v $aluf $ln0v
        fvadd $lm8v $lr0v $ln8v
    """


def relu() -> str:
    return """
        frelu $lm0v $lm0v $ln0v
        frelu $lm8v $lm8v $ln8v
    """


def relu_grad() -> str:
    return """
        imm f"1.0" $lr0v
        frelu $lm0v $aluf $ln0v
        frelu $lm8v $lr0v $ln8v
    """


def _exp(coefficients: tuple[str, ...], underflow: bool) -> str:
    """Lines written by hand.  The even long words go first, with constants made by the ALU one line ahead of their use
    and kept for the odd ones; all values of one half follow each other through the MAU's forwarding latch."""
    degree = len(coefficients) - 1
    x, later_x, f = "$lm0v4", "$lm2v4", "$lr16v"
    code = [
        f'imm f"{_LOG2E}" $lr0v',
        f'imm f"{_MAGIC}" $ls0v',
        f"fvfma {x} $lr0v $aluf $ln32v; lpassa {x} $ls16v",
        f'fvadd $mauf -$ls0v $nowrite; imm f"{coefficients[degree]}" $lr32v',
        f'fvfma $ls16v $lr0v -$mauf {f}; imm f"{coefficients[degree - 1]}" $ls40v',
    ]
    for n in range(degree - 2, -1, -1):
        times = "$lr32v" if n == degree - 2 else f
        code.append(f'fvfma $mauf {times} $aluf $nowrite; imm f"{coefficients[n]}" $ls{48 + 8 * (degree - 2 - n)}v')
    code += [
        f'fvfma $mauf {f} $aluf $lr24v; imm i"23" $t',
        f"fvfma {later_x} $lr0v $ls0v $ls104v; ilsl $ln32v $aluf $nowrite",
        "fvadd $mauf -$ls0v $nowrite; iadd $aluf $lr24v $ln0v4",
        f"fvfma {later_x} $lr0v -$mauf {f}; ilsl $ls104v $t $ls88v",
        "fvfma $mauf $lr32v $ls40v $nowrite",
    ]
    code += [f"fvfma $mauf {f} $ls{48 + 8 * n}v $nowrite" for n in range(degree - 1)]
    if underflow:  # the exponent field of a tiny result ran below 0 and set the sign bit
        code[-2] += "; frelu $ln0v4 $ln0v4 $ln0v4"
        return "\n".join([*code, "iadd $mauf $ls88v $nowrite", "frelu $aluf $aluf $ln2v4"])
    return "\n".join([*code, "iadd $mauf $ls88v $ln2v4"])


def exp() -> str:
    return _exp(_EXP2_5, underflow=True)


def exp_lowprec() -> str:
    return _exp(_EXP2_4, underflow=False)


def share() -> Iterator[str]:
    """From the L1BM to all PEs: long word 64k + 4m of MAB m is the first (m even) or second half of row m / 2 + 8k."""
    for k in range(8):
        for h in (0, 1):
            yield f"l1bmm $llb{64 * k + 32 * h} $lln{16 * h + 32 * k}v"


# Block-float numbers (no hidden bit, exponent field 127) for matrices that hold one number everywhere: the product adds
# the four PEs' numbers, or repeats a number they share in both words of every PE.
QUARTER = "0x3F900000"  # 2^20 in the mantissa field: 2^20 * 2^-22
MINUS_QUARTER = "-0x40700000"
HALF = "0x3FA00000"
ONE = "0x3FC00000"


def sub_rowvec() -> str:
    """A product with -1/4 everywhere repeats -b in both words and adds the row: one fmfma for four half rows."""
    return "\n".join(
        [
            'imm i"1" $lr100v',
            "ullsr $mabid $aluf $lt",
            f'imm i"{MINUS_QUARTER}" $ls200v',
            "fbfn $mt256v8 $lr0v; fmwrite $aluf $lx0",
            "fbfn $mt288v8 $lr8v; fmwrite $ls200v $lx4",
            "llsl $mabid $lr100v $lt",
            "nop",
            "fmfma $lx $lr0v $lmt0v32 $nowrite",
            "fmfma $lx $lr8v $lmt128v32 $nowrite; l1bmd $mauf $lb0",
            "l1bmd $mauf $lb256",
            "nop/2",
            *share(),
        ]
    )


def div_row() -> str:
    """1/b by a table value squared, a third-order step (1 + e + e^2) and a Newton step; then repeated in both words.

    Long word c holds the divisors of the MAB pair's rows a + 8c and a + 8c + 32.
    """
    return "\n".join(
        [
            'imm i"1" $lr100v',
            "ullsr $mabid $aluf $lt",
            'imm i"32" $nowrite',
            "ullsr $mt288v8 $aluf $nowrite",
            "lor $aluf $mt256v8 $ls0v",
            "frsqrt $aluf $nowrite",
            'fvmul $aluf $aluf $lr0v; imm f"1.0" $ln124v',
            f'fvfma -$ls0v $mauf $aluf $nowrite; imm i"{QUARTER}" $lr200v',
            "fvfma $mauf $mauf $mauf $nowrite; llsl $mabid $lr100v $lt",
            "fvfma $mauf $lr0v $lr0v $lr8v",
            "fvfma -$ls0v $mauf $ln124v $nowrite",
            "fvfma $mauf $lr8v $lr8v $nowrite",
            "fbfn $mauf $lr16v; fmwrite $lr200v $lx0",
            "fmwrite $lr200v $lx4",
            "fmmul $lx $lr16v $ls24v",
            "fmmul $lx $r17v2 $ls32v",
            "fvmul $ls24v $lmt0v32 $nowrite",
            "fvmul $ls32v $lmt128v32 $nowrite; l1bmd $mauf $lb0",
            "l1bmd $mauf $lb256",
            "nop/2",
            *share(),
        ]
    )


def onehot_mini() -> str:
    """The labels, repeated in both words, are compared with the PE's columns; the flags keep or clear 1.0."""
    return """
        imm i"1" $nowrite
        ilsl $subpeid $aluf $nowrite
        linc $aluf $ls0v
        imm i"8" $nowrite
        ior $aluf $ls0v $ls8v
        lpassa $m[0,0,1,1] $r0v
        lpassa $m[2,2,3,3] $r4v
        imm f"1.0" $t
        ixor $lr0v $ls0v $lr8v $omr1
        ixor $lr0v $ls8v $lr8v $omr2; fvpassa/$imr1 $t $ln0v4
        fvpassa/$imr2 $t $ln2v4
    """


def onehot() -> str:
    """Every PE compares its two columns with the labels of its eight rows; the flags keep or clear 1.0."""
    return "\n".join(
        [
            'imm i"1" $lr100v',
            "ullsr $mabid $aluf $lt",
            'imm i"7" $nowrite',
            "iand $peid $aluf $nowrite",  # 4 * (MAB mod 2) + PE: half of the first column's number
            "ilsl $aluf $lr100v $nowrite",
            "linc $aluf $ls0v",
            *(f"lpassa $mt[{16 * n},{16 * n},{16 * n + 8},{16 * n + 8}] $r{4 * n}v" for n in range(4)),
            'imm f"1.0" $ls124v',
            "ixor $lr0v $ls0v $t $omr1",
            "ixor $lr8v $ls0v $t $omr2",
            "fvpassa/$imr1 $ls124v $nowrite",
            "fvpassa/$imr2 $ls124v $nowrite; l1bmd $mauf $lb0",
            "l1bmd $mauf $lb256",
            "nop/2",
            *share(),
        ]
    )


PROGRAMS = {
    f.__name__: f
    for f in (mat_sub, add_colvec, sub_rowvec, div_row, relu, relu_grad, exp, exp_lowprec, onehot_mini, onehot)
}
