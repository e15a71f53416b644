"""One item of text becomes a `Parsed` record: lexing, choice of the record, operand rules.  Cached by text."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from isa.errors import AsmError, nearest
from isa.instructions import MNEMONICS
from isa.literals import parse_literal
from isa.mask_grammar import parse_mask
from isa.operand import KIND_NAMES, BankOperand, Kind, MaskExpr, MatrixOperand, Operand, PeOperand
from isa.operand_grammar import parse_operand
from isa.record import Group, Parsed, Record, Slot, Variant
from isa.suffix import Suffix, take_suffix

_HEAD = re.compile(r"([A-Za-z0-9_]*)(.*)", re.DOTALL)
# A quoted literal is one token even with blanks inside, so that its own rule can complain about it.
_TOKENS = re.compile(r'[^\s"]*"[^"]*"[^\s]*|\S+')

_GROUP_FORMS = {"": False, "@g": True, "@.l": False, "@[g].l": None, "[@.l]": False, "@g.l": True, "@g[.l]": True}
_BANK_FORMS = {"": False, "@g": False, "@.l": True, "@[g].l": True, "[@.l]": None, "@g.l": True, "@g[.l]": None}


def tokens(text: str) -> list[str]:
    """The mnemonic word and the operand words of an item."""
    return _TOKENS.findall(text)


@lru_cache(maxsize=65536)
def parse(text: str) -> Parsed:
    """Parse one PE item or MV line (not `nop`, `noforward`, `wait`, `mvnop`).

    Raises:
        AsmError: with the rule that refuses the text; line and source are filled in by the caller.
    """
    words = tokens(text)
    if not words:
        raise AsmError("item/empty", "no operation", expected="an instruction")
    return _resolve(" ".join(words), words)


def _resolve(text: str, words: list[str]) -> Parsed:
    candidates, rest = _candidates(words[0])
    takes_literal = candidates[0][0].name == "imm"
    operands = tuple(
        parse_literal(word) if takes_literal and number == 0 else parse_operand(word)
        for number, word in enumerate(words[1:])
    )
    record, variant = _choose(candidates, operands, text)
    suffix, left = take_suffix(record.suffix, rest, words[0])
    flush = _flush(record, left, words[0])
    _match_slots(record, variant, operands, text)
    split = record.source_count
    sources = tuple(operand for operand in operands[:split] if isinstance(operand, PeOperand))
    dests = tuple(operand for operand in operands[split:] if isinstance(operand, PeOperand))
    parsed = Parsed(record, variant, suffix, flush, operands, text, sources, dests)
    if record.check is not None:
        record.check(parsed)
    note = record.note(parsed) if record.note is not None else ""
    return replace(parsed, note=note) if note else parsed


def _candidates(word: str) -> tuple[tuple[tuple[Record, Variant], ...], str]:
    match = _HEAD.fullmatch(word)
    assert match is not None
    head, rest = match.groups()
    if rest.startswith("@") and head + "@" in MNEMONICS:
        return MNEMONICS[head + "@"], rest
    found = MNEMONICS.get(head)
    if found is None or found[0][0].lower is None:
        raise AsmError("item/mnemonic", f"unknown instruction `{head or word}`", nearest=_nearest_mnemonic(head))
    return found, rest


def _nearest_mnemonic(head: str) -> str:
    if head + "@" in MNEMONICS:
        return head + "@0"
    return nearest(head.lower(), MNEMONICS)


def _choose(
    candidates: tuple[tuple[Record, Variant], ...], operands: tuple[Operand, ...], text: str
) -> tuple[Record, Variant]:
    """The record whose operand places match; with several candidates all places of all operands decide."""
    if len(candidates) == 1:
        return candidates[0]
    best = candidates
    for number, operand in enumerate(operands[:2]):
        fitting = tuple(c for c in best if operand.kind in c[0].slots[number].kinds)
        if not fitting and candidates[0][0].group is Group.MV:
            raise AsmError("mv/form", f"`{text}`: no such transfer", expected=_forms(best))
        best = fitting or best
    exact = tuple(
        c for c in best if all(_placed(slot, operand) for slot, operand in zip(c[0].slots, operands, strict=False))
    )
    if not exact and best[0][0].group is Group.MV:
        raise AsmError("mv/place", f"`{text}`: groups or L2Bs are given where they must not be", expected=_forms(best))
    return (exact or best)[0]


def _forms(candidates: tuple[tuple[Record, Variant], ...]) -> str:
    return " or ".join(sorted({f"`{record.example}`" for record, _ in candidates}))


def _placed(slot: Slot, operand: Operand) -> bool:
    """Whether group and bank are written as the slot wants them."""
    if not isinstance(operand, BankOperand) or operand.kind not in (Kind.PDM, Kind.DRAM, Kind.L2BM):
        return True
    group, bank = _GROUP_FORMS[slot.place], _BANK_FORMS[slot.place]
    return group in (None, operand.group is not None) and bank in (None, operand.bank is not None)


def _flush(record: Record, left: str, word: str) -> MaskExpr | None:
    if not left:
        return None
    if left.startswith("/") and record.zero_flush:
        return parse_mask(left[1:], f"`{word}`", suffix=False)
    if left.startswith("/"):
        raise AsmError("item/zero-flush", f"`{word}`: `{record.name}` takes no zero flush", nearest=word[: -len(left)])
    expected = f"{record.name}{record.suffix.value}" if record.suffix is not Suffix.NONE else f"`{word[: -len(left)]}`"
    raise AsmError("item/mnemonic", f"`{word}`: unexpected `{left}`", expected=expected)


def _match_slots(record: Record, variant: Variant, operands: tuple[Operand, ...], text: str) -> None:
    slots = record.slots
    many = bool(slots) and slots[-1].many
    if len(operands) < len(slots) or (len(operands) > len(slots) and not many):
        wanted = " ".join(slot.name for slot in slots) + ("..." if many else "")
        raise AsmError(
            "item/operands",
            f"`{text}`: {len(operands)} operand{'s' * (len(operands) != 1)} given",
            expected=f"{len(slots)}{' or more' * many} ({wanted}), as in `{record.example}`",
        )
    for number, operand in enumerate(operands):
        slot = slots[min(number, len(slots) - 1)]
        if operand.kind not in slot.kinds:
            places = ", ".join(KIND_NAMES[kind] for kind in sorted(slot.kinds))
            raise AsmError(
                "operand/place", f"`{operand.text}` cannot be operand `{slot.name}` of `{record.name}`", expected=places
            )
        _check_operand(slot, variant.prec, operand, written=many and number >= len(slots) - 1)
    if many and len(operands) > len(slots):
        _check_nowrite(operands[len(slots) - 1 :])


def _check_operand(slot: Slot, prec: str, operand: Operand, *, written: bool) -> None:
    if isinstance(operand, BankOperand):
        if not _placed(slot, operand):
            raise AsmError("operand/bank", f"`{operand.text}`: wrong group or L2B", expected=f"an address{slot.place}")
        return
    if isinstance(operand, MatrixOperand) and slot.addressed != (operand.start is not None):
        raise AsmError(
            "operand/matrix",
            f"`{operand.text}` {'needs a row or column number' if slot.addressed else 'must not have a number'}",
            nearest=f"${'l' * operand.lws}{'xy'[operand.plane]}{'0' * slot.addressed}",
        )
    if isinstance(operand, (PeOperand, MatrixOperand)):
        allowed = slot.allowed(prec)
        given = ("-" if operand.negate else "") + operand.modifier
        for letter in given:
            if letter not in allowed:
                raise AsmError(
                    "operand/modifier",
                    f"`{operand.text}`: `{letter}` is not allowed here",
                    expected=" ".join(f"`{m}`" for m in allowed) or "no modifier",
                )
    if isinstance(operand, PeOperand) and operand.mask is not None and not written:
        raise AsmError(
            "mask/place", f"`{operand.text}`: a source takes no mask", nearest=operand.text.partition("/")[0]
        )


def _check_nowrite(dests: tuple[Operand, ...]) -> None:
    if any(dest.kind == Kind.NOWRITE for dest in dests):
        raise AsmError("operand/nowrite", "`$nowrite` must be the only destination")
