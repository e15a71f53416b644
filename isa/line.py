"""One PE line: its items, decoded and checked as far as the line alone decides.  Cached by text."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from hw.program import Compute, Dest, Item, MaskRef, Mem, Mv, PeLoad
from hw.value import value
from isa.checks.issue import check_issue
from isa.checks.masks import check_masks
from isa.checks.ports import check_ports
from isa.errors import AsmError
from isa.item import parse, tokens
from isa.mask_grammar import PersistentMask
from isa.mv_suffix import parse_tag
from isa.record import Group, Parsed

_L1BM = Group.L1BM
_CONTROL = ("nop", "noforward", "wait")


@value
class PeLine:
    """A decoded PE line before persistent masks.

    `wait` is a tag or None; `own_mask`: a destination has one; `l1bm`: an item moves L1BM data.
    """

    text: str
    parsed: tuple[Parsed, ...]
    items: tuple[Item, ...]
    wait: int | None = None
    nop: bool = False
    hold: bool = False
    own_mask: bool = False
    l1bm: bool = False


def lower(parsed: Parsed) -> Item:
    """The machine's item of a parsed PE item."""
    assert parsed.record.lower is not None
    item = parsed.record.lower(parsed)
    if isinstance(item, Mv):
        raise AsmError("line/mv", f"`{parsed.text}` is an MV line and no PE item", expected="a line of its own")
    return item


@lru_cache(maxsize=65536)
def decode_item(text: str) -> tuple[Parsed, Item]:
    """Parse and lower one PE item."""
    parsed = parse(text)
    return parsed, lower(parsed)


@lru_cache(maxsize=65536)
def decode_line(text: str) -> PeLine:
    """Decode a PE line without comment; raises AsmError for everything the line alone makes illegal."""
    parts = [part for part in map(str.strip, text.split(";")) if part] if ";" in text else [text]
    if not parts:
        raise AsmError("item/empty", "no operation in this line", expected="an instruction")
    parsed: list[Parsed] = []
    items: list[Item] = []
    wait: int | None = None
    nop = hold = False
    for part in parts:
        if part.startswith(_CONTROL):
            words = tokens(part)
            if words[0] in ("nop", "noforward"):
                if len(words) > 1:
                    raise AsmError("item/operands", f"`{part}`: `{words[0]}` takes no operands", nearest=words[0])
                if nop if words[0] == "nop" else hold:
                    raise AsmError("line/group", f"`{words[0]}` is given twice")
                nop, hold = nop or words[0] == "nop", hold or words[0] == "noforward"
                continue
            if words[0] == "wait":
                if wait is not None:
                    raise AsmError("line/group", "two `wait` in a line")
                wait = _wait_tag(part, words)
                continue
        if len(parts) == 1:
            # The line itself is in the cache.
            one = parse(part)
            item = lower(one)
        else:
            one, item = decode_item(part)
        parsed.append(one)
        items.append(item)
    if nop and (parsed or hold):
        raise AsmError("line/nop", "`nop` beside another item", expected="`nop` alone or with `wait`")
    if wait is not None and not (parsed or nop or hold):
        raise AsmError("line/wait", "`wait` needs another item", nearest=f"nop; {parts[0]}")
    if len(parsed) > 1:
        check_issue(parsed)
    check_ports(parsed)
    own_mask = check_masks(parsed)
    l1bm = False
    for one in parsed:
        l1bm = l1bm or one.record.group is _L1BM
    return PeLine("; ".join(parts), tuple(parsed), tuple(items), wait, nop, hold, own_mask, l1bm)


def _wait_tag(part: str, words: list[str]) -> int:
    if len(words) != 2 or not words[1].startswith("i"):
        raise AsmError("wait/tag", f"`{part}`: a tag is missing", expected="`wait i01`")
    tag = parse_tag(words[1][1:], f"`{part}`")
    if tag == 0:
        raise AsmError("wait/tag", "`wait i00`: tag 0 means no tag", expected="i01..iff")
    return tag


@lru_cache(maxsize=65536)
def masked_items(text: str, persistent: PersistentMask) -> tuple[Item, ...]:
    """The items of a line under a persistent mask; a one-time mask switches it off for the whole line (isa.md 4.3)."""
    line = decode_line(text)
    if line.own_mask or not persistent.targets:
        return line.items
    mask = MaskRef(persistent.entry, persistent.words)
    targets = {Mem(kind) for kind in persistent.targets}
    return tuple(_masked(item, mask, targets) for item in line.items)


def _masked(item: Item, mask: MaskRef, targets: set[Mem]) -> Item:
    if not isinstance(item, (Compute, PeLoad)) or not any(dest.mem in targets for dest in item.dests):
        return item
    dests: tuple[Dest, ...] = tuple(replace(dest, mask=mask) if dest.mem in targets else dest for dest in item.dests)
    return replace(item, dests=dests)
