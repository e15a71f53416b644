"""`MNValue`: one tensor of the graph with its three properties Dtype, Location and Layout, and what else l3ir.txt says.

Source: compiler.md 4 (fields), 6 (locations and address units).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from compiler.graph.errors import GraphError, Spelled
from compiler.graph.mntype import MNType, OnnxType
from compiler.layout import PadLayout

#: LM of one PE in 32-bit words, the unit of LM addresses; DRAM of one group in long words, the unit of DRAM addresses.
LM_WORDS = 4096
DRAM_LWS = 1 << 29


class Location(Spelled):
    """Where a value lives."""

    DRAM = "DRAM"
    LM0 = "LM0"
    LM1 = "LM1"
    IMM = "IMM"

    @property
    def kind(self) -> LocKind:
        """The kind of memory: LM for LM0 and LM1."""
        return LocKind.LM if self in (Location.LM0, Location.LM1) else LocKind(self.value)


class LocKind(Spelled):
    """Kind of memory, decided before the location planner picks one of the two LMs."""

    LM = "LM"
    DRAM = "DRAM"
    IMM = "IMM"


class PadType(Spelled):
    """What the padding of a layout holds.  Zero and Dirty (undefined) are in the public listing, the rest is ours."""

    ZERO = "Zero"
    DIRTY = "Dirty"
    ONE = "One"
    INF = "Inf"
    NEG_INF = "NegInf"


@dataclass(slots=True)
class MNValue:
    """One tensor.  Enumerated fields accept their l3ir spelling; `loc_kind` follows `loc` unless given.

    name: unique in the graph.  shape: unpadded.  gene: one label per axis, "" = none.  loc, addr: None until planned;
    addr counts 32-bit words in LM and long words in DRAM (the same in all four groups).  parent: the value whose
    memory this one shares.  constant: host data of a value known at compile time.
    """

    name: str
    onnx_dtype: OnnxType
    shape: tuple[int, ...]
    dtype: MNType
    layout: PadLayout | None = None
    gene: tuple[str, ...] = ()
    pad_type: PadType | None = None
    loc: Location | None = None
    loc_kind: LocKind | None = None
    addr: int | None = None
    parent: str | None = None
    constant: NDArray[Any] | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        self.onnx_dtype = OnnxType(self.onnx_dtype)
        self.shape = tuple(self.shape)
        self.dtype = MNType(self.dtype)
        self.gene = tuple(self.gene) or ("",) * len(self.shape)
        if self.pad_type is not None:
            self.pad_type = PadType(self.pad_type)
        if self.loc is not None:
            self.loc = Location(self.loc)
            self.loc_kind = self.loc.kind if self.loc_kind is None else self.loc_kind
        if self.loc_kind is not None:
            self.loc_kind = LocKind(self.loc_kind)

    @property
    def num_lw(self) -> int:
        """Long words per PE of the laid-out value; GraphError before the layout is planned."""
        if self.layout is None:
            raise GraphError(f"value {self.name} has no layout yet")
        return self.layout.num_lw

    def place_at(self, loc: Location, addr: int | None = None) -> None:
        """Set location, its kind and address together."""
        self.loc, self.loc_kind, self.addr = loc, loc.kind, addr

    def problems(self) -> list[str]:
        """Contradictions between the fields, each as a sentence without the value's name."""
        found: list[str] = []
        if len(self.gene) != len(self.shape):
            found.append(f"{len(self.gene)} gene labels for {len(self.shape)} axes")
        if self.layout is not None:
            if self.layout.shape != self.shape:
                found.append(f"layout is for shape {self.layout.shape}, the value has {self.shape}")
            try:
                self.layout.layout.check_words(self.dtype.words_per_lw)
            except ValueError as error:
                found.append(str(error))
        if self.constant is not None and self.constant.shape != self.shape:
            found.append(f"constant has shape {self.constant.shape}, the value has {self.shape}")
        if self.loc is not None and self.loc_kind is not self.loc.kind:
            found.append(f"loc_kind {self.loc_kind} does not fit loc {self.loc}")
        if self.addr is not None:
            found += self._address_problems(self.addr)
        return found

    def _address_problems(self, addr: int) -> list[str]:
        if self.loc is None or self.loc is Location.IMM:
            return [f"address {addr} without a memory (loc {self.loc})"]
        if self.loc is Location.DRAM:
            return [] if 0 <= addr < DRAM_LWS else [f"DRAM address {addr} outside 0..{DRAM_LWS - 1}"]
        found = [] if addr % 4 == 0 else [f"LM address {addr} is no multiple of 4 words (two long words)"]
        size = 2 * self.layout.num_lw if self.layout is not None else 1
        if not 0 <= addr <= LM_WORDS - size:
            found.append(f"words {addr}..{addr + size - 1} lie outside {self.loc}, which has {LM_WORDS} words")
        return found
