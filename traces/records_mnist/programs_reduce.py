"""Solutions of the reductions."""

from __future__ import annotations

from traces.records_mnist.programs_elementwise import HALF, ONE


def sum_row_mini() -> str:
    """A matrix of ones adds the four PEs' words, so the sum arrives in every PE."""
    return f"""
        imm i"{ONE}" $ls200v
        fvpassa $lm0v4 $nowrite; fmwrite $aluf $lx0
        fvadd $lm2v4 $mauf $nowrite; fmwrite $ls200v $lx4
        fbfn $mauf $lr0v
        fmmul $lx $aluf $nowrite
        fmfma $lx $r1v2 $mauf $n0v
    """


# MAB m works on the rows 2m, 2m + 1, 2m + 32, 2m + 33 (word addresses 8m + 0, 4, 128, 132) and sends two long words,
# the second one two cycles later, when its last word is there.
_SHARE_VECTOR = """
        nop/2
        l1bmm $llb0 $lln0v
        l1bmm $llb32 $lln16v
        l1bmm $llb128 $lln32v
        l1bmm $llb160 $lln48v
    """


def sum_row() -> str:
    return f"""
        imm i"3" $nowrite
        llsl $mabid $aluf $lt
        imm i"{ONE}" $ls200v
        fvpassa $lmt[0,4,128,132] $nowrite; fmwrite $aluf $lx0
        fvadd $lmt[2,6,130,134] $mauf $nowrite; fmwrite $ls200v $lx4
        fbfn $mauf $lr0v
        fmmul $lx $aluf $nowrite
        fmfma $lx $r1v2 $mauf $s0v
        nop
        l1bmd $ls[0,0,2,2] $lb0
    """ + _SHARE_VECTOR


def max_row() -> str:
    return """
        imm i"3" $nowrite
        llsl $mabid $aluf $lt
        nop
        lpassa $lmt[0,4,128,132] $nowrite
        fmax $aluf $lmt[2,6,130,134] $lr0v
        msl $aluf $nowrite
        fmax $aluf $lr0v $ls0v
        msl $aluf $nowrite
        msl $aluf $nowrite
        fmax $aluf $ls0v $lr8v $ls8v
        nop
        fmax $r8v2 $s9v2 $r16v
        nop
        l1bmd $lr[16,16,18,18] $lb0
    """ + _SHARE_VECTOR


def sum_col() -> str:
    """MABs n and 8 + n take row n: the sum over four MABs reaches the L1BM in every cycle, once for each group."""
    return """
        imm i"31" $lr0v
        land $peid $aluf $lt
        l1bmr4ffadd $llmt0 $llb0
        l2bmrffadd $lb0 $lc0
        mvrffadd/n64 $lc0 $d0
    """


def gather_sum() -> str:
    """MAB m of L1B b has half m mod 2 of row 8b + m / 2.  It keeps the word whose column is the label, as in `onehot`.

    Both L2Bs of a group add the same, hence the halves in the matrix, which adds the PEs.
    """
    return f"""
        imm i"4" $nowrite
        llsl $l1bid $aluf $ls0v
        imm i"1" $lr8v
        ladd $mabid $ls0v $ls8v
        ullsr $aluf $lr8v $lt
        imm i"{HALF}" $ls200v
        lpassa $mt256 $r24v; fmwrite $aluf $lx0
        llsl $ls8v $lr8v $lt
        imm i"7" $nowrite; fmwrite $ls200v $lx4
        iand $peid $aluf $nowrite
        ilsl $aluf $lr8v $nowrite
        linc $aluf $nowrite
        ixor $aluf $lr24 $ls24v $omr1
        fvpassa/$imr1 $lmt0 $nowrite
        fbfn $mauf $ls16v
        fmmul $lx $aluf $nowrite
        fmfma $lx $s17v2 $mauf $nowrite
        l1bmrffadd $mauf $lb0
        nop/3
        l2bmrffadd $lb0 $lc0
        nop
        mvrffadd/n64 $lc0 $d0
    """


PROGRAMS = {f.__name__: f for f in (sum_row_mini, sum_row, max_row, sum_col, gather_sum)}
