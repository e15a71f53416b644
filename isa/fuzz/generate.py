"""A random legal program: inputs for one MAB and its surroundings, items of random records, dumps of what they reach.

Items stand four steps apart, so that no hazard distance matters; what reads a forwarding latch has a line before it
that fills all four; matrix products get block floats, since other contents end the official emulator.
"""

from __future__ import annotations

import random
import re
import warnings
from dataclasses import dataclass

from hw.program import Item, L2Kind, L2Move, PeLoad, PeStore, Program, Step
from isa.assemble import assemble
from isa.errors import AsmError, AsmWarning
from isa.record import Record
from isa.sample import SAMPLED, sample

#: Fills every forwarding latch (isa.md 3.11).
FILL_LATCHES = "lpassa $lr0v $nowrite; dvpassa $lr0v $nowrite; l1bmm $lb0 $nowrite; dmread $lx0 $nowrite"
SPACING = "nop/4"
SET_LW = 32
BOUNDARIES = (0, 1, 2**64 - 1, 1 << 63, 2**63 - 1, 0x80000000, 0x7FFF7FFF7FFF7FFF, 0x7F800000FF800000)
PRODUCTS = ("mmul", "mfma")
L1BM_LWS = 8192
L2BM_LWS = 32768


@dataclass(frozen=True)
class FuzzProgram:
    """setup: `d set` lines; body: groups of lines that stay together; dumps: `d get` lines."""

    seed: int
    setup: tuple[str, ...]
    body: tuple[tuple[str, ...], ...]
    dumps: tuple[str, ...]

    @property
    def text(self) -> str:
        """The whole program."""
        lines = [*self.setup, *(line for group in self.body for line in group), *self.dumps]
        return "\n".join(lines) + "\n"


def random_program(seed: int, items: int = 12) -> FuzzProgram:
    """The program of a seed; equal seeds give equal programs for equal records."""
    rng = random.Random(seed)
    place = f"n{rng.randrange(4)}c{rng.randrange(2)}b{rng.randrange(8)}"
    mab = f"m{rng.randrange(16)}"
    body = [_group(rng) for _ in range(items)]
    return FuzzProgram(seed, tuple(_setup(rng, place, mab)), tuple(body), tuple(_dumps(place, mab)))


def _setup(rng: random.Random, place: str, mab: str) -> list[str]:
    lines = []
    for memory in ("lm", "ln", "lr", "ls"):
        lines.append(f"d set ${memory}0{place} {SET_LW} {_payload(rng, SET_LW)}")
        lines += [f"d set ${memory}0{place}{mab}p{pe} {SET_LW} {_payload(rng, SET_LW)}" for pe in range(4)]
    lines.append(f"d set $llt{place}{mab} 4 {_payload(rng, 8)}")
    lines.append(f"d set $lb0{place} 256 {_payload(rng, 256)}")
    lines.append(f"d set $lc0{place[:4]} 256 {_payload(rng, 256)}")
    return lines


def _payload(rng: random.Random, count: int) -> str:
    return "".join(f"{long_word(rng):016x}" for _ in range(count))


def long_word(rng: random.Random) -> int:
    """Random bits, boundary patterns, or floats of moderate size in one of the three formats."""
    kind = rng.randrange(6)
    if kind == 0:
        return rng.getrandbits(64)
    if kind == 1:
        return rng.choice(BOUNDARIES)
    if kind == 2:
        return sum(
            (rng.randrange(2) << 15 | rng.randrange(24, 38) << 9 | rng.getrandbits(9)) << 16 * k for k in range(4)
        )
    if kind == 3:
        return rng.randrange(2) << 63 | rng.randrange(1000, 1050) << 52 | rng.getrandbits(52)
    if kind == 4:
        return rng.randrange(256)
    return sum(
        (rng.randrange(2) << 31 | rng.randrange(110, 145) << 23 | rng.getrandbits(23)) << 32 * k for k in range(2)
    )


