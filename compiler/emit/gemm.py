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

The weight goes DRAM -> L2BM in chunks through a ring of buffers (`mvb`), L2BM -> L1BM (`l2bmb`) through a ring of
tile slots, L1BM -> GRF0 (`l1bmd`), and is converted to block float on its way into one of the two matrix planes.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from compiler.emit.asm import Asm, cycle_mask, flat, round_up
from compiler.errors import DoesNotFit

TILE_LW = 1024
CHUNK_TILES = 15
CHUNK_BUFFERS = 2
STARTUP_TILES = 3
L2BM_BIAS = CHUNK_TILES * CHUNK_BUFFERS * TILE_LW
L1BM_SLOTS = 4
L1BM_BIAS = 6144
MAX_BIAS_LW = 2048
GRF1_ACC_WORDS = 480
GRF1_BIAS = GRF1_ACC_WORDS
MASK_MAB0 = 1


@dataclass(frozen=True)
class GemmPlan:
    """Sizes and places of one product.  LM addresses are words, `weight` and `bias` DRAM long words.

    rows: long words per L1B in M (M = 64 * rows padded); k_tiles: tiles of K per MAB (K = 256 * k_tiles padded);
    n_tiles: tiles of N (N = 16 * n_tiles padded; a multiple of 16 with `scatter`).  x at LM0 `x`; `xb` LM1 scratch
    of as many long words as x; `y` LM1 result; `scratch` LM0 words of `scratch_words` when scattering.
    """

    rows: int
    k_tiles: int
    n_tiles: int
    x: int
    xb: int
    y: int
    weight: int
    bias: int | None
    scatter: bool
    scratch: int = 0

    @property
    def row_groups(self) -> int:
        """Groups of four rows, one MAU step each."""
        return -(-self.rows // 4)

    @property
    def tiles_per_mab(self) -> int:
        """n-tiles that stay in one MAB when scattering."""
        return self.n_tiles // 16

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
        return 16 * self.mab_stride if self.scatter else 0


def emit_gemm(asm: Asm, plan: GemmPlan) -> None:
    """Write the product.  Raises DoesNotFit when rows or N exceed what one pass can hold."""
    _check(plan)
    weight = _WeightStream(asm, plan)
    weight.fetch(0)
    bias_tag = _fetch_bias(asm, plan)
    for chunk in range(1, CHUNK_BUFFERS):
        weight.fetch(chunk)
    _convert_x(asm, plan)
    plane = weight.next_tile()
    if bias_tag is not None:
        _spread_bias(asm, plan, bias_tag)
    for n in range(plan.n_tiles):
        acc = (n % 2) * 16 * plan.row_groups if _double_buffered(plan) else 0
        bias = _bias_operand(asm, plan, n)
        for k in range(plan.k_tiles):
            if (n, k) != (0, 0):
                plane = weight.next_tile()
            for group in range(plan.row_groups):
                _multiply(asm, plan, plane, k, group, acc + 16 * group, bias)
        for group in range(plan.row_groups):
            asm.op(f"l1bmrffaddr $lls{acc + 16 * group}v $lbi")
            asm.op(f"l1bmm $lbi {_result_place(plan, n, group)}")
    if plan.scatter:
        _select_own_tiles(asm, plan)


def _check(plan: GemmPlan) -> None:
    if 16 * plan.row_groups > GRF1_ACC_WORDS:
        raise DoesNotFit(
            f"Gemm: {plan.rows * 64} rows need {plan.row_groups} accumulators per PE, GRF1 holds {GRF1_ACC_WORDS // 16}"
        )
    if plan.bias is not None and 8 * plan.n_tiles > MAX_BIAS_LW:
        raise DoesNotFit(f"Gemm: a bias of {plan.n_tiles * 16} elements exceeds the L1BM area for {MAX_BIAS_LW * 2}")


def _double_buffered(plan: GemmPlan) -> bool:
    return 32 * plan.row_groups <= GRF1_ACC_WORDS


def _fetch_bias(asm: Asm, plan: GemmPlan) -> int | None:
    if plan.bias is None:
        return None
    return asm.mv("mvb", round_up(8 * plan.n_tiles, 64), f"$d{plan.bias} $lc{L2BM_BIAS}")


def _spread_bias(asm: Asm, plan: GemmPlan, tag: int) -> None:
    """Bring the bias to L1BM and mark MAB 0, the only one that adds it."""
    asm.op(f"lpassa $mabid $omr{MASK_MAB0}")
    asm.wait(tag)
    for k in range(round_up(8 * plan.n_tiles, 64) // 64):
        asm.op(f"l2bmb $lc{L2BM_BIAS + 64 * k} $lb{L1BM_BIAS + 64 * k}")


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
    """Every MAB keeps its own n-tiles: LM0[scratch + mab * stride + ...] -> y."""
    shift = plan.mab_stride.bit_length() - 1
    asm.op(f'imm i"{shift}" $ls0')
    asm.op("llsl $mabid $ls0 $lt")
    for local in range(plan.tiles_per_mab):
        for group in range(plan.row_groups):
            source = plan.scratch + 8 * (local * plan.row_groups + group)
            dest = plan.y + 2 * (local * plan.rows + 4 * group)
            asm.op(f"lpassa $lmt{source}v $ln{dest}v{cycle_mask(plan.rows - 4 * group)}")


def chunk_sizes(tiles: int) -> list[int]:
    """Tiles of each transfer: full buffers, the last two such that little is left to do when the last one arrives.

    A tile takes as long to spread over the L1Bs as to arrive, and a transfer starts up for about three tiles more.
    """
    count = -(-tiles // CHUNK_TILES)
    if count < 2:
        return [tiles]
    rest = tiles - CHUNK_TILES * (count - 2)
    last = max(rest - CHUNK_TILES, (rest - STARTUP_TILES) // 2)
    return [CHUNK_TILES] * (count - 2) + [rest - last, last]


class _WeightStream:
    """Brings tile after tile into the matrix planes; the rings let transfers run ahead of the products."""

    def __init__(self, asm: Asm, plan: GemmPlan) -> None:
        self._asm = asm
        self._plan = plan
        self._chunks = chunk_sizes(plan.n_tiles * plan.k_tiles)
        self._starts = list(itertools.accumulate(self._chunks, initial=0))
        self._place = [(chunk, k) for chunk, size in enumerate(self._chunks) for k in range(size)]
        self._tile = 0
        self._tags: dict[int, int] = {}

    def fetch(self, chunk: int) -> None:
        """Issue the transfer of a chunk, if there is one."""
        if chunk < len(self._chunks):
            source = self._plan.weight + self._starts[chunk] * TILE_LW // 4
            self._tags[chunk] = self._asm.mv(
                "mvb", self._chunks[chunk] * TILE_LW, f"$d{source} $lc{self._buffer(chunk)}"
            )

    def next_tile(self) -> str:
        """Emit the moves of the next tile; returns its plane ("x" or "y")."""
        asm, tile = self._asm, self._tile
        chunk, within = self._place[tile]
        if within == 0:
            asm.wait(self._tags[chunk])
        l2 = self._buffer(chunk) + within * TILE_LW
        l1 = tile % L1BM_SLOTS * TILE_LW
        for k in range(16):
            asm.op(f"l2bmb $lc{l2 + 64 * k} $lb{l1 + 64 * k}")
        if within == self._chunks[chunk] - 1:
            self.fetch(chunk + CHUNK_BUFFERS)
        plane = "xy"[tile % 2]
        register = tile % 4 * 32
        for k in range(4):
            asm.op(f"l1bmd $lb{l1 + 256 * k} $lr{register + 8 * k}v")
        for half in (0, 8):
            asm.op(f"hbfn/9 $llr{register + 2 * half}v $nowrite")
            asm.op(f"hmwrite $aluf $ll{plane}{half}")
        self._tile += 1
        return plane

    def _buffer(self, chunk: int) -> int:
        """L2BM address of a chunk.

        The last one goes to buffer 0 and a product of one chunk to buffer 1, so that a small product behind a large one
        can fetch its weight while the large one still uses its last chunk.
        """
        last = len(self._chunks) - 1
        buffer = (last - chunk) % CHUNK_BUFFERS if last else 1
        return buffer * CHUNK_TILES * TILE_LW
