"""A tape meets its operands: which are read in place, which are loaded once and which are copied to a GRF before."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from compiler.emit.tape import Step, Tape, Val

#: From this many groups on, an operand that is the same for all of them is loaded into a register once.
FEW_GROUPS = 3


@dataclass(frozen=True)
class Place:
    """An operand in local memory: letter, word address, and the long word that each long word of the result reads.

    words: where its words must be put together first, the two words of each such long word, relative to the address.
    """

    lm: str
    addr: int
    lws: tuple[int, ...]
    words: Mapping[int, tuple[int, int]] | None = None

    @property
    def invariant(self) -> bool:
        """The same long word for every element of the result."""
        return len(set(self.lws)) == 1

    def distinct(self, batch: Sequence[Sequence[int]]) -> list[int]:
        """The long words it is read at for some groups of long words of the result, each once."""
        return list(dict.fromkeys(self.lws[lw] for cycles in batch for lw in cycles))

    def text(self, cycles: Sequence[int]) -> str:
        """Operand for the long words `cycles` of the result."""
        return f"$l{self.lm}{address([self.addr + 2 * self.lws[lw] for lw in cycles])}"


def address(words: Sequence[int]) -> str:
    """The shortest spelling of four word addresses of long words."""
    first, step = words[0], words[1] - words[0]
    if step == 0 and len(set(words)) == 1:
        return str(first)
    if step > 0 and list(words) == [first + step * c for c in range(4)]:
        return f"{first}v" if step == 2 else f"{first}v{step}"
    return "[" + ",".join(map(str, words)) + "]"


@dataclass(frozen=True)
class Bound:
    """A tape with its operands: steps; operands read in place; operands loaded once; operands copied beforehand, by
    the number of the copy; where the results go, by their numbers.
    """

    steps: list[Step]
    places: dict[int, Place]
    loads: dict[int, Place]
    copies: dict[int, Place]
    results: dict[int, Place]


def bind(tape: Tape, operands: Sequence[Place], results: Sequence[Place]) -> Bound:
    places = {val.number: place for val, place in zip(tape.inputs, operands, strict=True)}
    loads = {}
    if -(-len(results[0].lws) // 4) >= FEW_GROUPS:
        loads = {n: place for n, place in places.items() if place.invariant and place.words is None}
    renamed: dict[int, int] = {}
    fresh = 1 + max([s.target or 0 for s in tape.steps] + [v.number for v in tape.inputs] + list(tape.constants))
    made = list(tape.steps)
    if tape.prec == "d":
        made = [part for number, step in enumerate(tape.steps) for part in _halves(step, fresh + number)]
        fresh += len(tape.steps)
    targets = {val.number: place for val, place in zip(tape.results, results, strict=True)}
    finals = _finals(tape, targets)
    for step in made:
        seen = {finals[step.target].lm: finals[step.target]} if step.target in finals else {}
        for val in step.args:
            place = places.get(val.number)
            if place is None or val.number in loads or val.number in renamed:
                continue
            if place.words or seen.setdefault(place.lm, place) != place:
                renamed[val.number] = fresh
                fresh += 1
    steps = [
        replace(step, args=tuple(replace(val, number=renamed.get(val.number, val.number)) for val in step.args))
        for step in made
    ]
    return Bound(
        steps,
        {n: p for n, p in places.items() if n not in loads and n not in renamed},
        loads,
        {copy: places[n] for n, copy in renamed.items()},
        targets,
    )


def _halves(step: Step, between: int) -> list[Step]:
    """The items of a step on doubles: a product is made for PEs 0 and 1, then for PEs 2 and 3, where the first item
    left the addend.
    """
    if step.op not in ("vmul", "vfma"):
        return [step]
    first = Step(step.op + "u", step.args, between)
    return [first, replace(step, op="vfmad", args=(*step.args[:2], Val(between)))]


def _finals(tape: Tape, targets: Mapping[int, Place]) -> dict[int | None, Place]:
    """Where the results go, and the values that masked writes complete to them."""
    found: dict[int | None, Place] = {number: place for number, place in targets.items()}
    for step in reversed(tape.steps):
        if step.target in found and step.kept is not None:
            found[step.kept] = found[step.target]
    return found
