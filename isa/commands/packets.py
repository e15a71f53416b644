"""`--packer`: lines in the packets in which the chip fetches them, two PE steps and one MV each (observed).

A transfer stands behind its packet's steps.  Missing steps are `nop`, a missing transfer is `mvnop`; a written `mvnop`
takes no place of its own.  A debug line closes the packet before it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hw.program import Line, Mv, MvNop, Step

STEPS = 2


def packed(lines: Iterable[Line]) -> Iterator[Line]:
    """The same lines in order, filled up to whole packets."""
    steps: list[Step] = []
    for line in lines:
        if isinstance(line, MvNop):
            continue
        if isinstance(line, Step):
            if len(steps) == STEPS:
                yield from _packet(steps, MvNop())
                steps = []
            steps.append(line)
        elif isinstance(line, Mv):
            yield from _packet(steps, line)
            steps = []
        else:
            if steps:
                yield from _packet(steps, MvNop())
                steps = []
            yield line
    if steps:
        yield from _packet(steps, MvNop())


def _packet(steps: list[Step], transfer: Mv | MvNop) -> Iterator[Line]:
    yield from steps
    yield from [Step(nop=True, text="nop")] * (STEPS - len(steps))
    yield transfer
