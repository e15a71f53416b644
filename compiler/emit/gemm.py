"""Half-precision matrix product y[M, N] = x[M, K] . w[N, K]^T (+ bias) with the weight streamed from DRAM.

Where things are (rows = M / 64 long words per L1B, tiles of 16x16):

* x: row r of k-tile k in every MAB at LM0 long word k*rows + r; K is spread (16_MAB, k_tiles, 4_W, 4_PE), so the 16
elements
  of a cycle over the four PEs are one vector of the matrix unit.
* w: DRAM image in the order n-tile, k-tile, row; a tile is 16 long words in each PE of a MAB, all MABs at once (1024
  long words of an L1B).  Row i of a tile is output n = 4*(i mod 4) + i div 4, so that result row 4p + h lands in
  half h of PE p.
* every MAB multiplies its share of K; the partial sums (single) meet in the L1BM reduction, which rounds to half once.
* y: in all MABs (`scatter` False), or n-tile t in MAB t // (n_tiles / 16) (`scatter`), chosen by T-indirection.
* bias (single, DRAM, two long words per n-tile and PE): the addend of the first k-tile in MAB 0, zero elsewhere.

The weight goes DRAM -> L2BM in chunks through a ring of buffers, L2BM -> L1BM (`l2bmb`) through a ring of
tile slots, L1BM -> GRF0 (`l1bmd`), and is converted to block float on its way into one of the two matrix planes.
"""

from __future__ import annotations

from dataclasses import dataclass

from compiler.emit.asm import Asm, cycle_mask, flat, round_up
from compiler.emit.weights import CHUNK_BUFFERS, CHUNK_TILES, L1BM_SLOTS, TILE_LW, DramSource, WeightPlan, WeightStream
from compiler.errors import DoesNotFit

L2BM_BIAS = CHUNK_TILES * CHUNK_BUFFERS * TILE_LW
L1BM_RESULT = L1BM_SLOTS * TILE_LW
L1BM_BIAS = 6144
MAX_BIAS_LW = 2048
MAX_RESULT_LW = L1BM_BIAS - L1BM_RESULT
GRF1_ACC_WORDS = 480
GRF1_BIAS = GRF1_ACC_WORDS
MASK_MAB0 = 1


