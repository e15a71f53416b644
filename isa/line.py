"""One PE line: its items, decoded and checked as far as the line alone decides.  Cached by text."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from hw.program import Compute, Dest, Item, MaskRef, Mem, Mv, PeLoad
from isa.checks.issue import check_issue
from isa.checks.masks import check_masks, one_time
from isa.checks.ports import check_ports
from isa.errors import AsmError
from isa.item import parse, tokens
from isa.mask_grammar import PersistentMask
from isa.mv_suffix import parse_tag
from isa.record import Parsed


@dataclass(frozen=True, slots=True)
class PeLine:
    """A decoded PE line before persistent masks.  `wait` is a tag or None; `own_mask`: a destination has one."""

    text: str
    parsed: tuple[Parsed, ...]
    items: tuple[Item, ...]
    wait: int | None = None
    nop: bool = False
    hold: bool = False
    own_mask: bool = False


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
    parsed: list[Parsed] = []
    items: list[Item] = []
    wait: int | None = None
    flags = {"nop": False, "noforward": False}
    parts = [part.strip() for part in text.split(";")]
    parts = [part for part in parts if part]
    if not parts:
        raise AsmError("item/empty", "no operation in this line", expected="an instruction")
    for part in parts:
        words = tokens(part)
        if words[0] in flags:
            if len(words) > 1:
                raise AsmError("item/operands", f"`{part}`: `{words[0]}` takes no operands", nearest=words[0])
            if flags[words[0]]:
                raise AsmError("line/group", f"`{words[0]}` is given twice")
            flags[words[0]] = True
        elif words[0] == "wait":
            if wait is not None:
                raise AsmError("line/group", "two `wait` in a line")
            wait = _wait_tag(part, words)
        else:
            one = decode_item(part)
            parsed.append(one[0])
            items.append(one[1])
    nop, hold = flags["nop"], flags["noforward"]
    if nop and (parsed or hold):
        raise AsmError("line/nop", "`nop` beside another item", expected="`nop` alone or with `wait`")
    if wait is not None and not (parsed or nop or hold):
        raise AsmError("line/wait", "`wait` needs another item", nearest=f"nop; {parts[0]}")
    check_issue(parsed)
    check_ports(parsed)
    check_masks(parsed)
    return PeLine("; ".join(parts), tuple(parsed), tuple(items), wait, nop, hold, one_time(parsed))


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
