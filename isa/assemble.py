"""The assembler: program text becomes a decoded `hw.program.Program` (isa.md 2)."""

from __future__ import annotations

import gc
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from hw.program import Debug, Item, Line, Mv, MvNop, Program, Region, Step
from isa.checks.forwarding import advance, check_context, check_latches
from isa.checks.latches import EMPTY, Latches
from isa.checks.masks import check_masked_widths
from isa.errors import AsmError, AsmWarning
from isa.item import parse, tokens
from isa.line import PeLine, decode_item, decode_line, masked_items
from isa.mask_grammar import NO_MASK, PersistentMask, parse_mask_line
from isa.numerals import NUMBER, to_int
from isa.operand import PeOperand
from isa.operand_grammar import parse_operand

Mode = Literal["flat", "auto_stride"]

_COMMENT = re.compile(r"[#!]")
_LAYER = re.compile(r"\s*#@layer\s+(\S.*?)\s*")
_REPEATED_NOP = re.compile(rf"nop/({NUMBER})")
_STATEMENTS = "dmnq"  # first letters of `d`, `mask`, `mv...`, `nop/N` and `quit`
_WORD = re.compile(r"[A-Za-z0-9_]*")
MOST_NOPS = 10_000_000
_MANUAL_TAGS = 63


def parse_item(text: str) -> Item:
    """Decode one PE item (not `nop`, `noforward`, `wait`); raises AsmError."""
    return decode_item(text)[1]


def parse_mv(text: str) -> Mv:
    """Decode one MV line (not `mvnop`); raises AsmError."""
    parsed = parse(text)
    assert parsed.record.lower is not None
    found = parsed.record.lower(parsed)
    if not isinstance(found, Mv):
        raise AsmError(
            "item/mnemonic", f"`{text}` is no MV line", expected="mvp, mvb, mvb2, mvb4, mvd, mvr, mvr2 or mvr4"
        )
    return found


def assemble(
    text: str, *, mode: Mode = "flat", check_hazards: bool = True, name: str = "", insert_nops: bool = False
) -> Program:
    """Decode and check a whole program.

    Args:
        text: program text; `#@layer NAME` on a line of its own starts a region.
        mode: "auto_stride" refuses address lists, which need the flat instruction mode.
        check_hazards: also refuse what the official hazard checker refuses: hazard distances, masked destinations of
            different widths, and forwarded values nobody produced.
        name: name of the program.
        insert_nops: put a `nop` before every line of text, blank ones included (`assemble3 --insert-nop`).

    Raises:
        AsmError: the first refusal, with its line.

    Warns:
        AsmWarning: text that is legal but does not do what it seems to.
    """
    with _collector_paused():
        reader = LineReader(mode, check_hazards)
        # With `insert_nops` the empty rest behind the last line end is a line too.
        for number, line in enumerate(f"{text}\n".splitlines() if insert_nops else text.splitlines(), 1):
            if insert_nops:
                reader.lines.append(Step(nop=True, line=number, text="nop"))
            try:
                if not reader.read(line, number):
                    break
            except AsmError as error:
                raise error.at(number, line) from None
        program = Program(tuple(reader.lines), tuple(reader.regions), name, text)
        if check_hazards:
            _check_hazards(program, text)
    return program


def forget() -> None:
    """Drop what is kept of texts seen before: the next assembly works as in a new process (for measurements)."""
    from hw.sanitizer.effects import official_footprint

    for cached in (parse_operand, parse, decode_item, decode_line, masked_items, official_footprint):
        cached.cache_clear()


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Without cyclic garbage collection: everything made here stays, and walking over it again and again takes longer
    than the rest of the work.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _check_hazards(program: Program, text: str) -> None:
    from hw.sanitizer import hazards

    for violation in hazards.check(program):
        source = text.splitlines()[violation.line - 1] if violation.line else ""
        raise AsmError(
            violation.rule.replace(" ", "/", 1),
            violation.message.removesuffix(f" [{violation.rule}]"),
            line=violation.line,
            source=source,
        )


