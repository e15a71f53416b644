"""MVs nobody waits for (the official assembler's optional completion check).

A wait also covers earlier MVs of the same form and source memory: those complete in order (observed: two `mvp` from
one PDM need only the wait of the second).
"""

from __future__ import annotations

from hw.program import Mv, MvForm, Program, Space, Step

Queue = tuple[MvForm, Space, int | None, int | None]


def _queue(mv: Mv) -> Queue:
    return mv.form, mv.src.space, mv.src.group, mv.src.bank


def unfinished(program: Program) -> list[Mv]:
    """The MVs that no later wait covers, in program order."""
    open_: list[Mv] = []
    for line in program.lines:
        if isinstance(line, Mv):
            open_.append(line)
        elif isinstance(line, Step) and line.wait is not None:
            last = next((i for i in reversed(range(len(open_))) if open_[i].tag == line.wait), None)
            if last is not None:
                queue = _queue(open_[last])
                open_ = [mv for i, mv in enumerate(open_) if i > last or _queue(mv) != queue]
    return open_
