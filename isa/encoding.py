"""Our encoding of assembled lines: what stands after `j`, `i` and `m` in a stream.

The official encoding is not public.  This one holds the same information and can be decoded to canonical text without
loss. A payload is a hexadecimal number of bit fields, most significant first, padded to bytes:

    header   table fingerprint 16, number of items 4, nop 1, noforward 1, wait tag 1+8 (presence, value)
    item     mnemonic number 12 (alphabetical list of all spellings), record 5 (which of several with this spelling),
             suffix (by record: length, MAB or L1B 4; set 1+3+3; shift sign 1 + 16; MV size 16, tag 8, nd 1+5,
             priority 2), zero flush mask, number of operands 4, operands
    mask     presence 1: entry 5, word length 1, suffix t/p 2
    operand  kind 5 (`isa.operand.Kind`), then
             memory: width 2, T-indirect 1, j 1+2, list 1, four addresses of 12 or address 12 and stride 16
             fixed input 3 | mask register 5 | base address register: width 1     } then sign 1, e/r 2, mask
             matrix: plane 1, row 1+4, width 1, sign 1, e/r 2 | literal 32
             outside the PEs: address 30, width 1, group 1+2, L2B 1+1, indirect 1

The fingerprint changes when instructions are added, so that a stream never meets another table.  `mvnop` has no item.
Debug lines are text: `d get ...`, `d set ...`.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator

from hw.program import Debug, Line, Mv, MvNop, Program, Step
from isa.bitfield import BitReader, BitWriter, EncodingError
from isa.disassemble import item_text, line_text, parsed_item
from isa.fields import get_mask, get_operand, get_suffix, put_mask, put_operand, put_suffix
from isa.instructions import MNEMONICS
from isa.record import Parsed

FLAT = "j"
AUTO_STRIDE = "i"
TRANSFER = "m"
DEBUG = "d"
_SPELLINGS = tuple(sorted(MNEMONICS))
_NUMBERS = {text: number for number, text in enumerate(_SPELLINGS)}
_FINGERPRINT = zlib.crc32(" ".join(_SPELLINGS).encode()) & 0xFFFF
assert len(_SPELLINGS) < 1 << 12


def _put_item(out: BitWriter, parsed: Parsed) -> None:
    spelling = next(text for text, variant in parsed.record.mnemonics.items() if variant == parsed.variant)
    out.put(_NUMBERS[spelling], 12, "mnemonic")
    out.put([record for record, _ in MNEMONICS[spelling]].index(parsed.record), 5, "record")
    put_suffix(out, parsed.record.suffix, parsed.suffix)
    put_mask(out, parsed.flush)
    out.put(len(parsed.operands), 4, "number of operands")
    for operand in parsed.operands:
        put_operand(out, operand)


def _get_item(data: BitReader) -> str:
    number, which = data.get(12), data.get(5)
    if number >= len(_SPELLINGS) or which >= len(MNEMONICS[_SPELLINGS[number]]):
        raise EncodingError(f"no instruction has number {number}/{which}")
    record, variant = MNEMONICS[_SPELLINGS[number]][which]
    suffix = get_suffix(data, record.suffix)
    flush = get_mask(data)
    operands = tuple(get_operand(data) for _ in range(data.get(4)))
    return item_text(Parsed(record, variant, suffix, flush, operands, ""))


def encode_line(line: Line, mode: str = FLAT) -> str:
    """The stream line of a program line; `mode` is the letter of PE lines.

    Raises EncodingError for a value outside its field, AsmError for an item without text.
    """
    if isinstance(line, Debug):
        return line_text(line)
    out = BitWriter()
    out.put(_FINGERPRINT, 16, "fingerprint")
    items = line.items if isinstance(line, Step) else (line,) if isinstance(line, Mv) else ()
    out.put(len(items), 4, "number of items")
    out.put(isinstance(line, Step) and line.nop, 1, "nop")
    out.put(isinstance(line, Step) and line.hold, 1, "noforward")
    out.optional(line.wait if isinstance(line, Step) else None, 8, "wait tag")
    for item in items:
        _put_item(out, parsed_item(item))
    return f"{TRANSFER if isinstance(line, (Mv, MvNop)) else mode} {out.hex()}"


def encode(program: Program, mode: str = FLAT) -> Iterator[str]:
    """Stream lines of a program in order."""
    for line in program.lines:
        yield encode_line(line, mode)


def decode_payload(letter: str, payload: str) -> str:
    """Canonical text of a `j`, `i` or `m` line.  Raises EncodingError."""
    data = BitReader(payload)
    if data.get(16) != _FINGERPRINT:
        raise EncodingError("this line was assembled by other tools or another version")
    count, nop, hold, wait = data.get(4), data.get(1), data.get(1), data.optional(8)
    parts = [_get_item(data) for _ in range(count)]
    data.finish()
    if letter == TRANSFER:
        return parts[0] if parts else "mvnop"
    parts += ["nop"] * nop + ["noforward"] * hold
    return "; ".join(parts if wait is None else [*parts, f"wait i{wait:02x}"])


def decode_line(text: str) -> str:
    """Canonical VSM text of one stream line (`j`, `i`, `m` or `d`); "" for blank and comment lines.

    Raises EncodingError for any other line.
    """
    words = text.split(None, 1)
    if not words or words[0].startswith("#"):
        return ""
    if words[0] == DEBUG:
        return text.strip()
    if words[0] not in (FLAT, AUTO_STRIDE, TRANSFER) or len(words) < 2:
        raise EncodingError(f"`{words[0]}` starts no line that can be decoded: expected j, i, m or d")
    return decode_payload(words[0], words[1].strip())


def decode(lines: Iterable[str]) -> str:
    """VSM text of a whole stream, one row per line."""
    rows = [row for row in map(decode_line, lines) if row]
    return "\n".join(rows) + "\n" if rows else ""