class LineReader:
    """State between lines: persistent mask, latches, and what was decoded so far."""

    def __init__(self, mode: Mode, check_hazards: bool) -> None:
        self._mode = mode
        self._check_hazards = check_hazards
        self.lines: list[Line] = []
        self.regions: list[Region] = []
        self._mask: PersistentMask = NO_MASK
        self._latches: Latches = EMPTY

    def read(self, line: str, number: int) -> bool:
        """Take one source line; False at `quit`."""
        text = line
        if "#" in line or "!" in line:
            layer = _LAYER.fullmatch(line)
            if layer:
                self.regions.append(Region(len(self.lines), layer[1]))
                return True
            text = _COMMENT.split(line, maxsplit=1)[0]
        text = text.strip()
        if not text:
            return True
        if text[0] in _STATEMENTS:
            match = _WORD.match(text)
            word = match[0] if match else ""
            if word == "quit":
                return False
            if word == "d":
                self._debug(text, number)
                return True
            if word.startswith("mask"):
                self._mask = parse_mask_line(text)
                self._warn_mask(text, number)
                return True
            if word.startswith("mv"):
                self._mv(text, number)
                return True
            if _REPEATED_NOP.match(text):
                self._nops(text, number)
                return True
        self._step(text, number)
        return True

    def _debug(self, text: str, number: int) -> None:
        from isa.dump import parse_debug

        parse_debug(text)
        self.lines.append(Debug(text, number))

    def _warn_mask(self, text: str, number: int) -> None:
        if self._mask is NO_MASK and tokens(text)[1] != "0":
            self._warn(number, f"`{text}` names no targets and masks nothing")

    def _mv(self, text: str, number: int) -> None:
        if text == "mvnop":
            self.lines.append(MvNop(number))
            return
        mv = parse_mv(text)
        if mv.tag > _MANUAL_TAGS:
            self._warn(number, f"tag i{mv.tag:02x} is above i3f, the last one of the manual")
        self.lines.append(
            Mv(mv.form, mv.size, mv.src, mv.dst, mv.tag, mv.nd, mv.prio, mv.first, mv.last, number, mv.text)
        )

    def _nops(self, text: str, number: int) -> None:
        match = _REPEATED_NOP.fullmatch(text)
        if not match:
            raise AsmError("line/nop", f"`{text}`: nothing may follow `nop/N`", nearest=_REPEATED_NOP.match(text)[0])  # type: ignore[index]
        count = to_int(match[1])
        if count > MOST_NOPS:
            raise AsmError("line/nop", f"`{text[:40]}` are too many lines", expected=f"at most {MOST_NOPS} at once")
        self.lines.extend([Step((), nop=True, line=number, text="nop")] * count)

    def _step(self, text: str, number: int) -> None:
        line = decode_line(text)
        if line.l1bm:
            check_context(line.parsed, self._latches)
        masked = line.own_mask or bool(self._mask.targets)
        if self._check_hazards:
            check_latches(line.parsed, self._latches, hold=line.hold)
            if masked:
                check_masked_widths(line.parsed, self._mask, self._latches)
        if self._mode == "auto_stride":
            _check_auto_stride(line)
        items = masked_items(text, self._mask) if masked else line.items
        for parsed in line.parsed:
            if parsed.note:
                self._warn(number, parsed.note)
        if not (line.nop or line.hold):
            self._latches = advance(line.parsed, self._latches)
        self.lines.append(Step(items, line.wait, line.nop, line.hold, number, line.text))

    @staticmethod
    def _warn(number: int, message: str) -> None:
        warnings.warn(f"line {number}: {message}", AsmWarning, stacklevel=4)


def _check_auto_stride(line: PeLine) -> None:
    for parsed in line.parsed:
        for operand in parsed.operands:
            if isinstance(operand, PeOperand) and operand.flat:
                raise AsmError(
                    "mode/list",
                    f"`{operand.text}`: address lists need the flat instruction mode",
                    expected="a stride, as in `$lr0v2`",
                )
