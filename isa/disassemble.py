"""Canonical text of decoded programs: one spelling for everything that means the same.

Canonical form: one space between words, decimal addresses without superfluous parts (`$lr0v2` is `$lr0v`, `$lt` is
`$t`), masks as patterns where they are constant (`/$imr24` is `/1000`), literals as `ui"0x..."`, persistent masks
written out at the destinations they act on.  `assemble(disassemble(p))` has the items of p, and canonical text is its
own canonical form.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from hw.program import Compute, Debug, Dest, Item, Line, MaskRef, Mv, MvNop, PeLoad, Program, Step
from isa.dump import parse_debug
from isa.item import parse
from isa.mv_suffix import MvOptions
from isa.operand import MEMORIES, BankOperand, Kind, Literal, MaskExpr, MatrixOperand, Operand, PeOperand
from isa.operand_grammar import WIDTHS
from isa.record import Parsed, Record, Variant
from isa.suffix import Suffix, SuffixValue

DRAM_LWS = 1 << 29
_PREFIX = {width: prefix for prefix, width in WIDTHS.items()}
_LETTER = {Kind.LM0: "m", Kind.LM1: "n", Kind.GRF0: "r", Kind.GRF1: "s"}
_PLAIN = {
    Kind.T: "$t",
    Kind.MAUF: "$mauf",
    Kind.ALUF: "$aluf",
    Kind.LBF: "$lbf",
    Kind.MREADF: "$mreadf",
    Kind.NOWRITE: "$nowrite",
}
_FIXED = ("$l2bid", "$l1bid", "$mabid", "$peid", "$subpeid", "$msb1")
_BAR = {(Kind.BAR0, 1): "$mb", (Kind.BAR0, 2): "$lmb", (Kind.BAR1, 1): "$nb", (Kind.BAR1, 2): "$lnb"}
_BANK = {Kind.L2BM: "lc", Kind.DAR: "dar", Kind.DRAM: "d", Kind.PDM: "p"}
PATTERNS = 16


def mask_text(mask: MaskExpr) -> str:
    """A mask expression without its slash."""
    if mask.entry >= PATTERNS:
        return f"{'ll' * mask.words}{mask.entry - PATTERNS:04b}{mask.escape}"
    return f"${'ll' * mask.words}imr{mask.entry}{mask.escape}"


def _memory_text(operand: PeOperand) -> str:
    body = f"${_PREFIX[operand.width]}{_LETTER[operand.kind]}{'t' * operand.via_t}"
    a0, a1, a2, a3 = operand.addr
    stride = a1 - a0
    if operand.flat:
        body += f"[{a0},{a1},{a2},{a3}]"
    elif stride == 0:
        body += "" if operand.via_t and a0 == 0 else str(a0)
    else:
        body += f"{a0}v" + ("" if stride == operand.width else str(stride))
    return body if operand.j is None else f"{body}j{operand.j}"


def _pe_text(operand: PeOperand) -> str:
    if operand.kind in MEMORIES:
        body = _memory_text(operand)
    elif operand.kind == Kind.FIXED:
        body = _FIXED[operand.value]
    elif operand.kind == Kind.OMR:
        body = f"$omr{operand.value}"
    elif operand.kind in (Kind.BAR0, Kind.BAR1):
        body = _BAR[operand.kind, operand.width]
    else:
        body = _PLAIN[operand.kind]
    mask = "" if operand.mask is None else f"/{mask_text(operand.mask)}"
    return f"{'-' * operand.negate}{body}{operand.modifier}{mask}"


def _bank_text(operand: BankOperand) -> str:
    if operand.kind in (Kind.L1BM, Kind.TURN):
        return f"${'l' * (operand.lws - 1)}lb{'i' if operand.kind == Kind.TURN else operand.addr}"
    name = "di" if operand.indirect else _BANK[operand.kind]
    address = operand.addr % DRAM_LWS if operand.kind == Kind.DRAM else operand.addr
    group = "" if operand.group is None else str(operand.group)
    bank = "" if operand.bank is None else f".{operand.bank}"
    return f"${name}{address}" + (f"@{group}{bank}" if group or bank else "")


def operand_text(operand: Operand) -> str:
    """Canonical text of one operand."""
    if isinstance(operand, PeOperand):
        return _pe_text(operand)
    if isinstance(operand, MatrixOperand):
        start = "" if operand.start is None else str(operand.start)
        return f"{'-' * operand.negate}${'l' * operand.lws}{'xy'[operand.plane]}{start}{operand.modifier}"
    if isinstance(operand, Literal):
        return f'ui"0x{operand.bits:08X}"'
    return _bank_text(operand)


def suffix_text(kind: Suffix, value: SuffixValue) -> str:
    """Canonical text of what follows a mnemonic."""
    if isinstance(value, MvOptions):
        tag = f"i{value.tag:02x}" if value.tag else ""
        repeat = "" if value.repeat is None else f"nd{value.repeat}"
        return f"/n{value.size}{tag}{repeat}" + (f"p{value.priority}" if value.priority else "")
    if isinstance(value, tuple):
        address, ignore = value
        if ignore == 7:
            return ""
        kept = address & (7 ^ ignore)
        return f"@{kept}/{ignore}" if ignore else f"@{kept}"
    if value is None or (kind is Suffix.SHIFT and value == 0):
        return ""
    return {Suffix.LENGTH: f"/{value}", Suffix.SHIFT: f"{value:+d}"}.get(kind, f"@{value}")


@lru_cache(maxsize=4096)
def mnemonic(record: Record, variant: Variant) -> str:
    """The spelling of a variant, without a trailing `@`."""
    return next(text for text, found in record.mnemonics.items() if found == variant).rstrip("@")


def item_text(parsed: Parsed) -> str:
    """Canonical text of a parsed item or MV line."""
    head = mnemonic(parsed.record, parsed.variant) + suffix_text(parsed.record.suffix, parsed.suffix)
    if parsed.flush is not None:
        head += f"/{mask_text(parsed.flush)}"
    return " ".join([head, *map(operand_text, parsed.operands)])


def masked(parsed: Parsed, item: Item | Mv) -> Parsed:
    """`parsed` with the masks its machine item really has, i.e. with persistent masks written out."""
    dests: tuple[Dest, ...] = item.dests if isinstance(item, (Compute, PeLoad)) else ()
    if all((d.mask is None) == (o.mask is None) for d, o in zip(dests, parsed.dests, strict=True)):
        return parsed
    first = len(parsed.operands) - len(dests)
    written = tuple(
        replace(operand, mask=None if dest.mask is None else _one_time(dest.mask, operand))
        for operand, dest in zip(parsed.dests, dests, strict=True)
    )
    return replace(parsed, operands=parsed.operands[:first] + written)


def _one_time(mask: MaskRef, operand: PeOperand) -> MaskExpr:
    """A mask with the suffix that its word length needs at this destination (isa.md 4.2)."""
    wide = operand.width == 4
    if operand.kind in (Kind.T, Kind.OMR) or wide == mask.words:
        return MaskExpr(mask.entry, mask.words)
    return MaskExpr(mask.entry, mask.words, "p" if wide else "t")


def parsed_item(item: Item | Mv) -> Parsed:
    """The grammar view of a machine item, from its text; persistent masks included.  Raises AsmError without text."""
    return masked(parse(item.text), item)


def step_text(step: Step) -> str:
    """Canonical text of a PE line."""
    parts = [item_text(parsed_item(item)) for item in step.items]
    if step.nop:
        parts.append("nop")
    if step.hold:
        parts.append("noforward")
    if step.wait is not None:
        parts.append(f"wait i{step.wait:02x}")
    return "; ".join(parts)


def line_text(line: Line) -> str:
    """Canonical text of any program line."""
    if isinstance(line, Step):
        return step_text(line)
    if isinstance(line, MvNop):
        return "mvnop"
    if isinstance(line, Debug):
        return parse_debug(line.text).text
    return item_text(parsed_item(line))


def disassemble(program: Program) -> str:
    """Canonical VSM text of a program: a row per line, runs of plain nops as `nop/N`, regions as `#@layer` comments."""
    rows: list[str] = []
    regions = {region.start: region.name for region in program.regions}
    nops = 0

    def flush() -> None:
        nonlocal nops
        if nops:
            rows.append("nop" if nops == 1 else f"nop/{nops}")
        nops = 0

    for index, line in enumerate(program.lines):
        if index in regions:
            flush()
            rows.append(f"#@layer {regions[index]}")
        if isinstance(line, Step) and line.nop and line.wait is None:
            nops += 1
            continue
        flush()
        rows.append(line_text(line))
    flush()
    return "\n".join(rows) + "\n" if rows else ""
