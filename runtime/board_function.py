"""A program loaded onto a simulated board: its place in DRAM, its parameters, and what a call does."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from compiler.iospec import IOSpec
from runtime.backend import DeviceFunction, DeviceTensor
from runtime.board_tensor import BoardTensor, DramRun, DramSlot, DramSpace
from runtime.dram import Extent
from runtime.errors import AppFileError
from runtime.executor import INSIDE, TO_DEVICE
from runtime.host import to_array
from runtime.observing import Observer, observed, observing
from runtime.relocate import only_read, relocate, scratch_extents, together
from runtime.specs import Spec, torch_dtype
from runtime.transfer import image_of, pack, write_image

if TYPE_CHECKING:
    import torch

    from hw.engine import LoweredProgram
    from runtime.app import App


#: Forms of a program with inputs or results at other addresses that are kept: a pipeline has one, a loop that feeds
#: results back has two.
MOST_FORMS = 8


class BoardFunction(DeviceFunction):
    """See the module's text.

    Inputs, outputs and scratch get DRAM of their own; each parameter is used where its tensor keeps it, shared with
    other programs. The program is moved to these addresses once, at load time.  An input that already is on the board
    in the wanted form is read where it lies: the program is moved to it, and that form of the program is kept for the
    next time.  Results that once had to make room are copied inside DRAM, since their addresses do not come back;
    other inputs are transposed by the host.  A result stays where the program wrote it until the next call.  A new
    state that the program wrote over the old one stays there.
    """

    def __init__(self, space: DramSpace, app: App, params: Mapping[str, BoardTensor]) -> None:
        self._space = space
        self._executor = space.executor
        self._params = {name: params[name] for name in app.params}
        self._changed = {name: params[name] for name in app.updates}
        self._inputs = {name: _chip_spec(spec) for name, spec in app.inputs.items()}
        self._outputs = {name: _chip_spec(spec) for name, spec in app.outputs.items()}
        self._param_specs = {name: _chip_spec(spec) for name, spec in app.params.items()}
        self._updates = dict(app.updates)
        self._in_place = {
            output
            for param, output in self._updates.items()
            if param in self._param_specs and _extent(self._outputs[output]) == _extent(self._param_specs[param])
        }
        self._at: dict[str, int] = {}
        self._slots: dict[str, DramSlot] = {}
        self._param_at: dict[str, int] = {}
        self._program = app.program
        self._moves = self._assign_addresses(app)
        self._lowered = self._executor.lower(relocate(self._program, self._moves))
        self._forms: dict[tuple[tuple[str, int], ...], LoweredProgram] = {self._form({}): self._lowered}
        self._movable = only_read(self._program, map(_extent, self._inputs.values()))
        self.cycles = self._executor.timing(self._program).cycles if self._executor.timed else None
        self._results: dict[str, weakref.ref[BoardTensor]] = {}

    def __call__(self, inputs: Mapping[str, torch.Tensor | DeviceTensor]) -> dict[str, DeviceTensor]:
        """Transpose the inputs that come from the host, queue the run and return; reading a result waits for it."""
        self._executor.check()
        for tensor in self._params.values():
            tensor.hold()
        with self._executor.clocked(TO_DEVICE):
            images = {name: _image(spec, inputs[name]) for name, spec in self._inputs.items()}
        results = {
            name: BoardTensor(self._space, spec.shape, torch_dtype(spec.onnx_dtype), None)
            for name, spec in self._outputs.items()
        }
        observer = observing.get()
        self._executor.queue.submit(lambda: self._run(images, results, observer))
        updated = set(self._updates.values())
        return {name: result for name, result in results.items() if name not in updated}

    def _run(
        self, images: dict[str, np.ndarray | BoardTensor], results: dict[str, BoardTensor], observer: Observer | None
    ) -> None:
        """One call, in the board's own order of work; see the class for what moves."""
        board = self._executor.board
        for name, tensor in self._params.items():
            tensor.settle(self._param_specs[name], self._param_at[name])
        homes = {name: self._home(name, value) for name, value in images.items()}
        in_place = {name: addr for name, addr in homes.items() if addr is not None}
        arrays = {name: value for name, value in images.items() if name not in in_place}
        self._make_room([value for name, value in images.items() if name in in_place], observer)
        for name, value in arrays.items():
            if isinstance(value, BoardTensor):
                with self._executor.clocked(INSIDE), observed(observer, f"{INSIDE}: {name}"):
                    write_image(board, self._inputs[name], value.image(self._inputs[name]), addr=self._at[name])
            else:
                write_image(board, self._inputs[name], value, addr=self._at[name])
        self._executor.run(self._placed(in_place), self.cycles)
        self._results = {}
        for name, slot in self._slots.items():
            results[name].lease(self._outputs[name], slot)
            self._results[name] = weakref.ref(results[name])
        for param, output in self._updates.items():
            if output in self._in_place:
                self._params[param].updated_in_place(self._param_specs[param], self._param_at[param])
            else:
                self._changed[param].adopt(results[output])

    def _home(self, name: str, value: np.ndarray | BoardTensor) -> int | None:
        """Where an input can be read without being moved.  A parameter may change while the program runs."""
        if not self._movable or not isinstance(value, BoardTensor) or value in self._params.values():
            return None
        return value.home(self._inputs[name])

    def _make_room(self, read: list[np.ndarray | BoardTensor], observer: Observer | None) -> None:
        """Earlier results that are still wanted leave the places of the new ones; those that this call reads keep them,
        and the new ones go elsewhere.
        """
        for name, reference in self._results.items():
            result = reference()
            if result is None:
                continue
            if any(value is result for value in read):
                self._slots[name] = DramSlot(self._space, _extent(self._outputs[name]).size)
            else:
                with self._executor.clocked(INSIDE), observed(observer, f"{INSIDE}: earlier {name}"):
                    result.move_out()

    def _form(self, in_place: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
        """The addresses that tell the forms of the program apart."""
        return (*sorted(in_place.items()), *((name, slot.start) for name, slot in sorted(self._slots.items())))

    def _placed(self, in_place: Mapping[str, int]) -> LoweredProgram:
        """The program with inputs and results where they are."""
        form = self._form(in_place)
        if form not in self._forms:
            moves = dict(self._moves)
            for name, addr in in_place.items():
                moves[_extent(self._inputs[name])] = addr
            for name, slot in self._slots.items():
                moves[_extent(self._outputs[name])] = slot.start
            if len(self._forms) >= MOST_FORMS:
                del self._forms[next(iter(self._forms))]
            self._forms[form] = self._executor.lower(relocate(self._program, moves))
        return self._forms[form]

    def allocate_input(self, name: str) -> BoardTensor:
        """A tensor of zeros, in DRAM and in the input's layout."""
        import torch

        spec = self._inputs[name]
        dtype = torch_dtype(spec.onnx_dtype)
        tensor = BoardTensor(self._space, spec.shape, dtype, torch.zeros(spec.shape, dtype=dtype))
        tensor.settle(spec, tensor.place(spec))
        return tensor

    def _assign_addresses(self, app: App) -> dict[Extent, int]:
        """Find DRAM for everything the program touches: extent as compiled -> new first address."""
        moves: dict[Extent, int] = {}
        runs = together(app.program, {_extent(spec) for spec in self._param_specs.values()})
        for run in runs:
            moves[run] = self._place_params(run)
        for name, spec in self._inputs.items():
            extent = _extent(spec)
            self._at[name] = moves[extent] = self._space.allocate(self, extent.size, preferred=spec.addr).start
        for name, spec in self._outputs.items():
            if name not in self._in_place:
                extent = _extent(spec)
                self._slots[name] = DramSlot(self._space, extent.size, preferred=spec.addr)
                moves[extent] = self._slots[name].start
        for extent in scratch_extents(app.program, list(moves)):
            moves[extent] = self._space.allocate(self, extent.size, preferred=extent.start).start
        return moves

    def _place_params(self, extent: Extent) -> int:
        """Find the parameters that lie in an extent a place: one where its tensor keeps it, several with each other."""
        specs = {name: spec for name, spec in self._param_specs.items() if extent.start <= spec.addr < extent.end}
        if len(specs) == 1:
            ((name, spec),) = specs.items()
            self._param_at[name] = self._params[name].place(spec)
            return self._param_at[name]
        # Tensors of one form may lie in another order for another program: each must be where this program wants it.
        known = set.intersection(
            *(self._params[name].runs(spec, spec.addr - extent.start) for name, spec in specs.items())
        )
        run = min(known, key=lambda one: one.start) if known else DramRun(self._space, extent)
        for name, spec in specs.items():
            self._param_at[name] = run.start + spec.addr - extent.start
            self._params[name].place_in(run, spec, self._param_at[name])
        return run.start


def _extent(spec: IOSpec) -> Extent:
    return Extent(spec.addr, image_of(spec).slot_lws)


def _chip_spec(spec: Spec) -> IOSpec:
    if not isinstance(spec, IOSpec):
        raise AppFileError(
            f"{spec.name} has no place on the chip: this program was compiled for a pfvm device, not for a board"
        )
    return spec


def _image(spec: IOSpec, value: torch.Tensor | DeviceTensor) -> np.ndarray | BoardTensor:
    """What the run will need of an input: a host tensor is read now, since it may change after the call."""
    if isinstance(value, BoardTensor):
        return value
    tensor = value.fetch() if isinstance(value, DeviceTensor) else value
    return pack(spec, to_array(tensor))
