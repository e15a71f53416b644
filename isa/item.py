"""One item of text becomes a `Parsed` record: lexing, choice of the record, operand rules.  Cached by text."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import lru_cache

from isa.errors import AsmError, nearest
from isa.instructions import MNEMONICS
from isa.literals import parse_literal
from isa.mask_grammar import parse_mask
from isa.operand import KIND_NAMES, PE_KINDS, BankOperand, Kind, MaskExpr, MatrixOperand, Operand, PeOperand, Shape
from isa.operand_grammar import parse_operand
from isa.record import Group, Parsed, Record, Slot, Variant
from isa.suffix import Suffix, SuffixValue, take_suffix

_HEAD = re.compile(r"([A-Za-z0-9_]*)(.*)", re.DOTALL)
# A quoted literal is one token even with blanks inside, so that its own rule can complain about it.
_TOKENS = re.compile(r'[^\s"]*"[^"]*"[^\s]*|\S+')

_GROUP_FORMS = {"": False, "@g": True, "@.l": False, "@[g].l": None, "[@.l]": False, "@g.l": True, "@g[.l]": True}
_BANK_FORMS = {"": False, "@g": False, "@.l": True, "@[g].l": True, "[@.l]": None, "@g.l": True, "@g[.l]": None}

Candidates = tuple[tuple[Record, Variant], ...]


def tokens(text: str) -> list[str]:
    """The mnemonic word and the operand words of an item."""
    return _TOKENS.findall(text) if '"' in text else text.split()


class _Signature:
    """One candidate of a mnemonic, and the operand shapes each of its slots has taken before.

    `sources` and `dests` say where the PE operands stand; a slot takes PE operands only or none.
    """

    __slots__ = ("_known", "_many", "_slots", "dests", "record", "sources", "variant")

    def __init__(self, record: Record, variant: Variant) -> None:
        self.record = record
        self.variant = variant
        slots = record.slots
        self._slots = len(slots)
        self._many = bool(slots) and slots[-1].many
        prec = variant.prec
        known = [_known_shapes(slot, prec, written=slot.many) for slot in slots]
        self._known = (*known, *known[-1:] * _MORE_DESTS) if self._many else tuple(known)
        places = [number for number, slot in enumerate(slots[:-1]) if slot.kinds <= PE_KINDS]
        self.sources = slice(places[0], places[-1] + 1) if places else slice(0, 0)
        self.dests = slice(len(slots) - 1, None) if slots and slots[-1].kinds <= PE_KINDS else slice(0, 0)

    def check(self, operands: tuple[Operand, ...], text: str) -> None:
        """Refuse operands that do not fit the slots.  Raises AsmError."""
        count = len(operands)
        known = self._known
        if self._slots <= count <= len(known):
            for operand, shapes in zip(operands, known, strict=False):
                if operand.shape not in shapes:
                    break
            else:
                if count > self._slots:
                    _check_nowrite(operands[self._slots - 1 :])
                return
        _match_slots(self.record, self.variant, operands, text)
        for operand, shapes in zip(operands, known, strict=False):
            shapes.add(operand.shape)


_MORE_DESTS = 8


@lru_cache(maxsize=4096)
def _known_shapes(slot: Slot, prec: str, *, written: bool) -> set[Shape]:
    """The shapes a slot has taken in a precision; starts empty, and all that decides about them is in the arguments."""
    return set()


@lru_cache(maxsize=4096)
def _signatures(spelling: str) -> tuple[_Signature, ...]:
    return tuple(_Signature(record, variant) for record, variant in MNEMONICS[spelling])


class _Head:
    """A mnemonic word: what it may mean, and the suffixes it has for each record."""

    __slots__ = ("_chosen", "_rest", "_suffixes", "_word", "only", "parse_first", "signatures")

    def __init__(self, word: str) -> None:
        spelling, self._rest = _spelling(word)
        self._word = word
        self.signatures = _signatures(spelling)
        self.only = self.signatures[0] if len(self.signatures) == 1 else None
        self.parse_first = parse_literal if self.signatures[0].record.name == "imm" else parse_operand
        self._chosen: dict[tuple[Shape, ...], _Signature] = {}
        self._suffixes: dict[Record, tuple[SuffixValue, MaskExpr | None]] = {}

    def choose(self, operands: tuple[Operand, ...], text: str) -> _Signature:
        """The candidate whose operand places match."""
        shapes = tuple([operand.shape for operand in operands[:2]])
        found = self._chosen.get(shapes)
        if found is None:
            record, _ = _choose(tuple((each.record, each.variant) for each in self.signatures), operands, text)
            found = self._chosen[shapes] = next(each for each in self.signatures if each.record is record)
        return found

    def suffix(self, record: Record) -> tuple[SuffixValue, MaskExpr | None]:
        """Suffix and zero flush of the word as this record reads it.  Raises AsmError."""
        found = self._suffixes.get(record)
        if found is None:
            suffix, left = take_suffix(record.suffix, self._rest, self._word)
            found = self._suffixes[record] = suffix, _flush(record, left, self._word)
        return found


_head = lru_cache(maxsize=65536)(_Head)


@lru_cache(maxsize=65536)
def parse(text: str) -> Parsed:
    """Parse one PE item or MV line (not `nop`, `noforward`, `wait`, `mvnop`).

    Raises:
        AsmError: with the rule that refuses the text; line and source are filled in by the caller.
    """
    words = tokens(text)
    if not words:
        raise AsmError("item/empty", "no operation", expected="an instruction")
    head = _head(words[0])
    text = " ".join(words)
    if len(words) > 1:
        operands: tuple[Operand, ...] = (head.parse_first(words[1]), *map(parse_operand, words[2:]))
    else:
        operands = ()
    signature = head.only or head.choose(operands, text)
    record = signature.record
    suffix, flush = head.suffix(record)
    signature.check(operands, text)
    sources, dests = operands[signature.sources], operands[signature.dests]
    parsed = Parsed(record, signature.variant, suffix, flush, operands, text, sources, dests)  # type: ignore[arg-type]
    if record.check is not None:
        record.check(parsed)
    note = record.note(parsed) if record.note is not None else ""
    return replace(parsed, note=note) if note else parsed


def _spelling(word: str) -> tuple[str, str]:
    """The spelling of the table a mnemonic word begins with, and what follows it."""
    match = _HEAD.fullmatch(word)
    assert match is not None
    head, rest = match.groups()
    if rest.startswith("@") and head + "@" in MNEMONICS:
        return head + "@", rest
    found = MNEMONICS.get(head)
    if found is None or found[0][0].lower is None:
        raise AsmError("item/mnemonic", f"unknown instruction `{head or word}`", nearest=_nearest_mnemonic(head))
    return head, rest


def _nearest_mnemonic(head: str) -> str:
    if head + "@" in MNEMONICS:
        return head + "@0"
    return nearest(head.lower(), MNEMONICS)


def _choose(candidates: Candidates, operands: tuple[Operand, ...], text: str) -> tuple[Record, Variant]:
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


def _forms(candidates: Candidates) -> str:
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
