"""The operand grammar of isa.md 3: one text becomes one `Operand`; literal addresses are checked."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from hw.program import PER_CYCLE, Fixed
from isa.errors import AsmError, nearest
from isa.mask_grammar import parse_mask
from isa.numerals import NUMBER, to_int
from isa.operand import BankOperand, Kind, MaskExpr, MatrixOperand, Operand, PeOperand

WIDTHS = {"": 1, "l": 2, "ll": 4}
SIZES = {Kind.LM0: 4096, Kind.LM1: 4096, Kind.GRF0: 512, Kind.GRF1: 512}
NAMES = {Kind.LM0: "LM0", Kind.LM1: "LM1", Kind.GRF0: "GRF0", Kind.GRF1: "GRF1"}
MATRIX_ROWS = 16
DAR_ENTRIES = 1024
GROUPS = 4
BANKS = 2

_MEMORY = re.compile(
    rf"\$(l{{0,2}})([mnrs])(t)?(?:({NUMBER})(?:(v)({NUMBER})?)?|\[({NUMBER}(?:,{NUMBER}){{0,3}})\])?(?:j({NUMBER}))?([er]?)"
)
_MATRIX = re.compile(rf"\$(l|ll)([xy])({NUMBER})?([er]?)")
_MASK_ENTRY = re.compile(rf"\$omr({NUMBER})")
_L1BM = re.compile(rf"\$(l?)lb(?:({NUMBER})|(i))")
_BANK = re.compile(rf"\$(lc|dar|di|d|p)({NUMBER})(?:@({NUMBER})?(?:\.({NUMBER}))?)?")

_MEMORY_KINDS = {"m": Kind.LM0, "n": Kind.LM1, "r": Kind.GRF0, "s": Kind.GRF1}
_BANK_KINDS = {"lc": Kind.L2BM, "dar": Kind.DAR, "di": Kind.DRAM, "d": Kind.DRAM, "p": Kind.PDM}
_FORWARDS = {"$mauf": Kind.MAUF, "$aluf": Kind.ALUF, "$lbf": Kind.LBF, "$mreadf": Kind.MREADF}
_FIXED = {f"${fixed.name.lower()}": fixed for fixed in Fixed}
_BASES = {"$mb": (Kind.BAR0, 1), "$lmb": (Kind.BAR0, 2), "$nb": (Kind.BAR1, 1), "$lnb": (Kind.BAR1, 2)}
_OUTSIDE_PES = frozenset({"lb", "lc", *(letter + digit for letter in "dp" for digit in "0123456789")})
# The suffix a mask needs, by "two long words wide" and "`ll` mask"; some destinations have no width to meet.
_ESCAPES = {(True, True): "", (True, False): "p", (False, False): "", (False, True): "t"}
_UNSIZED = frozenset({Kind.T, Kind.OMR, Kind.BAR1})
_NOWRITE = Kind.NOWRITE
_T = ("$t", "$lt", "$llt")
_EXAMPLES = (
    *(
        f"${prefix}{letter}{address}"
        for letter in "mnrs"
        for prefix in ("", "l", "ll")
        for address in ("0", "0v", "0vj1" if letter in "mn" else "0v2", "[0,2,4,6]")
    ),
    *("$mt0", "$lmt0v", "$llmt0v", *_T, *_BASES, "$omr1", "$nowrite", *_FORWARDS, *_FIXED),
    *("$lx", "$ly", "$lx0", "$llx0", "$lb0", "$llb0", "$lbi", "$llbi"),
    *("$lc0", "$lc0@.0", "$dar0", "$d0@0", "$di0@0", "$p0@0"),
)


@lru_cache(maxsize=65536)
def parse_operand(text: str) -> Operand:
    """Parse one operand, including `-`, `e`/`r` and a write mask.

    Raises:
        AsmError: rules operand/text, address/range, address/alignment, address/index, operand/modifier, mask/*.
    """
    body, slash, mask_text = text.partition("/")
    negate = body.startswith("-")
    if negate:
        body = body[1:]
    # A short cut only: no text fits two of the three.
    operand = _outside(text, body) if body[1:3] in _OUTSIDE_PES else None
    operand = operand or _memory(text, body, negate) or _plain(text, body, negate) or _outside(text, body)
    if operand is None:
        raise AsmError("operand/text", f"invalid operand `{text}`", nearest=_nearest(body))
    if not slash:
        return operand
    if not isinstance(operand, PeOperand) or operand.kind is _NOWRITE:
        raise AsmError("mask/place", f"`{text}`: only PE destinations take a write mask", nearest=body)
    mask = parse_mask(mask_text, f"`{text}`")
    _check_mask_width(text, operand, mask)
    return PeOperand(
        text, operand.kind, operand.width, operand.addr, operand.flat, operand.j, operand.via_t, operand.value,
        negate, operand.modifier, mask,
    )  # fmt: skip


def _nearest(body: str) -> str:
    if re.match(r"[lmnrst]", body):
        return "$" + body
    if body.lower() != body:
        return body.lower()
    digits = re.search(r"\d+", body)
    found = nearest(re.sub(r"\d+", "0", body), _EXAMPLES)
    return found.replace("0", digits[0], 1) if digits and found else found


def _memory(text: str, body: str, negate: bool) -> PeOperand | None:
    match = _MEMORY.fullmatch(body)
    if not match:
        return None
    prefix, letter, via_t, start, stride, step, flat, j, modifier = match.groups()
    width = WIDTHS[prefix]
    kind = _MEMORY_KINDS[letter]
    if via_t and letter != "m":
        raise AsmError("operand/t-indirect", f"`{text}`: only LM0 can be addressed through T", nearest="$lmt0v")
    if start is None and flat is None and not via_t:
        raise AsmError("operand/address", f"`{text}` has no address", expected="a word address, as in `$lr0v`")
    if j is not None:
        _check_j(text, letter, via_t is not None, j)
    addr: PER_CYCLE
    if flat is not None:
        # A short list goes on with its last address.
        given = [to_int(number) for number in flat.split(",")]
        while len(given) < 4:
            given.append(given[-1])
        addr = a0, a1, a2, a3 = given[0], given[1], given[2], given[3]
        bits, last = a0 | a1 | a2 | a3, max(given)
    else:
        a0 = bits = last = to_int(start) if start is not None else 0
        increment = 0
        if stride:
            increment = width if step is None else to_int(step)
            if increment % width:
                raise AsmError("address/alignment", f"`{text}`: stride {increment} is no multiple of {width}")
        addr = a0, a0 + increment, a0 + 2 * increment, a0 + 3 * increment
    if bits & (width - 1) or last >= SIZES[kind]:
        _check_addresses(text, kind, width, addr if flat is not None else addr[:1])
    return PeOperand(
        text, kind, width, addr, flat is not None, None if j is None else to_int(j), via_t is not None, 0,
        negate, modifier,
    )  # fmt: skip


def _check_j(text: str, letter: str, via_t: bool, j: str) -> None:
    if letter not in "mn":
        raise AsmError("operand/j", f"`{text}`: `j` exists for LM0 and LM1 only", expected="`$lm0vj1`")
    if via_t:
        raise AsmError("operand/t-and-j", f"`{text}`: `t` and `j` exclude each other")
    if to_int(j) > 3:
        raise AsmError("operand/j", f"`{text}`: PE number {j} is too large", expected="j0..j3")


def _check_addresses(text: str, kind: Kind, width: int, addresses: Sequence[int]) -> None:
    for address in addresses:
        if address % width:
            raise AsmError(
                "address/alignment",
                f"`{text}`: address {address} is no multiple of {width}",
                expected=f"{address // width * width} or {(address // width + 1) * width}",
            )
        if address >= SIZES[kind]:
            raise AsmError(
                "address/range", f"`{text}`: {NAMES[kind]} has no word {address}", expected=f"0..{SIZES[kind] - 1}"
            )


def _plain(text: str, body: str, negate: bool) -> PeOperand | None:
    """Operands without address: T, latches, fixed inputs, base addresses, mask registers, `$nowrite`."""
    if body in _BASES:
        kind, width = _BASES[body]
        return PeOperand(text, kind, width, negate=negate)
    if body == "$nowrite":
        return PeOperand(text, Kind.NOWRITE, negate=negate)
    if body in _FIXED:
        return PeOperand(text, Kind.FIXED, value=int(_FIXED[body]), negate=negate)
    entry = _MASK_ENTRY.fullmatch(body)
    if entry:
        number = to_int(entry[1])
        if not 1 <= number <= 15:
            raise AsmError("address/mask-register", f"`{text}`: entry {number} is read-only", expected="$omr1..$omr15")
        return PeOperand(text, Kind.OMR, 1, value=number, negate=negate)
    for name, modifier in ((body, ""), (body[:-1], body[-1:])):
        if modifier in ("", "e", "r"):
            if name in _T:
                return PeOperand(text, Kind.T, negate=negate, modifier=modifier)
            if name in _FORWARDS:
                return PeOperand(text, _FORWARDS[name], negate=negate, modifier=modifier)
    return None


def _outside(text: str, body: str) -> Operand | None:
    """Matrix registers and everything outside the PEs."""
    matrix = _MATRIX.fullmatch(body)
    if matrix:
        start = None if matrix[3] is None else to_int(matrix[3])
        if start is not None and start >= MATRIX_ROWS:
            raise AsmError("address/range", f"`{text}`: no matrix row {start}", expected=f"0..{MATRIX_ROWS - 1}")
        return MatrixOperand(text, "xy".index(matrix[2]), start, len(matrix[1]), text[0] == "-", matrix[4])
    if text[0] == "-":
        return None
    l1bm = _L1BM.fullmatch(body)
    if l1bm:
        lws = 2 if l1bm[1] else 1
        return BankOperand(text, Kind.TURN if l1bm[3] else Kind.L1BM, to_int(l1bm[2] or "0"), lws)
    bank = _BANK.fullmatch(body)
    if not bank:
        return None
    group = None if bank[3] is None else to_int(bank[3])
    number = None if bank[4] is None else to_int(bank[4])
    if (group is None and number is None and "@" in body) or (number is not None and bank[1] != "lc"):
        return None
    if group is not None and group >= GROUPS:
        raise AsmError("address/index", f"`{text}`: no group {group}", expected=f"0..{GROUPS - 1}")
    if number is not None and number >= BANKS:
        raise AsmError("address/index", f"`{text}`: no L2B {number} in a group", expected=f"0..{BANKS - 1}")
    address = to_int(bank[2])
    if bank[1] in ("dar", "di") and address >= DAR_ENTRIES:
        raise AsmError("address/range", f"`{text}`: no DAR entry {address}", expected=f"0..{DAR_ENTRIES - 1}")
    if bank[1] == "dar" and group is not None:
        return None
    return BankOperand(text, _BANK_KINDS[bank[1]], address, 1, group, number, bank[1] == "di")


def _check_mask_width(text: str, operand: PeOperand, mask: MaskExpr) -> None:
    """Mask word length against access width, and the `t`/`p` suffixes (isa.md 4.2)."""
    if operand.kind in _UNSIZED:
        if mask.escape:
            raise AsmError("mask/suffix", f"`{text}`: masks of T, `$omr` and `$nb` take no suffix", nearest=text[:-1])
        return
    legal = _ESCAPES[operand.width == 4, mask.words]
    if mask.escape == legal:
        return
    if (mask.escape == "t" and not mask.words) or (mask.escape == "p" and mask.words):
        raise AsmError("mask/suffix", f"`{text}`: `t` belongs to `ll` masks, `p` to default masks", nearest=text[:-1])
    body, _, name = text.partition("/")
    plain = name.rstrip("tp")
    raise AsmError(
        "mask/word-length",
        f"`{text}`: mask word length and access width differ",
        expected=f"/{plain}{legal} or the other mask word length",
        nearest=f"{body}/{plain}{legal}",
    )
