"""Random legal items, derived from the records: the text generator behind property tests and the coverage table.

`choose` picks one element of a non-empty sequence; `random.choice` and hypothesis' `draw(sampled_from(...))` both fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from isa.instructions import RECORDS
from isa.operand import MEMORIES, Kind
from isa.operand_grammar import SIZES, WIDTHS
from isa.record import Group, Record, Slot, Variant
from isa.suffix import Suffix

Choose = Callable[[Sequence[Any]], Any]

_LETTERS = {Kind.LM0: "m", Kind.LM1: "n", Kind.GRF0: "r", Kind.GRF1: "s"}
_LOCAL = (Kind.LM0, Kind.LM1)
_PLAIN = {Kind.MAUF: "$mauf", Kind.ALUF: "$aluf", Kind.LBF: "$lbf", Kind.MREADF: "$mreadf", Kind.NOWRITE: "$nowrite"}
_FIXED = ("$l2bid", "$l1bid", "$mabid", "$peid", "$subpeid", "$msb1")
_LITERALS = ('f"1.5"', 'f"-0x1p-3"', 'h"2.0"', 'i"-7"', 'i"0x3F800000"', 'ui"4294967295"', 's"-1"', 'us"0x8000"')
_ENTRIES = ("1000", "0110", "$imr0", "$imr3", "$imr15", "$imr20")
_SUFFIXES: dict[Suffix, tuple[str, ...]] = {
    Suffix.NONE: ("",),
    Suffix.LENGTH: ("/6", "/7", "/8", "/9"),
    Suffix.MAB: tuple(f"@{n}" for n in range(4)),
    Suffix.L1B: tuple(f"@{n}" for n in range(8)),
    Suffix.SET: ("", "@3", "@0/3", "@7/6", "@5/2", "@0/7"),
    Suffix.SET_REQUIRED: ("@3", "@0/3", "@7/6", "@5/2"),
    Suffix.SHIFT: ("", "+1", "-1", "+15", "-5"),
    Suffix.MV: ("/n64", "/n128i01", "/n64i3fp3", "/n1024p1i02"),
}
_PLACES = {
    "": ("",),
    "@g": ("@0", "@3"),
    "@.l": ("@.0", "@.1"),
    "@[g].l": ("@.0", "@2.1"),
    "[@.l]": ("", "@.1"),
    "@g.l": ("@0.0", "@3.1"),
    "@g[.l]": ("@1", "@2.1"),
}


class _Sampler:
    """One item under construction: remembers which memories are read and which mask the line uses."""

    def __init__(self, choose: Choose, record: Record, variant: Variant) -> None:
        self.choose = choose
        self.record = record
        self.variant = variant
        self.reads: dict[Kind, str] = {}
        self.written: set[Kind] = {Kind.LM0, Kind.BAR0} if record.name == "imm" else set()
        self.entry = choose(("", "", *_ENTRIES))
        self.words = choose((False, True))
        # A store or load: both sides of the L1BM have the same form.
        self.lws = 1
        if record.group is Group.L1BM and record.name != "l1bmd":
            wide = (
                variant.rrn is None
                or variant.rrn in (("f", "fadd"), ("f", "max"), ("f", "min"))
                or variant.rrn[1] == "bor"
            )
            self.lws = choose((1, 2)) if wide else 1

    def text(self, mnemonic: str) -> str:
        suffix = self.choose(_SUFFIXES[self.record.suffix])
        head = mnemonic if not (mnemonic.endswith("@") and suffix) else mnemonic[:-1]
        words = [head + suffix + self._flush()]
        last = len(self.record.slots) - 1
        for number, slot in enumerate(self.record.slots):
            if slot.many:
                words += self._dests(slot)
            else:
                words.append(self._operand(slot, written=number == last))
        return " ".join(words)

    def _flush(self) -> str:
        if not (self.record.zero_flush and self.entry and self.choose((False, False, True))):
            return ""
        return f"/{self._mask_text()}"

    def _mask_text(self) -> str:
        if self.entry.startswith("$"):
            return f"$ll{self.entry[1:]}" if self.words else str(self.entry)
        return f"ll{self.entry}" if self.words else str(self.entry)

    def _operand(self, slot: Slot, *, written: bool) -> str:
        kind = self.choose(sorted(slot.kinds))
        if kind == Kind.IMM:
            return str(self.choose(_LITERALS))
        if kind == Kind.MATRIX:
            return self._matrix(slot, written)
        if kind in (Kind.L1BM, Kind.TURN):
            form = "$llb" if self.lws == 2 else "$lb"
            if kind == Kind.TURN and (written or self.record.name != "l1bmp"):
                return form + "i"
            return f"{form}{64 * self.choose(range(128))}"
        if kind == Kind.DAR:
            return f"$dar{self.choose(range(1024))}"
        if kind in (Kind.PDM, Kind.DRAM, Kind.L2BM):
            letter = {Kind.PDM: "$p", Kind.DRAM: "$d", Kind.L2BM: "$lc"}[kind]
            return f"{letter}{64 * self.choose(range(512))}{self.choose(_PLACES[slot.place])}"
        return self._source(slot, kind)

    def _matrix(self, slot: Slot, written: bool) -> str:
        plane = self.choose(("x", "y"))
        if not slot.addressed:
            return f"$l{plane}"
        half = self.variant.prec == "h"
        wide = half and (not written or self.choose((False, True)))
        return f"${'ll' if wide else 'l'}{plane}{self.choose(range(0, 16, 2) if wide else range(16))}"

    def _source(self, slot: Slot, kind: Kind) -> str:
        if kind == Kind.FIXED:
            return str(self.choose(_FIXED))
        base = self.reads.get(kind) or self._place(kind)
        self.reads[kind] = base
        allowed = slot.allowed(self.variant.prec)
        negate = "-" if "-" in allowed and self.choose((False, False, True)) else ""
        letters = [letter for letter in allowed if letter in "er"]
        legal = letters and not (self.variant.prec == "g" and slot.rule == "raw")
        modifier = self.choose(("", "", *letters)) if legal else ""
        return f"{negate}{base}{modifier}"

    def _place(self, kind: Kind, widths: Sequence[str] = ("", "l", "ll"), *, via_t: bool = True) -> str:
        """A memory operand with start, stride, list, `j` or T; T and the latches have fixed names."""
        if kind not in MEMORIES:
            return _PLAIN.get(kind) or str(self.choose(("$t", "$lt", "$llt")))
        prefix = self.choose(widths)
        width = WIDTHS[prefix]
        starts = range(0, SIZES[kind], width)
        t = "t" if kind == Kind.LM0 and via_t and self.choose((False, False, False, True)) else ""
        form = self.choose(("fixed", "v", "stride", "list"))
        body = f"${prefix}{_LETTERS[kind]}{t}"
        if form == "list":
            body += "[" + ",".join(str(self.choose(starts)) for _ in range(4)) + "]"
        else:
            body += str(self.choose(starts))
            body += {"fixed": "", "v": "v", "stride": f"v{width * self.choose(range(4))}"}[form]
        if kind in _LOCAL and not t:
            body += self.choose(("", "", "j0", "j1", "j3"))
        return body

    def _dests(self, slot: Slot) -> list[str]:
        widths: tuple[str, ...] = ("", "l", "ll")
        kinds = set(slot.kinds)
        if self.record.group is Group.L1BM:
            widths = ("ll",) if self.lws == 2 else ("", "l")
        if self.record.group is Group.MREAD:
            # All destinations but T have one width.
            widths = (self.choose(widths),)
        if widths == ("ll",):
            kinds -= {Kind.BAR0, Kind.BAR1}
        for bar, memory in ((Kind.BAR0, Kind.LM0), (Kind.BAR1, Kind.LM1)):
            if memory in self.reads:
                kinds -= {bar, memory}
        kinds -= self.written
        found: list[str] = []
        for _ in range(self.choose((1, 1, 2, 3))):
            legal = sorted(kinds - {Kind.NOWRITE} if found else kinds)
            if not legal:
                break
            kind = self.choose(legal)
            found.append(self._dest(kind, widths))
            kinds.discard(kind)
            for pair in ({Kind.LM0, Kind.BAR0}, {Kind.LM1, Kind.BAR1}):
                kinds -= pair if kind in pair else set()
            if kind == Kind.NOWRITE:
                break
        return found

    def _dest(self, kind: Kind, widths: Sequence[str]) -> str:
        if kind == Kind.NOWRITE:
            return "$nowrite"
        if kind == Kind.OMR:
            base, width = f"$omr{self.choose(range(1, 16))}", 0
        elif kind in (Kind.BAR0, Kind.BAR1):
            wide = "l" in widths and ("" not in widths or self.choose((False, True)))
            base, width = f"${'l' * wide}{'m' if kind == Kind.BAR0 else 'n'}b", (1 + wide) * (kind == Kind.BAR0)
        else:
            base = self._place(kind, widths)
            width = (
                WIDTHS[base[1:3] if base[1:3] == "ll" else base[1:2] if base[1] == "l" else ""] if kind != Kind.T else 0
            )
        if not self.entry or self.choose((False, True)):
            return base
        escape = "" if width == 0 else ("" if self.words else "p") if width == 4 else ("t" if self.words else "")
        return f"{base}/{self._mask_text()}{escape}"


SAMPLED: tuple[Record, ...] = tuple(record for record in RECORDS if record.lower is not None)
"""Records with operands, i.e. everything but `nop`, `wait` and the statements."""


def sample(choose: Choose, records: Sequence[Record] = SAMPLED) -> str:
    """The text of one legal item or MV line of a random record."""
    record = choose(records)
    mnemonic = choose(sorted(record.mnemonics))
    return _Sampler(choose, record, record.mnemonics[mnemonic]).text(mnemonic)
