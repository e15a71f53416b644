"""Solutions of the transfers between DRAM and LM0."""

from __future__ import annotations

from collections.abc import Callable


def interleaved_rows(step: int, base: int = 0) -> str:
    """Words of rows x = 4 step + c where `mvb`/`mvr` interleave the groups: x = 8i + 2g + e is row 4g + 2i + e."""
    rows = []
    for x in range(4 * step, 4 * step + 4):
        i, g, e = x // 8, x // 2 % 4, x % 2
        rows.append(str(base + 4 * (4 * g + 2 * i + e)))
    return "[" + ",".join(rows) + "]"


def dl_16() -> list[str]:
    """The words behind the 16 loaded ones are not part of the result."""
    return ["mvb/n64 $d0 $lc0", "l2bmb $lc0 $lb0", "l1bmm $llb0 $llm0v"]


def dl_16_16() -> list[str]:
    code = ["mvb/n128 $d0 $lc0", "l2bmb $lc0 $lb0", "l2bmb $lc64 $lb64"]
    return code + [f"l1bmm $llb{32 * s} $llm{interleaved_rows(s)}" for s in range(4)]


def dl_16_1024() -> list[str]:
    code = [f"mvp/n2048 $d0@{g} $p{2048 * g}@0" for g in range(4)] + ["mvb/n8192 $p0@0 $lc0"]
    code += [f"l2bmd $lc{256 * s} $lb{32 * s}" for s in range(32)]
    return code + [f"l1bmd $lb{256 * s} $lm{8 * s}v" for s in range(4)]


def dl_256() -> list[str]:
    return ["mvb2/n64 $d0 $lc0", "l2bmb $lc0 $lb0"] + [f"l1bmp $lb{4 * s} $lm{8 * s}v" for s in range(8)]


def _to_both_banks(size: int) -> list[str]:
    return [f"mvp/n{size} $d{size * bank} $lc0@.{bank}" for bank in (0, 1)]


def dl_256_16() -> list[str]:
    return [*_to_both_banks(256), "l2bmd $lc0 $lb0", "l1bmm $llb0 $llm0v"]


def dl_256_16_l2b() -> list[str]:
    code = _to_both_banks(256) + [f"l2bmb $lc{64 * s} $lb{64 * s}" for s in range(4)]
    return code + [f"l1bmm $llb{32 * s} $llm{16 * s}v" for s in range(8)]


def dl_256_16p() -> list[str]:
    code = ["mvb2/n512 $d0 $lc0"] + [f"l2bmb $lc{64 * s} $lb{64 * s}" for s in range(8)]
    return code + [f"l1bmm $llb{32 * s} $llm{16 * s}v" for s in range(16)]


def dl_1024_16() -> list[str]:
    code = _to_both_banks(1024) + [f"l2bmd $lc{256 * s} $lb{32 * s}" for s in range(4)]
    return code + [f"l1bmm $llb{32 * s} $llm{16 * s}v" for s in range(4)]


def ul_16() -> list[str]:
    return ["l1bmm@0 $llm0 $llb0", "l2bmd $lb0 $lc0", "mvp/n64 $lc0@0.0 $d0@0"]


def ul_16_16() -> list[str]:
    """T makes every group send its own four rows."""
    return [
        'imm i"3" $lr0v',
        "llsl $l2bid $aluf $lt",
        "l1bmm@0 $llmt0v $llb0",
        "l2bm@0 $lb0 $lc0",
        "mvp/n64 $lc0@.0 $d0",
    ]


def ul_16_1024() -> list[str]:
    code = [f"l1bmd $lm{8 * s}v $lb{256 * s}" for s in range(4)]
    code += [f"l2bmd $lb{32 * s} $lc{256 * s}" for s in range(32)]
    return code + [f"mvp/n2048 $lc{2048 * g}@0.0 $d0@{g}" for g in range(4)]


def ul_256() -> list[str]:
    """T makes PE n of an L1B send long word n."""
    return [
        'imm i"1" $lr0v',
        "llsl $peid $aluf $lt",
        "l1bmd $lmt0 $lb0",
        "l2bm@0 $lb0 $lc0",
        "mvp/n64 $lc0@.0 $d0",
    ]


def ul_256_16() -> list[str]:
    code = ["l1bmm@0 $llm0v $llb0", "l2bmd $lb0 $lc0"]
    return code + [f"mvp/n256 $lc0@.{bank} $d{256 * bank}" for bank in (0, 1)]


def ul_256_16p() -> list[str]:
    """T makes L1B b send the rows 8k + b, in the order in which `l2bmd` joins them."""
    return [
        'imm i"2" $lr0v',
        "llsl $l1bid $aluf $lt",
        "l1bmm@0 $llmt0v32 $llb0",
        "l1bmm@0 $llmt128v32 $llb32",
        "l2bmd $lb0 $lc0",
        "l2bmd $lb32 $lc256",
        "mvp/n512 $lc0@.0 $d0",
    ]


_ALL = (
    dl_16, dl_16_16, dl_16_1024, dl_256, dl_256_16, dl_256_16_l2b, dl_256_16p, dl_1024_16,
    ul_16, ul_16_16, ul_16_1024, ul_256, ul_256_16, ul_256_16p,
)


def _text(code: Callable[[], list[str]]) -> Callable[[], str]:
    return lambda: "\n".join(code())


PROGRAMS = {f"dram_{f.__name__}": _text(f) for f in _ALL}
