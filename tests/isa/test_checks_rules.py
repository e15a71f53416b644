"""One refused line for every rule of a line and its context, with a legal neighbour (isa.md 5.3, 8.4, 3.11)."""

from __future__ import annotations

import pytest

from isa import AsmError, assemble

CASES = [
    ("line/group", 'imm i"1" $r0; zero $s0', 'imm i"1" $r0 $s0'),
    ("line/group", "noforward; noforward", "noforward"),
    ("line/group", "nop; wait i01; wait i02", "nop; wait i01"),
    ("line/nop", "nop; l2bmb $lc0 $lb0", "nop; wait i01"),
    ("line/nop", "nop/2;", "nop/2"),
    ("line/wait", "wait i01", "nop; wait i01"),
    ("wait/tag", "nop; wait i00", "nop; wait iff"),
    (
        "line/mau",
        "gmwrite $lr0v $lx0; gmread $ly0 $ls0v; gmmul $lx $lr0v $ln0v",
        "gmwrite $lr0v $lx0; gmread $ly0 $ls0v",
    ),
    (
        "line/precision",
        "fmwrite $ls0v $ly0; gmmul $lx $lr0v $ln0v",
        "gmwrite $ls0v $ly0; gmmul $lx $lr0v $ln0v",
    ),
    (
        "line/matrix-plane",
        "gmwrite $ls0v $lx0; gmmul $lx $lr0v $ln0v",
        "gmwrite $ls0v $ly0; gmmul $lx $lr0v $ln0v",
    ),
    (
        "line/mwrite-source",
        "fmwrite $lr0v $lx0; fvmul $lr0v $ls0v $ln0v",
        "fmwrite $lr0v $lx0; fvmul $ls0v $lr0v $ln0v",
    ),
    (
        "line/l1bm",
        "l1bmm $lb0 $lr0v; l1bmm@0 $ls0v $lb64",
        "l1bmm@0 $ls0v $lb0\nl1bmm $lbi $lr0v; l1bmm@0 $ls8v $lb64",
    ),
    ("port/read", "ladd $lr0v $lr2v $ln0v", "ladd $lr0v $lr0v $ln0v"),
    ("port/write", "lpassa $lr0v $ls0v $ls8v", "lpassa $lr0v $ls0v $ln0v"),
    ("port/write", "lpassa $lr0v $mb $lm0v", "lpassa $lr0v $mb $ln0v"),
    ("port/local-memory", "lpassa $lm0v $m0v", "lpassa $lm0v $lm0v"),
    ("port/local-memory", "lpassa $ln0v $nb", "lpassa $ln0v $mb"),
    ("port/immediate", 'imm i"1" $r0; fvadd $lm0v $ls0v $ln0v', 'imm i"1" $r0; fvadd $ln0v $ls0v $ln0v'),
    (
        "mask/flush",
        "lpassa/1000 $lr0v $ls0v; fvadd/1000 $lr0v $lm0v $ln0v",
        "lpassa/1000 $lr0v $ls0v; fvadd $lr0v $lm0v $ln0v",
    ),
    ("mask/entry", "lpassa $lr0v $ls0v/1000 $lm0v/0100", "lpassa $lr0v $ls0v/1000 $lm0v/$imr24"),
    ("mask/length-conflict", "lpassa/ll1000 $lr0v $ls0v/1000", "lpassa/ll1000 $lr0v $ls0v/ll1000t"),
    (
        "mask/width-conflict",
        "lpassa $llr0v $lls0v/1000p $lm0v/1000",
        "lpassa $llr0v $lls0v/1000p $llm0v/1000p",
    ),
    ("mask/width-conflict", "lpassa $lr0v $lls0v/1000p $t/1000", "lpassa $llr0v $lls0v/1000p $t/1000"),
    ("operand/nowrite", "lpassa $lr0v $ls0v $nowrite", "lpassa $lr0v $nowrite"),
    ("latch/empty", "lpassa $aluf $lr0v", "linc $ls0v $ln0v\nnop\nlpassa $aluf $lr0v"),
    (
        "latch/empty",
        "linc $ls0v $ln0v; noforward\nlpassa $aluf $lr0v",
        "linc $ls0v $ln0v\nlpassa $aluf $lr0v",
    ),
    ("latch/empty", "l1bmm@0 $lbf $lb0", "l1bmm $lb0 $nowrite\nnop/2\nl1bmm@0 $lbf $lb0"),
    ("turnaround/empty", "l1bmm $lbi $lr0v", "l1bmm@0 $ls0v $lbi\nl1bmm $lbi $lr0v"),
    (
        "turnaround/mismatch",
        "l1bmm@0 $ls0v $lbi\nl1bmm4 $lbi $lr0v",
        "l1bmm4@0 $ls0v $lbi\nl1bmm4 $lbi $lr0v",
    ),
    (
        "turnaround/mismatch",
        "l1bmm@0 $lls0v $llbi\nl1bmm $lbi $lr0v",
        "l1bmm@0 $lls0v $llbi\nl1bmm $llbi $llr0v",
    ),
    ("turnaround/mismatch", "l1bmd+1 $ls0v $lbi\nl1bmd $lbi $lr0v", "l1bmd+1 $ls0v $lbi\nl1bmd+1 $lbi $lr0v"),
    ("item/operands", "ladd $lr0v $ls0v", "ladd $lr0v $ls0v $ln0v"),
    ("operand/place", "ladd $lr0v $mreadf $ln0v", "ladd $mreadf $lr0v $ln0v"),
    ("operand/modifier", "hvadd $lr0ve $lls0v $lln0v", "hvadd $llr0vr $lls0v $lln0v"),
    ("operand/matrix", "gmmul $lx0 $lr0v $ls0v", "gmmul $lx $lr0v $ls0v"),
    ("item/zero-flush", "gbfn/1000 $lr0v $ls0v", "hbfn/9/1000 $lr0v $ls0v"),
    ("suffix/missing", "hbfn $lr0v $ls0v", "hbfn/6 $lr0v $ls0v"),
    ("suffix/range", "l2bmi@0/7 $lb0 $lb64", "l2bmi@0/6 $lb0 $lb64"),
    ("matrix/width", "hmread $lx0 $llr0v", "hmread $llx0 $llr0v"),
    ("matrix/alignment", "hmread $llx1 $llr0v", "hmread $llx2 $llr0v"),
    ("matrix/destinations", "dmread $lx0 $r0v $ls0v", "dmread $lx0 $lr0v $ls0v"),
    ("l1bm/width", "l1bmm $lb0 $llr0v", "l1bmm $llb0 $llr0v"),
    ("l1bm/wide-reduction", "l1bmrdmax $llr0v $llb0", "l1bmrfmax $llr0v $llb0"),
    ("l2bm/width", "l2bmb $lc0 $llb0", "l2bmb $lc0 $lb0"),
    ("address/alignment", "l2bmr2dfadd $lb0 $lc16", "l2bmr2dfadd $lb0 $lc64"),
    ("mv/form", "mvb/n64 $lc0 $d0", "mvb/n64 $d0 $lc0"),
    ("mv/place", "mvp/n64 $p0 $d0", "mvp/n64 $p0@0 $d0@0"),
    ("mv/size", "mvp/n32 $p0@0 $lc0@0.0", "mvp/n64 $p0@0 $lc0@0.0"),
    ("mv/suffix", "mvp/n64nd1 $d0@0 $lc0@0.0", "mvp/n64nd1 $di0@0 $lc0@0.0"),
    ("mv/tag", "mvp/n64i1 $p0@0 $lc0@0.0", "mvp/n64i01 $p0@0 $lc0@0.0"),
    ("mask/line", "maskx 1", "maskr 1"),
]


@pytest.mark.parametrize(("rule", "refused", "accepted"), CASES, ids=[f"{case[0]}: {case[1]}" for case in CASES])
def test_rule(rule: str, refused: str, accepted: str) -> None:
    with pytest.raises(AsmError) as caught:
        assemble(refused)
    assert caught.value.rule == rule
    assert assemble(accepted).lines or accepted.startswith("mask")