def _group(rng: random.Random) -> tuple[str, ...]:
    record = rng.choice(SAMPLED)
    if record.name.endswith(PRODUCTS):
        return _product(rng, record)
    text = _plain(rng, record)
    if text.startswith("mv"):
        return (without_tag(text), SPACING)
    if any(latch in text for latch in ("$aluf", "$mauf", "$lbf", "$mreadf")):
        return (FILL_LATCHES, text, SPACING)
    if "$lbi" in text or "$llbi" in text:
        return ()
    return (text, SPACING)


def _plain(rng: random.Random, record: Record) -> str:
    """A sampled item that the assembler takes without a warning (warned forms end the official emulator)."""
    while True:
        text = sample(rng.choice, [record])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                program = assemble(text)
            except (AsmWarning, AsmError):
                continue
        if not leaves_memory(program):
            return text


def leaves_memory(program: Program) -> bool:
    """Whether an item goes past the end of an L2BM or an L1BM.

    The official emulator then uses whatever its memory holds next to the array, which tells nothing about a chip.
    """
    items = (item for line in program.lines if isinstance(line, Step) for item in line.items)
    return any(_past_end(item) for item in items)


def _past_end(item: Item) -> bool:
    if isinstance(item, (PeLoad, PeStore)):
        return item.addr is not None and item.addr + item.map.span > L1BM_LWS
    if not isinstance(item, L2Move):
        return False
    span = item.map
    if span is None:
        return False
    lc_end = 0 if item.kind is L2Kind.INNER else item.lc + span.lc_span
    return lc_end > L2BM_LWS or max(item.lb, item.lb2) + span.lb_span > L1BM_LWS


def without_tag(text: str) -> str:
    """An MV without its completion tag: nobody waits for it here, and a tag must not be raised twice."""
    return re.sub(r"(/n\d+)(.*?)i[0-9a-f]{2}", r"\1\2", text, count=1)


def _product(rng: random.Random, record: Record) -> tuple[str, ...]:
    """A matrix product on freshly converted blocks."""
    mnemonic = rng.choice(sorted(record.mnemonics))
    prec = mnemonic[0]
    plane = rng.choice("xy")
    source = rng.choice(("lm", "ln"))
    wide = prec == "h"
    length = "/9" if wide else ""
    lines = []
    for start, row in ((0, 0), (16, 8)) if wide else ((0, 0), (8, 4)) if prec in "fg" else ((0, 0),):
        operand = f"${'l' if wide else ''}{source}{start}v"
        target = "$llr0v" if wide else "$lr0v"
        lines += [f"{prec}bfn{length} {operand} {target}", SPACING]
        lines += [f"{prec}mwrite {target} {'$ll' if wide else '$l'}{plane}{row}", SPACING]
    other = "ln" if source == "lm" else "lm"
    lines += [f"{prec}bfn{length} ${'l' if wide else ''}{other}0v {'$llr16v' if wide else '$lr16v'}", SPACING]
    vector = "$r16v2" if prec == "f" else "$lr16v"
    addend = ""
    if "mfma" in record.name:
        addend = " $lls0v" if wide else " $ls0v"
    dest = (
        rng.choice(("$lln32v", "$llm32v")) if wide and not mnemonic.endswith("r") else rng.choice(("$ln32v", "$lm32v"))
    )
    lines += [f"{mnemonic} $l{plane} {vector}{addend} {dest}", SPACING]
    return tuple(lines)


def _dumps(place: str, mab: str) -> list[str]:
    lines = [f"d get ${memory}0{place}{mab} {SET_LW + 8}" for memory in ("lm", "ln", "lr", "ls")]
    lines += [f"d get $llt{place}{mab} 4", f"d get $omr1{place}{mab} 15"]
    lines += [f"d get $lb0{place} 256", f"d get $lc0{place[:4]} 256", f"d get $d0{place[:2]} 64"]
    return lines
