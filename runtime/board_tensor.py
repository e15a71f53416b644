"""A tensor on a simulated board: one value that may lie in DRAM in several layouts at once.

Programs choose the layouts of their parameters, so the same registered weight can be wanted in different forms.
Each form has its own copy; a copy is either current or out of date, and is brought up to date when a program that
needs it runs.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from compiler.iospec import IOSpec
from runtime.backend import DeviceTensor
from runtime.dram import Extent
from runtime.executor import TO_HOST
from runtime.host import to_array, to_tensor
from runtime.specs import Form, form_of
from runtime.transfer import download, image_of, pack, read_image, write_image

if TYPE_CHECKING:
    import torch

    from runtime.executor import Executor


class DramSpace:
    """The board's DRAM map for owners that may vanish at any moment.

    Garbage collection can strike inside `allocate`, so finalizers only queue what they give up.
    """

    def __init__(self, executor: Executor) -> None:
        self.executor = executor
        self._given_up: deque[Extent] = deque()
        self._lock = threading.Lock()

    def allocate(self, owner: object, size: int, preferred: int | None = None) -> Extent:
        """Take DRAM that is given back when `owner` dies.  Raises DeviceMemoryError."""
        with self._lock:
            while self._given_up:
                self.executor.memory.free(self._given_up.popleft())
            extent = self.executor.memory.allocate(size, preferred)
        weakref.finalize(owner, self._given_up.append, extent).atexit = False
        return extent


class DramRun:
    """DRAM in which several tensors lie as a program wants them: some of its transfers bring parts of more than one.

    It is given back when none of these tensors is left.
    """

    def __init__(self, space: DramSpace, extent: Extent) -> None:
        self.start = space.allocate(self, extent.size, preferred=extent.start).start


class DramSlot:
    """DRAM for one result of a program, which programs and results may share; given back when none of them is left."""

    def __init__(self, space: DramSpace, size: int, preferred: int | None = None) -> None:
        self.start = space.allocate(self, size, preferred).start


class _Copy:
    """One image in DRAM; `current` tells whether it holds the tensor's present value, `run` whom it lies with,
    `lasting` whether it will be at the same address again.
    """

    __slots__ = ("addr", "current", "lasting", "run", "spec")

    def __init__(
        self, spec: IOSpec, addr: int, current: bool, run: DramRun | None = None, *, lasting: bool = True
    ) -> None:
        self.spec = spec
        self.addr = addr
        self.current = current
        self.run = run
        self.lasting = lasting


class BoardTensor(DeviceTensor):
    """See the module's text.  `value` None means that the contents come from the device."""

    def __init__(
        self,
        space: DramSpace,
        shape: tuple[int, ...],
        dtype: torch.dtype,
        value: torch.Tensor | None,
        *,
        reference: bool = False,
    ) -> None:
        super().__init__(shape, dtype)
        self._space = space
        self._host: torch.Tensor | None = value if reference or value is None else value.detach().clone()
        self._is_reference = reference  # not read yet: the user's own tensor may still change
        self._copies: list[_Copy] = []
        self._landlord: object = None

    def load(self, value: torch.Tensor, *, clone: bool = True) -> None:
        """Take a new value and send it, in its turn, to every place in DRAM that the tensor has.

        With `clone` False the caller's tensor is not kept once it has been sent: later changes of it must not show.
        """
        host = value.detach().clone() if clone else value.detach()
        images = {form_of(copy.spec): pack(copy.spec, to_array(value)) for copy in list(self._copies)}
        self.changed = True
        self._space.executor.queue.submit(lambda: self._take(host, images, clone=clone))

    def _take(self, host: torch.Tensor, images: dict[Form, np.ndarray], *, clone: bool) -> None:
        self._host, self._is_reference = host, not clone
        for copy in self._copies:
            form = form_of(copy.spec)
            image = images[form] if form in images else pack(copy.spec, to_array(host))
            write_image(self._space.executor.board, copy.spec, image, addr=copy.addr)
            copy.current = True
        if self._copies and not clone:
            self._host, self._is_reference = None, False

    def fetch(self) -> torch.Tensor:
        """The value the device holds (rounded to its format), or the host's if it is in no DRAM yet.

        Waits for the work that was asked for before; raises what went wrong with it.
        """
        self._space.executor.queue.drain()
        current = self._current_copy()
        if current is not None:
            with self._space.executor.clocked(TO_HOST):
                return to_tensor(download(self._space.executor.board, current.spec, addr=current.addr), self.dtype)
        assert self._host is not None  # a tensor without a value on either side cannot be made
        return self._host.detach().clone()

    def place(self, spec: IOSpec) -> int:
        """The DRAM address of the copy in the spec's form; made (still without contents) on first request."""
        self._space.executor.queue.drain()
        copy = next((copy for copy in self._copies if copy.run is None and form_of(copy.spec) == form_of(spec)), None)
        if copy is None:
            extent = self._space.allocate(self, image_of(spec).slot_lws, preferred=spec.addr)
            copy = _Copy(spec, extent.start, current=False)
            self._copies.append(copy)
        return copy.addr

    def runs(self, spec: IOSpec, distance: int) -> set[DramRun]:
        """The runs that hold a copy in the spec's form at this distance from their start."""
        form = form_of(spec)
        return {
            copy.run
            for copy in self._copies
            if copy.run is not None and copy.addr == copy.run.start + distance and form_of(copy.spec) == form
        }

    def place_in(self, run: DramRun, spec: IOSpec, addr: int) -> None:
        """Have a copy in the spec's form at an address of a run."""
        self._space.executor.queue.drain()
        if all(copy.addr != addr for copy in self._copies):
            self._copies.append(_Copy(spec, addr, current=False, run=run))

    def hold(self) -> None:
        """Take the present contents of the user's own tensor, for a call that reads them later."""
        if self._is_reference:
            self._host_value()

    def settle(self, spec: IOSpec, addr: int) -> None:
        """Make the copy in the spec's form at an address current."""
        self._refresh(self._at(spec, addr))

    def _at(self, spec: IOSpec, addr: int) -> _Copy:
        return next(copy for copy in self._copies if copy.addr == addr and form_of(copy.spec) == form_of(spec))

    def home(self, spec: IOSpec) -> int | None:
        """Where in DRAM the value lies in the spec's form and will lie again, None if nowhere.

        A result that had to make room for a later one lies where it was put once.
        """
        copies = (copy for copy in self._copies if copy.current and copy.lasting and copy.spec.can_stand_for(spec))
        return next((copy.addr for copy in copies), None)

    def image(self, spec: IOSpec) -> np.ndarray:
        """The DRAM image of the value in the spec's form, whatever form the device has it in."""
        usable = (copy for copy in self._copies if copy.current and copy.spec.can_stand_for(spec))
        copy = next(usable, None)
        if copy is not None:
            return read_image(self._space.executor.board, copy.spec, addr=copy.addr)
        return pack(spec, to_array(self._host_value()))

    def adopt(self, result: BoardTensor) -> None:
        """Take over the contents of another tensor on this board; nothing passes the host where the forms agree."""
        images = [result.image(copy.spec) for copy in self._copies]
        for copy, image in zip(self._copies, images, strict=True):
            write_image(self._space.executor.board, copy.spec, image, addr=copy.addr)
            copy.current = True
        self._host, self._is_reference = (None, False) if self._copies else (result.fetch(), False)
        self.changed = True

    def updated_in_place(self, spec: IOSpec, addr: int) -> None:
        """Say that a program wrote the new value over the copy in the spec's form at an address."""
        written = self._at(spec, addr)
        for copy in self._copies:
            copy.current = copy is written
        self._host, self._is_reference = None, False
        self.changed = True

    def lease(self, spec: IOSpec, slot: DramSlot) -> None:
        """Say that the value now lies in a slot, which lives as long as somebody needs it."""
        self._copies = [copy for copy in self._copies if form_of(copy.spec) != form_of(spec)]
        self._copies.append(_Copy(spec, slot.start, current=True))
        self._landlord = slot

    def move_out(self) -> None:
        """Copy a leased value to DRAM of its own, because the program is about to overwrite it."""
        for copy in self._copies:
            image = read_image(self._space.executor.board, copy.spec, addr=copy.addr)
            copy.addr, copy.lasting = self._space.allocate(self, image_of(copy.spec).slot_lws).start, False
            write_image(self._space.executor.board, copy.spec, image, addr=copy.addr)
        self._landlord = None

    def _refresh(self, copy: _Copy) -> None:
        if not copy.current:
            image = pack(copy.spec, to_array(self._host_value()))
            write_image(self._space.executor.board, copy.spec, image, addr=copy.addr)
            copy.current = True

    def _host_value(self) -> torch.Tensor:
        """The unrounded value if the host knows it, else what the device holds."""
        if self._host is None:
            return self.fetch()
        if self._is_reference:
            self._host = self._host.detach().clone()
            self._is_reference = False
        return self._host

    def _current_copy(self) -> _Copy | None:
        return next((copy for copy in self._copies if copy.current), None)
