"""Solutions of the reductions, as straight-line code for the scheduler."""

from __future__ import annotations

from traces.records_mnist.programs_elementwise import ONE, QUARTER, fill_matrix


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
    """MAB n and MAB 8 + n take row n: the sum over four MABs reaches the L1BM once per cycle, as each group needs it."""
    return """
        imm i"31" $lr0v
        land $peid $aluf $lt
        l1bmr4ffadd $llmt0 $llb0
        l2bmrffadd $lb0 $lc0
        mvrffadd/n64 $lc0 $d0
    """


def gather_sum() -> str:
    """MAB m of L1B b gathers row 8b + m / 2; that makes four copies of each row, hence the quarters in the matrix."""
    return "\n".join(
        [
            'imm i"4" $lr0v',
            "llsl $l1bid $aluf $ls0v",
            'imm i"1" $lr8v',
            "ladd $mabid $ls0v $nowrite",
            "ullsr $aluf $lr8v $ls8v $lt",
            'imm i"32" $lr16v',
            'imm i"2" $lr24v',
            'imm i"3" $lr32v',
            "ullsr $mt256 $lr16v $ls16v",
            "land $ls16v $lr8v $lr40v",
            "ullsr $ls16v $lr24v $nowrite",
            "land $aluf $lr24v $nowrite",
            "ladd $aluf $lr40v $lr40v",
            "llsl $ls8v $lr24v $nowrite",
            "ladd $aluf $lr40v $ls24v $lt",
            "ullsr $ls16v $lr8v $nowrite",
            "land $aluf $lr32v $ls32v",
            "lxor $subpeid $ls32v $ls40v $omr1",
            *fill_matrix(QUARTER),
            "fvpassa/$imr1 $mt0 $nowrite",
            "fbfn $mauf $lr56v",
            "fmmul $lx $lr56v $lr64v",
            "l1bmrffadd $lr64v $lb0",
            "l2bmrffadd $lb0 $lc0",
            "mvrffadd/n64 $lc0 $d0",
        ]
    )


PROGRAMS = {f.__name__: f for f in (sum_row_mini, sum_row, max_row, sum_col, gather_sum)}
