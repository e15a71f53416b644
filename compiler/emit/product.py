"""Matrix products whose operands lie in local memory: tiles of the right operand in the matrix planes, rows of the left
one as vectors (isa.md 9.4, 10).

Everything is told by long words relative to the operands (`ProductJob`), the same in every PE.  The contraction must
lie over words and PEs; an operand that has its other axis there goes through a matrix plane once more, which transposes
a tile.  Element (p, h) of a tile, of PE p and half or word h, is number `lanes * p + h` in rows and columns of a plane.
In true single precision the unit reads the even columns only, so that a tile is multiplied twice, the second time with
the words of its long words exchanged.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from compiler.emit.asm import Asm, cycle_mask, flat
from compiler.emit.elementwise import Stream

Table = NDArray[np.int64]

TILE_RING = 4
ZERO_LW = "$lr384"
ACC_WORDS = 480
EXCHANGE = "$lr386"
BIAS_SLOTS = 4
MASK_FIRST = 1
NO_ROW = -1


@dataclass(frozen=True)
class Kind:
    """One precision of the matrix unit: letter, conversion to block float, elements of a long word, the letter of the
    circuits that add accumulators, and how many products a tile takes, each of the elements of one word.
    """

    letter: str
    block: str
    lanes: int
    circuit: str
    parts: int = 1

    @property
    def tile(self) -> int:
        """Rows and columns of a matrix plane."""
        return 4 * self.lanes

    @property
    def acc(self) -> str:
        """Width of an accumulator: four singles of a PE for halves, two else."""
        return "ll" if self.lanes == 4 else "l"

    @property
    def bias_words(self) -> int:
        """Words of the accumulator of one vector."""
        return max(2, self.lanes)

    @property
    def acc_words(self) -> int:
        """Words of the accumulators of four vectors."""
        return 4 * self.bias_words

    @property
    def span(self) -> int:
        """Long words that an item moves in the width of the accumulators."""
        return 2 * self.bias_words


HALF = Kind("h", "hbfn/9", 4, "f")
PSEUDO = Kind("g", "gbfn", 2, "f")
SINGLE = Kind("f", "fbfn", 2, "f", parts=2)
DOUBLE = Kind("d", "dbfn", 1, "d")


@dataclass(frozen=True)
class ProductJob:
    """Sizes and places, in long words relative to each stream.

    left: [s, v, k] of a vector, or transposed [s, t, k, row]: the rows of raw tiles (vector tile t, contraction tile
    k).  right: [s, n, k, row] of a tile, raw when transposed.  result: [s, v, n].  A row NO_ROW is zero.  s counts what
    both operands have, v the vectors (tiles times `tile` when the left operand is transposed), n tiles of the result.
    bias: [n] or None.  first_ids: (fixed operand, bits) that are all zero where the bias is added (empty: everywhere).
    sum_mabs: partial sums are added over the MABs.
    """

    kind: Kind
    left: Table
    left_transposed: bool
    right: Table
    right_transposed: bool
    result: Table
    bias: Table | None
    first_ids: tuple[tuple[str, int], ...]
    sum_mabs: bool

    @property
    def vectors(self) -> int:
        """Vectors of one s."""
        return int(self.result.shape[1])

    @property
    def k_tiles(self) -> int:
        """Tiles of the contraction."""
        return int(self.right.shape[2])

    @property
    def ragged(self) -> bool:
        """Whether some rows of four of the left operand are zero, but not all."""
        missing = self.left.reshape(-1, 4) < 0 if self.left_transposed else np.zeros((0, 4), bool)
        return bool((missing.any(axis=1) & ~missing.all(axis=1)).any())

    @property
    def copy_words(self) -> int:
        """Words of the block-float copy of the left operand when it is transposed."""
        shared, tiles, k_tiles = self.left.shape[:3]
        return int(2 * shared * tiles * k_tiles * self.kind.tile)


@dataclass(frozen=True)
class Places:
    """Streams of the operands and the result, the word address of the copy of `left` in the local memory where `left`
    is not, and the bias if any.  zero: word address of a long word for zeros in the memory of `left`, for ragged jobs.
    """

    left: Stream
    copy: int
    right: Stream
    result: Stream
    bias: Stream | None
    zero: int | None = None


def emit_product(asm: Asm, job: ProductJob, at: Places) -> None:
    """Write the product."""
    _Emitter(asm, job, at).run()


class _Emitter:
    def __init__(self, asm: Asm, job: ProductJob, at: Places) -> None:
        self._asm = asm
        self._job = job
        self._at = at
        self._kind = job.kind
        self._copy_lm = "n" if at.left.lm == "m" else "m"
        self._tiles = 0
        self._biases = 0

    def run(self) -> None:
        job = self._job
        if self._kind.lanes == 4 or (job.left < 0).any() or (job.right < 0).any():
            self._asm.op(f"zero {ZERO_LW}")
        if self._at.zero is not None:
            self._asm.op(f"zero $l{self._at.left.lm}{self._at.zero}")
        if self._kind.parts > 1:
            self._asm.op(f'imm i"32" {EXCHANGE}')
        if job.bias is not None and job.first_ids:
            self._mark_first()
        vectors = self._transpose_left() if job.left_transposed else self._convert_left()
        groups = [list(range(v, min(v + 4, job.vectors))) for v in range(0, job.vectors, 4)]
        most = ACC_WORDS // self._kind.acc_words
        parts = -(-len(groups) // most)
        size = -(-len(groups) // parts)
        for s in range(job.result.shape[0]):
            for first in range(0, len(groups), size):
                self._pass(s, groups[first : first + size], vectors)

    def _mark_first(self) -> None:
        """Mask entry MASK_FIRST: one where all ids are zero."""
        asm = self._asm
        asm.op("zero $lr0")
        for fixed, bits in self._job.first_ids:
            asm.op(f'imm i"{bits}" $ls0')
            asm.op(f"land {fixed} $ls0 $nowrite")
            asm.op("lor $aluf $lr0 $lr0")
        asm.op(f"lpassa $lr0 $omr{MASK_FIRST}")

    # -- the left operand ------------------------------------------------------------------------------------------

    def _convert_left(self) -> Table:
        """Block-float copy of the whole left operand, same order; word addresses [s, v, k]."""
        source, kind = self._at.left, self._kind
        step = 8 if kind.lanes == 4 else 4
        for lw in range(0, source.num_lw, step):
            wide = kind.lanes == 4
            mask = cycle_mask(-(-(source.num_lw - lw) // (step // 4)), wide=wide)
            target = f"${kind.acc}{self._copy_lm}{self._at.copy + 2 * lw}v{mask}"
            self._asm.op(f"{kind.block} {source.at(lw, wide=wide)} {target}")
        return self._at.copy + 2 * self._job.left

    def _transpose_left(self) -> Table:
        """Transposed block-float copy, tile after tile; word addresses [s, v, k]."""
        shared, tiles, k_tiles, tile = self._job.left.shape
        words = np.zeros((shared, tiles, tile, k_tiles), np.int64)
        for s in range(shared):
            for t in range(tiles):
                for k in range(k_tiles):
                    start = self._at.copy + 2 * tile * ((s * k_tiles + k) * tiles + t)
                    register = self._through_plane(self._at.left, self._job.left[s, t, k])
                    self._block(register, start)
                    words[s, t, :, k] = start + 2 * np.arange(tile)
        return words.reshape(shared, tiles * tile, k_tiles)

    def _block(self, register: int, start: int) -> None:
        """Convert a tile in GRF0 to block float in local memory."""
        kind = self._kind
        for first in range(0, kind.tile, kind.span):
            source, target = register + 2 * first, start + 2 * first
            self._asm.op(f"{kind.block} ${kind.acc}r{source}v ${kind.acc}{self._copy_lm}{target}v")

    # -- tiles -----------------------------------------------------------------------------------------------------

    def _through_plane(self, source: Stream, rows: Table) -> int:
        """Transpose a raw tile into GRF0; returns the register (word address) of its first column."""
        asm, kind = self._asm, self._kind
        plane = self._next_plane()
        self._write_rows(source, rows, plane, convert=False)
        register = self._tiles % TILE_RING * 2 * kind.tile
        for first in range(0, kind.tile, kind.span):
            asm.op(f"{kind.letter}mread ${kind.acc}{plane}{first} ${kind.acc}r{register + 2 * first}v")
        return register

    def _next_plane(self) -> str:
        self._tiles += 1
        return "xy"[self._tiles % 2]

    def _write_rows(self, source: Stream, rows: Table, plane: str, *, convert: bool, part: int = 0) -> None:
        """Rows in local memory -> matrix plane, as they are or as block float; part 1: with words exchanged."""
        kind = self._kind
        words = source.addr + 2 * rows
        if kind.lanes == 4 and (rows >= 0).all() and (np.diff(rows) == 1).all() and words[0] % 4 == 0:
            for first in range(0, kind.tile, 8):
                self._to_plane(f"$ll{source.lm}{words[first]}v", f"$ll{plane}{first}", convert)
            return
        for first in range(0, kind.tile, 4):
            four = rows[first : first + 4]
            if (four < 0).all():
                self._asm.op(f"{kind.letter}mwrite {ZERO_LW} $l{plane}{first}")
            else:
                # Where the left operand has a zero, the right one may have any row of the same block.
                zero = self._at.zero if source is self._at.left else None
                instead = words[first] if zero is None else zero
                operand = f"$l{source.lm}{flat(np.where(four < 0, instead, words[first : first + 4]).tolist())}"
                self._to_plane(operand, f"$l{plane}{first}", convert, part)

    def _to_plane(self, operand: str, target: str, convert: bool, part: int = 0) -> None:
        kind = self._kind
        if convert:
            self._asm.op(f"{kind.block} {operand} $nowrite")
            operand = "$aluf"
        if part:
            self._asm.op(f"lbsl {operand} {EXCHANGE} $nowrite")
        self._asm.op(f"{kind.letter}mwrite {operand} {target}")

    def _load_tile(self, rows: Table, part: int) -> str:
        """Bring a tile of the right operand into a plane as block float; returns the plane."""
        kind = self._kind
        if not self._job.right_transposed:
            plane = self._next_plane()
            self._write_rows(self._at.right, rows, plane, convert=True, part=part)
            return plane
        register = self._through_plane(self._at.right, rows)
        plane = self._next_plane()
        for first in range(0, kind.tile, kind.span):
            self._to_plane(f"${kind.acc}r{register + 2 * first}v", f"${kind.acc}{plane}{first}", True, part)
        return plane

    # -- products --------------------------------------------------------------------------------------------------

    def _pass(self, s: int, groups: list[list[int]], vectors: Table) -> None:
        """All tiles of the result for some groups of four vectors, whose accumulators fit GRF1."""
        job, kind = self._job, self._kind
        double = 2 * len(groups) * kind.acc_words <= ACC_WORDS
        for n in range(job.result.shape[2]):
            base = n % 2 * len(groups) * kind.acc_words if double else 0
            bias = self._bias(n)
            for k, part in itertools.product(range(job.k_tiles), range(kind.parts)):
                plane = self._load_tile(job.right[s, n, k], part)
                for number, group in enumerate(groups):
                    words = vectors[s, group, k].tolist()
                    acc = base + number * kind.acc_words
                    self._multiply(plane, words, part, acc, f"${kind.acc}s{acc}v" if k or part else bias)
            for number, group in enumerate(groups):
                self._deliver(base + number * kind.acc_words, job.result[s, group, n].tolist())

    def _bias(self, n: int) -> str | None:
        """The accumulator operand of the bias of a tile."""
        job, kind, at = self._job, self._kind, self._at.bias
        if job.bias is None or at is None:
            return None
        register = ACC_WORDS + self._biases % BIAS_SLOTS * kind.bias_words
        self._biases += 1
        flush = f"/${'ll' if kind.lanes == 4 else ''}imr{MASK_FIRST}" if job.first_ids else ""
        source = f"${kind.acc}{at.lm}{at.addr + 2 * int(job.bias[n])}"
        self._asm.op(f"lpassa{flush} {source} ${kind.acc}s{register}")
        return f"${kind.acc}s{register}"

    def _multiply(self, plane: str, words: list[int], part: int, acc: int, addend: str | None) -> None:
        """The vectors at some word addresses times a tile, plus an addend, to an accumulator."""
        kind = self._kind
        words = [word + part for word in words]
        x = f"${'' if part else 'l'}{self._copy_lm}" + flat(words + words[-1:] * (4 - len(words)))
        target = f"${kind.acc}s{acc}v"
        first = f"{kind.letter}mmul" if addend is None else f"{kind.letter}mfma"
        operands = f"$l{plane} {x}" if addend is None else f"$l{plane} {x} {addend}"
        if kind is DOUBLE:
            # Two rows of the tile at a time: those of PEs 0 and 1, then the others.
            self._asm.op(f"{first}u {operands} $nowrite")
            first, operands = "dmfmad", f"$l{plane} {x} $mauf"
        self._asm.op(f"{first} {operands} {target}")

    def _deliver(self, acc: int, rows: list[int]) -> None:
        """Accumulators of up to four vectors -> the result, rounded to its type, added over the MABs if asked."""
        asm, kind, at = self._asm, self._kind, self._at.result
        words = [at.addr + 2 * row for row in rows]
        target = f"$l{at.lm}{flat(words + words[-1:] * (4 - len(words)))}{cycle_mask(len(words))}"
        source = f"${kind.acc}s{acc}v"
        if self._job.sum_mabs:
            asm.op(f"l1bmr{kind.circuit}fadd{'r' if kind.lanes == 4 else ''} {source} $lbi")
            asm.op(f"l1bmm $lbi {target}")
        elif kind.lanes == 4:
            asm.op(f"hvaddr {ZERO_LW} {source} {target}")
        else:
            asm.op(f"lpassa {source} {target}")
