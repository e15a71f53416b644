"""Coefficients and limits of `transcendental` in single and double precision.

Polynomials have the constant coefficient first.  Those in single precision are least-squares fits reweighted towards
the smallest largest error, those in double precision interpolate at Chebyshev points; all are rounded.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Tables:
    """One precision.

    mantissa: bits of it.  rounds: steps that triple the correct bits of the table of 1/sqrt before one that doubles
    them.  log2_e: 1 / ln 2.  ln2_high + ln2_low: ln 2, the first with so few bits that its multiples by an exponent are
    exact.  lowest, highest: exp is zero from below the one and infinite above the other.  exp: exp(r) for
    |r| <= ln(2) / 2.  half_root: bits of sqrt(1/2).  log: (log(1 + f) - f + f**2 / 2) / f**3 for
    sqrt(1/2) <= 1 + f <= sqrt(2).  tanh: (tanh(x) / x - 1) / x**2 in x**2 for |x| <= 0.625.
    """

    mantissa: int
    rounds: int
    log2_e: float
    ln2_high: float
    ln2_low: float
    lowest: float
    highest: float
    exp: tuple[float, ...]
    half_root: int
    log: tuple[float, ...]
    tanh: tuple[float, ...]


#: Largest relative errors: exp 3.1e-9, log 7.5e-10, tanh 4.4e-9.
SINGLE = Tables(
    mantissa=23,
    rounds=1,
    log2_e=1.4426950216293335,
    ln2_high=0.693145751953125,
    ln2_low=1.428606765330187e-06,
    lowest=-88.0,
    highest=89.0,
    exp=(
        1.0,
        1.0,
        0.4999999403953552,
        0.1666652113199234,
        0.04166838899254799,
        0.008368716575205326,
        0.001381459878757596,
    ),
    half_root=0x3F3504F3,
    log=(
        0.3333331346511841,
        -0.25000008940696716,
        0.2000211924314499,
        -0.1666799634695053,
        0.14219552278518677,
        -0.1240558922290802,
        0.11888162046670914,
        -0.11675652116537094,
        0.06746640056371689,
    ),
    tanh=(-0.3333328068256378, 0.13331441581249237, -0.05373971536755562, 0.02063908614218235, -0.005704986862838268),
)

#: Largest relative errors: exp 3.2e-18, log 1.0e-17, tanh 1.6e-18.
DOUBLE = Tables(
    mantissa=52,
    rounds=2,
    log2_e=1.4426950408889634,
    ln2_high=0.6931471803691238,
    ln2_low=1.9082149292705877e-10,
    lowest=-709.0,
    highest=710.0,
    exp=(
        1.0,
        1.0,
        0.5000000000000019,
        0.1666666666666668,
        0.04166666666648666,
        0.00833333333331949,
        0.0013888888952696516,
        0.00019841269890340666,
        2.4801485074105115e-05,
        2.7557240604663896e-06,
        2.763279054211718e-07,
        2.511015364692893e-08,
    ),
    half_root=0x3FE6A09E667F3BCD,
    log=(
        0.33333333333333337,
        -0.2499999999999993,
        0.19999999999993223,
        -0.16666666666697305,
        0.1428571428759174,
        -0.12499999997109267,
        0.11111110909841072,
        -0.0999999999631727,
        0.09090919875998202,
        -0.08333345056413204,
        0.0769198812013375,
        -0.0714223204915847,
        0.06671985555271291,
        -0.06265031869518063,
        0.05837018351464999,
        -0.05368280388050548,
        0.0537187789066478,
        -0.06129561980727906,
        0.0566642324205218,
        -0.025061228095282464,
    ),
    tanh=(
        -0.3333333333333333,
        0.13333333333333042,
        -0.05396825396789699,
        0.021869488519008305,
        -0.008863235103240878,
        0.0035921217511549622,
        -0.0014557754120478055,
        0.0005896606577757043,
        -0.0002375906496055562,
        9.257116129556769e-05,
        -3.12011014257974e-05,
        6.485163482793113e-06,
    ),
)
TABLES = {"f": SINGLE, "d": DOUBLE}
