"""`Recall`: items whose effect on the states is known already, because the same was computed before.

Programs do few different things to few different states: most steps find everything defined and leave it so.  The
effect of an item that was found right is kept by its shape and the numbers of the states it found (see `plans` and
`contents`); items with findings are never kept.
"""

from __future__ import annotations

from hw.lockstep.stores import Store
from hw.program import Mem, Step
from hw.sanitizer.runtime.contents import FIRST, Contents
from hw.sanitizer.runtime.operands import dests_of
from hw.sanitizer.runtime.plans import Plan, Planner
from hw.sanitizer.runtime.registers import Registers
from hw.sanitizer.runtime.shadow import Shadow
from hw.state.board import Board

_Key = tuple[object, ...]
_MOST = 1 << 16  # effects that are kept
_T = (FIRST[Store.T], FIRST[Store.T] + 1)
_T_BEFORE = (FIRST[Store.T_BEFORE], FIRST[Store.T_BEFORE] + 1)


def writes_t(step: Step) -> bool:
    """Is T a destination?"""
    return any(dest.mem is Mem.T for item in step.items for dest in dests_of(item))


class Recall:
    """Effects of items on one shadow.  Every step is offered to `apply`; when that refuses, it is computed and then
    told with `learn`.  Who changes states in another way says so with `forget`.
    """

    def __init__(self, board: Board, shadow: Shadow, registers: Registers) -> None:
        self._contents = Contents(shadow)
        self._planner = Planner(board, registers)
        self._effects: dict[_Key, tuple[int, ...]] = {}
        self._plans: list[Plan] | None = None
        self._keys: list[_Key] = []

    def forget(self, *stores: Store) -> None:
        """States in these stores (none named: in all) may have changed."""
        self._contents.forget(*stores)

    def apply(self, step: Step, *, stale_t: bool, latch_used: bool) -> bool:
        """Do to the states what the step does, if that is known; False: nothing was done."""
        contents = self._contents
        if contents.full or len(self._effects) > _MOST:
            contents.restart()
            self._effects.clear()
        self._plans = plans = self._planner.plans(step, stale_t=stale_t, latch_used=latch_used)
        if plans is None:
            return False
        self._keys = [(plan.shape, contents.numbers(plan.reads), contents.numbers(plan.writes)) for plan in plans]
        effects = [self._effects.get(key) for key in self._keys]
        if None in effects:
            return False
        if writes_t(step):
            contents.put(_T_BEFORE, contents.numbers(_T))
        for plan, effect in zip(plans, effects, strict=True):
            if effect is not None:
                contents.put(plan.writes, effect)
        return True

    def learn(self, step: Step, *, found: bool) -> None:
        """The step was computed; `found`: with findings."""
        contents = self._contents
        if self._plans is None or found:
            contents.forget()
            return
        if writes_t(step):
            contents.drop(_T_BEFORE)
        for plan in self._plans:
            contents.drop(plan.writes)
        for plan, key in zip(self._plans, self._keys, strict=True):
            self._effects[key] = contents.numbers(plan.writes)
