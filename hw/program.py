"""The decoded program: the one contract between the assembly language and the machine.

`isa` produces these records, `hw.engine` executes their values, `hw.model` their time and `hw.sanitizer` their rules.
Nothing here knows about text syntax; everything the machine needs is resolved: addresses per cycle, masks, kernels.
A *step* is one PE line of four cycles.  Addresses of PE memories count 32-bit words, all other addresses long words.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum, auto

from hw.kernels.abi import Kernel
from hw.value import value

PER_CYCLE = tuple[int, int, int, int]
SHOWN_LINES = 40  # of a program in a notebook


class Mem(IntEnum):
    """Everything a PE operand can name.  The first five are memories, the rest latches, constants and write-only
    targets.
    """

    LM0 = 0
    LM1 = 1
    GRF0 = 2
    GRF1 = 3
    T = 4
    MAUF = 5
    ALUF = 6
    LBF = 7
    MREADF = 8
    FIXED = 9
    IMM = 10
    BAR0 = 11
    BAR1 = 12
    OMR = 13
    NOWRITE = 14


class Fixed(IntEnum):
    """Read-only inputs that tell a PE where it stands (first ALU source only)."""

    L2BID = 0
    L1BID = 1
    MABID = 2
    PEID = 3
    SUBPEID = 4
    MSB1 = 5


class Unit(IntEnum):
    """Issue groups of a PE line; at most one item of each in a step."""

    ALU = 0
    MAU = 1
    MWRITE = 2
    MREAD = 3
    L1BM = 4
    L1BM_TURN = 5
    L2BM = 6
    DARW = 7


@value
class MaskRef:
    """A mask register entry and how its four bits spread: over LW0's half words, or (`words`) over the 2LW's words."""

    entry: int
    words: bool = False


@value
class Source:
    """One PE-side input of an item.

    `width` is the number of words read (1, 2, 4); missing words of the 2LW datapath are 0.  `addr` holds the word
    address of each cycle before BAR, T and `j` are added.  FIXED: `value` is a `Fixed`, `element_bits` (16/32/64) its
    replication. IMM: `imm` holds the two long words.  `transforms` are kernels applied in order to the gathered 2LW
    (sign inversion, `e` widening, `r` narrowing); each is a SOURCE kernel.
    """

    mem: Mem
    width: int = 4
    addr: PER_CYCLE = (0, 0, 0, 0)
    j: int | None = None
    via_t: bool = False
    value: int = 0
    element_bits: int = 64
    imm: tuple[int, int] = (0, 0)
    transforms: tuple[Kernel, ...] = ()


@value
class Dest:
    """One PE-side output.  T always has width 4.  OMR: `addr[0]` is the entry.  BAR: width 1 takes w0, width 2 takes
    w1.
    """

    mem: Mem
    width: int = 4
    addr: PER_CYCLE = (0, 0, 0, 0)
    j: int | None = None
    via_t: bool = False
    mask: MaskRef | None = None


@value
class Compute:
    """An ALU, MAU, matrix write or matrix read item.  `plane` is 0 (x) or 1 (y) where a matrix register takes part.

    `params` are passed to the kernel (see `hw.kernels.abi`); MWRITE/MREAD put (start row or column) there as documented
    by their kernels.
    """

    unit: Unit
    kernel: Kernel
    sources: tuple[Source, ...]
    dests: tuple[Dest, ...]
    params: tuple[int, ...] = ()
    plane: int | None = None
    flush: MaskRef | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class L1Map:
    """How one L1BM instruction lays the PE-side long words on the L1BM.

    `offset(c, w, m, p)` is the L1BM offset of long word w (0..lws-1) of PE (m, p) in cycle c; `span` the number of L1BM
    long words of one step.  PE->L1BM: only MABs with `writes(m)` take part; with `stages` > 0 the MABs that share an
    offset are reduced (1: four MABs 4h..4h+3 in one circuit; 2: that, then the four partial results).
    """

    name: str
    lws: int
    span: int
    offset: Callable[[int, int, int, int], int]
    writes: Callable[[int], bool] = lambda m: True
    stages: int = 0


@value
class PeLoad:
    """L1BM->PE.  `addr` None reads the turnaround register; `map` is then the map of the writing instruction's class.

    The shift of `l1bmd+n` is inside `map.offset`.
    """

    unit: Unit
    map: L1Map
    addr: int | None
    dests: tuple[Dest, ...]
    flush: MaskRef | None = None
    text: str = ""


@value
class PeStore:
    """PE->L1BM (and always into the turnaround register).  `addr` None writes the turnaround register only.

    `first` and `last` are the REDUCE kernels of the two stages (`last` rounds to half for the `r` option); both None
    without reduction.  The turnaround register receives the unshifted image: for `l1bmd` with a shift `turn_map` is the
    unshifted map.
    """

    unit: Unit
    map: L1Map
    addr: int | None
    source: Source
    first: Kernel | None = None
    last: Kernel | None = None
    turn_map: L1Map | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class L2Map:
    """How one L2BM instruction pairs L2BM and L1BM long words, for cycle c and index k (0..width-1).

    `lc(b, c, k)` and `lb(c, k)` are offsets from the start addresses; `width` 16 or 8; `lc_align`, `lb_align` in LW.
    """

    name: str
    width: int
    lc: Callable[[int, int, int], int]
    lb: Callable[[int, int], int]
    lc_span: int
    lb_span: int


class L2Kind(IntEnum):
    """Direction of an L2BM item."""

    DOWN = auto()
    UP = auto()
    REDUCE = auto()
    INNER = auto()
    DARS = auto()
    DARW = auto()


@value
class L2Move:
    """An L2BM item; acts in all eight L2Bs.

    DOWN: `members` L1Bs receive.  UP: `members` write (one for `l2bm@n`, all for `l2bmd`).  REDUCE: one circuit
    `kernel` over the `members` that share an L2BM offset; absent inputs are the kernel's unit value.  INNER
    (`l2bmi`): `inner` lists (source, destination) L1B pairs, `lb`->`lb2`.  DARS: `lc` is L2BM address, `bank` the L2B
    in each group, `dar` the first entry.  DARW has no operands.
    """

    unit: Unit
    kind: L2Kind
    map: L2Map | None = None
    lc: int = 0
    lb: int = 0
    lb2: int = 0
    members: tuple[int, ...] = tuple(range(8))
    inner: tuple[tuple[int, int], ...] = ()
    kernel: Kernel | None = None
    bank: int = 0
    dar: int = 0
    text: str = ""


Item = Compute | PeLoad | PeStore | L2Move


@value
class Step:
    """One PE line.  `nop` steps have no items.  `hold` (noforward) keeps latches and turnaround register.

    `wait` is the tag to wait for before the step.  `line` is the 1-based source line.
    """

    items: tuple[Item, ...] = ()
    wait: int | None = None
    nop: bool = False
    hold: bool = False
    line: int = 0
    text: str = ""

    def sources(self) -> list[Source]:
        """All PE-side operands the step reads."""
        found: list[Source] = []
        for item in self.items:
            if isinstance(item, Compute):
                found += item.sources
            elif isinstance(item, PeStore):
                found.append(item.source)
        return found


class Space(IntEnum):
    """Memories an MV can name."""

    PDM = 0
    DRAM = 1
    L2BM = 2


@value
class MvPlace:
    """One side of an MV: `group`/`bank` None when the form leaves them out; `indirect`: `addr` is a DAR entry."""

    space: Space
    addr: int
    group: int | None = None
    bank: int | None = None
    indirect: bool = False


class MvForm(IntEnum):
    """The 18 forms of spec isa.md 6.2, named by what they do (P = PDM, D = DRAM, L = L2BM)."""

    P_L = 1
    L_P = 2
    D_L = 3
    P_D = 4
    P_P = 5
    PARALLEL = 6
    B_PDM = 7
    B_DRAM = 8
    B2 = 9
    B4 = 10
    R_PDM = 11
    R_DRAM = 12
    R2 = 13
    R4 = 14
    D_PDM_L = 15
    D_L_PDM = 16
    D_PDM_DRAM = 17
    D_DRAM_PDM = 18


@value
class Mv:
    """One MV line.  `size` counts as the form says.  `tag` 0 = none.  `first`/`last`: REDUCE kernels of the stages."""

    form: MvForm
    size: int
    src: MvPlace
    dst: MvPlace
    tag: int = 0
    nd: int | None = None
    prio: int = 0
    first: Kernel | None = None
    last: Kernel | None = None
    line: int = 0
    text: str = ""


@value
class MvNop:
    """`mvnop`: takes an MV slot and moves nothing."""

    line: int = 0
    text: str = "mvnop"


@value
class Debug:
    """`d get` / `d set`, kept as text; `isa` interprets it against the state when the engine reaches it."""

    text: str
    line: int = 0


Line = Step | Mv | MvNop | Debug


@dataclass(frozen=True, slots=True)
class Region:
    """A named stretch of a program (a layer): it starts at index `start` of `Program.lines` and runs to the next one.
    """

    start: int
    name: str


@dataclass(frozen=True)
class Program:
    """A whole decoded program.  `regions` is ordered by start and may be empty."""

    lines: tuple[Line, ...]
    regions: tuple[Region, ...] = ()
    name: str = ""
    source: str = field(default="", repr=False)

    def _repr_html_(self) -> str:
        """For notebooks: what kinds of lines there are, the regions, and the first lines of the source."""
        from collections import Counter

        from hw.html import code, table

        kinds = Counter(type(line).__name__ for line in self.lines)
        text = self.source.splitlines()
        parts = [table(f"program {self.name}", ("kind of line", "lines"), kinds.items())]
        if self.regions:
            parts.append(table("regions", ("first line", "name"), [(part.start, part.name) for part in self.regions]))
        more = [f"... {len(text) - SHOWN_LINES} more lines"] if len(text) > SHOWN_LINES else []
        return "".join([*parts, code("\n".join([*text[:SHOWN_LINES], *more]))])