@dataclass(frozen=True)
class GemmPlan:
    """Sizes and places of one product.  LM addresses are words, `weight` and `bias` DRAM long words.

    rows: long words per L1B in M (M = 64 * rows padded); k_tiles: tiles of K per MAB (K = 256 * k_tiles padded);
    n_tiles: tiles of N (N = 16 * n_tiles padded; a multiple of 16 with `scatter`).  x at LM0 `x`; `xb` LM1 scratch
    of as many long words as x; `y` LM1 result; `scratch` LM0 words of `scratch_words` when scattering over `mabs` MABs.
    add_by: banks ("mvr2") or groups ("mvr4") hold different parts of K; `y` is then the DRAM address that receives
    their sum, which the MV of that name makes.  ahead: the first part of the weight comes before x.
    """

    rows: int
    k_tiles: int
    n_tiles: int
    x: int
    xb: int
    y: int
    weight: DramSource
    bias: DramSource | None
    scatter: bool
    mabs: int = 16
    add_by: str = ""
    ahead: bool = False
    scratch: int = 0

    @property
    def row_groups(self) -> int:
        """Groups of four rows, one MAU step each."""
        return -(-self.rows // 4)

    @property
    def bias_first(self) -> bool:
        """Whether the bias lies before the weight, in the order of use."""
        return self.bias is not None and self.bias.addr < self.weight.addr

    @property
    def tiles_per_mab(self) -> int:
        """n-tiles that stay in one MAB when scattering."""
        return self.n_tiles // self.mabs

    @property
    def mab_stride(self) -> int:
        """LM0 scratch words between the tiles of neighbouring MABs: a power of two, for the shift that makes the
        index.
        """
        words = self.tiles_per_mab * self.row_groups * 8
        return 1 << max(3, (words - 1).bit_length())

    @property
    def scratch_words(self) -> int:
        """LM0 words needed beside x."""
        return self.mabs * self.mab_stride if self.scatter else 0


def emit_gemm(asm: Asm, plan: GemmPlan) -> None:
    """Write the product.  Raises DoesNotFit when rows or N exceed what one pass can hold."""
    _check(plan)
    weight = WeightStream(asm, WeightPlan(plan.weight, plan.n_tiles * plan.k_tiles, plan.ahead))
    if plan.bias_first:
        bias_tags = _fetch_bias(asm, plan)
        weight.fetch(0)
    else:
        weight.fetch(0)
        bias_tags = _fetch_bias(asm, plan)
    _convert_x(asm, plan)
    for chunk in range(1, CHUNK_BUFFERS):
        weight.fetch(chunk)
    plane = weight.next_tile()
    _spread_bias(asm, plan, bias_tags)
    for n in range(plan.n_tiles):
        acc = (n % 2) * 16 * plan.row_groups if _double_buffered(plan) else 0
        bias = _bias_operand(asm, plan, n)
        for k in range(plan.k_tiles):
            if (n, k) != (0, 0):
                plane = weight.next_tile()
            for group in range(plan.row_groups):
                _multiply(asm, plan, plane, k, group, acc + 16 * group, bias)
        for group in range(plan.row_groups):
            partial = f"l1bmrffaddr $lls{acc + 16 * group}v"
            if plan.add_by:
                asm.op(f"{partial} $lb{L1BM_RESULT + 4 * (n * plan.rows + 4 * group)}")
            else:
                asm.op(f"{partial} $lbi")
                asm.op(f"l1bmm $lbi {_result_place(plan, n, group)}")
    if plan.add_by:
        _add_parts(asm, plan)
    elif plan.scatter:
        _select_own_tiles(asm, plan)


def _check(plan: GemmPlan) -> None:
    if 16 * plan.row_groups > GRF1_ACC_WORDS:
        raise DoesNotFit(
            f"Gemm: {plan.rows * 64} rows need {plan.row_groups} accumulators per PE, GRF1 holds {GRF1_ACC_WORDS // 16}"
        )
    if plan.bias is not None and 8 * plan.n_tiles > MAX_BIAS_LW:
        raise DoesNotFit(f"Gemm: a bias of {plan.n_tiles * 16} elements exceeds the L1BM area for {MAX_BIAS_LW * 2}")
    if plan.add_by and result_lw(plan) > MAX_RESULT_LW:
        raise DoesNotFit(f"Gemm: {result_lw(plan)} long words of partial sums exceed the L1BM area of {MAX_RESULT_LW}")


def result_lw(plan: GemmPlan) -> int:
    """Long words of an L1B that a result takes in L1BM."""
    return 4 * plan.n_tiles * round_up(plan.rows, 4)


def _double_buffered(plan: GemmPlan) -> bool:
    return 32 * plan.row_groups <= GRF1_ACC_WORDS


def _fetch_bias(asm: Asm, plan: GemmPlan) -> list[int]:
    if plan.bias is None:
        return []
    return plan.bias.fetch(asm, 0, round_up(8 * plan.n_tiles, 64), L2BM_BIAS)


def _spread_bias(asm: Asm, plan: GemmPlan, tags: list[int]) -> None:
    """Bring the bias to L1BM and mark the PEs that add it: MAB 0, where K is split over banks that of bank 0 only.

    Groups that hold other parts of K than the first have zeros as their bias.
    """
    if plan.bias is None:
        return
    if plan.add_by == "mvr2":
        asm.op("lpassa $mabid $lr0")
        asm.op('imm i"1" $ls0')
        asm.op("land $l2bid $ls0 $nowrite")
        asm.op(f"lor $aluf $lr0 $omr{MASK_MAB0}")
    else:
        asm.op(f"lpassa $mabid $omr{MASK_MAB0}")
    for tag in tags:
        asm.wait(tag)
    for k in range(0, 8 * plan.n_tiles, 64):
        place = plan.bias.l2bm(k) if plan.bias.placed else L2BM_BIAS + k
        asm.op(f"l2bmb $lc{place} $lb{L1BM_BIAS + k}")


def _convert_x(asm: Asm, plan: GemmPlan) -> None:
    """Block-float copy of x in LM1, same order."""
    pairs = -(-plan.rows * plan.k_tiles // 2)
    for k in range(0, pairs, 4):
        mask = cycle_mask(pairs - k, wide=True)
        asm.op(f"hbfn/9 $llm{plan.x + 4 * k}v $lln{plan.xb + 4 * k}v{mask}")


def _bias_operand(asm: Asm, plan: GemmPlan, n: int) -> str | None:
    """Load the bias of four n-tiles at a time; returns the GRF1 operand of tile n."""
    if plan.bias is None:
        return None
    register = GRF1_BIAS + 16 * (n // 4 % 2)
    if n % 4 == 0:
        asm.op(f"l1bmm/$llimr{MASK_MAB0} $llb{L1BM_BIAS + 8 * n} $lls{register}v")
    return f"$lls{register + 4 * (n % 4)}"


def _multiply(asm: Asm, plan: GemmPlan, plane: str, k: int, group: int, acc: int, bias: str | None) -> None:
    rows = [min(4 * group + c, plan.rows - 1) for c in range(4)]
    x = "$ln" + flat([plan.xb + 2 * (k * plan.rows + r) for r in rows])
    result = f"$lls{acc}v"
    if k > 0:
        asm.op(f"hmfma $l{plane} {x} {result} {result}")
    elif bias is not None:
        asm.op(f"hmfma $l{plane} {x} {bias} {result}")
    else:
        asm.op(f"hmmul $l{plane} {x} {result}")


def _result_place(plan: GemmPlan, n: int, group: int) -> str:
    if plan.scatter:
        mab, local = divmod(n, plan.tiles_per_mab)
        return f"$lm{plan.scratch + mab * plan.mab_stride + 8 * (local * plan.row_groups + group)}v"
    mask = cycle_mask(plan.rows - 4 * group)
    return f"$ln{plan.y + 2 * (n * plan.rows + 4 * group)}v{mask}"


def _select_own_tiles(asm: Asm, plan: GemmPlan) -> None:
    """Every MAB keeps its own n-tiles: LM0[scratch + (mab mod mabs) * stride + ...] -> y."""
    shift = plan.mab_stride.bit_length() - 1
    asm.op(f'imm i"{shift}" $ls0')
    if plan.mabs == 16:
        asm.op("llsl $mabid $ls0 $lt")
    else:
        asm.op(f'imm i"{plan.mabs - 1}" $lr0')
        asm.op("land $mabid $lr0 $nowrite")
        asm.op("llsl $aluf $ls0 $lt")
    for local in range(plan.tiles_per_mab):
        for group in range(plan.row_groups):
            source = plan.scratch + 8 * (local * plan.row_groups + group)
            dest = plan.y + 2 * (local * plan.rows + 4 * group)
            asm.op(f"lpassa $lmt{source}v $ln{dest}v{cycle_mask(plan.rows - 4 * group)}")


def _add_parts(asm: Asm, plan: GemmPlan) -> None:
    """Partial sums of all L1Bs -> L2BM, sum over the banks or the groups on the way to DRAM."""
    blocks = round_up(result_lw(plan), 32) // 32
    for k in range(blocks):
        asm.op(f"l2bmd $lb{L1BM_RESULT + 32 * k} $lc{256 * k}")
    count = round_up(8 * round_up(4 * plan.n_tiles * plan.rows, 8), 64)
    asm.wait(asm.mv(f"{plan.add_by}hfadd", count, f"$lc0 $d{plan.y}"))
