"""Golden facts of kinds alu, mau, bfn and rrn that one L1B without masks can judge, run straight on the kernels."""

from __future__ import annotations

import json
import lzma
import re
from pathlib import Path
from typing import Any

import pytest

from tests.kernels.mini_machine import MiniMachine

DATA = Path(__file__).parent.parent / "data" / "goldens.json.xz"
KINDS = ("alu", "mau", "bfn", "rrn")
LOCATION = re.compile(r"\$(?:l([mnrs])(\d+)|lb(\d+)|omr(\d+))n0c0b0(?:m(\d+)p(\d+))?$")


def _load() -> list[dict[str, Any]]:
    """The goldens whose places and lines the mini machine understands."""
    with lzma.open(DATA, "rt") as file:
        goldens: list[dict[str, Any]] = json.load(file)
    return [golden for golden in goldens if golden["kind"] in KINDS and _is_supported(golden)]


def _is_supported(golden: dict[str, Any]) -> bool:
    places = [LOCATION.match(place) for place in (*golden["inputs"], *golden["outputs"])]
    return all(places) and all(MiniMachine.supports(line) for line in golden["instruction"].splitlines())


def _read(machine: MiniMachine, location: str, count: int) -> list[str]:
    """Long words from a location on as hexadecimal, or the four flag digits of a mask entry."""
    found = LOCATION.match(location)
    assert found, location
    memory, address, l1bm, entry, m, p = found.groups()
    if memory:
        return [f"{machine.get_lw(memory, int(address) + 2 * k, int(p), int(m)):016X}" for k in range(count)]
    if l1bm:
        return [f"{int(word):016X}" for word in machine.l1bm[int(l1bm) : int(l1bm) + count]]
    return [f"{machine.omr[int(entry), c, int(p), int(m)]:X}" for c in range(count)]


@pytest.mark.parametrize("golden", _load(), ids=lambda golden: golden["name"])
def test_golden(golden: dict[str, Any]) -> None:
    machine = MiniMachine()
    for location, long_words in golden["inputs"].items():
        found = LOCATION.match(location)
        assert found and found[1], location
        for k, word in enumerate(long_words):
            machine.set_lw(found[1], int(found[2]) + 2 * k, int(found[6]), int(found[5]), int(word, 16))
    for line in golden["instruction"].splitlines():
        machine.step(line)
    for location, wanted in golden["outputs"].items():
        assert _read(machine, location, len(wanted)) == [word.upper() for word in wanted], location


def test_most_goldens_are_judged() -> None:
    assert len(_load()) >= 180
