"""A program loaded onto a simulated board: its place in DRAM, its parameters, and what a call does."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from compiler.iospec import IOSpec
from runtime.backend import DeviceFunction, DeviceTensor
from runtime.board_tensor import BoardTensor, DramRun, DramSpace
from runtime.dram import Extent
from runtime.errors import AppFileError
from runtime.executor import TO_DEVICE
from runtime.host import to_array
from runtime.relocate import relocate, scratch_extents, together
from runtime.specs import Spec, form_of, torch_dtype
from runtime.transfer import image_of, pack, write_image

if TYPE_CHECKING:
    import torch

    from runtime.app import App


class BoardFunction(DeviceFunction):
    """See the module's text.

    Inputs, outputs and scratch get DRAM of their own; each parameter is used where its tensor keeps it, shared with
    other programs. The program is moved to these addresses once, at load time.  Inputs that already are on the
    board in the wanted form are copied inside DRAM, others are transposed by the host.  A result stays where the
    program wrote it until the next call.  A new state that the program wrote over the old one stays there.
    """

    def __init__(self, space: DramSpace, app: App, params: Mapping[str, BoardTensor]) -> None:
        self._space = space
        self._executor = space.executor
        self._params = {name: params[name] for name in app.params}
        self._inputs = {name: _chip_spec(spec) for name, spec in app.inputs.items()}
        self._outputs = {name: _chip_spec(spec) for name, spec in app.outputs.items()}
        self._param_specs = {name: _chip_spec(spec) for name, spec in app.params.items()}
        self._updates = dict(app.updates)
        self._in_place = {
            output
            for param, output in self._updates.items()
            if _extent(self._outputs[output]) == _extent(self._param_specs[param])
        }
        self._at: dict[str, int] = {}
        self._param_at: dict[str, int] = {}
        program = app.program
        self._lowered = self._executor.lower(relocate(program, self._assign_addresses(app)))
        self.cycles = self._executor.timing(program).cycles if self._executor.timed else None
        self._results: weakref.WeakSet[BoardTensor] = weakref.WeakSet()

    def __call__(self, inputs: Mapping[str, torch.Tensor | DeviceTensor]) -> dict[str, DeviceTensor]:
        """Transpose the inputs that come from the host, queue the run and return; reading a result waits for it."""
        self._executor.check()
        with self._executor.clocked(TO_DEVICE):
            images = {name: _image(spec, inputs[name]) for name, spec in self._inputs.items()}
        results = {
            name: BoardTensor(self._space, spec.shape, torch_dtype(spec.onnx_dtype), None)
            for name, spec in self._outputs.items()
        }
        self._executor.queue.submit(lambda: self._run(images, results))
        updated = set(self._updates.values())
        return {name: result for name, result in results.items() if name not in updated}

    def _run(self, images: dict[str, np.ndarray | BoardTensor], results: dict[str, BoardTensor]) -> None:
        """One call, in the board's own order of work; see the class for what moves."""
        board = self._executor.board
        for name, tensor in self._params.items():
            tensor.settle(self._param_specs[name], self._param_at[name])
        arrays = {
            name: value.image(self._inputs[name]) if isinstance(value, BoardTensor) else value
            for name, value in images.items()
        }
        for result in list(self._results):
            result.move_out()
        self._results.clear()
        for name, spec in self._inputs.items():
            write_image(board, spec, arrays[name], addr=self._at[name])
        self._executor.run(self._lowered, self.cycles)
        for name, result in results.items():
            if name not in self._in_place:
                result.lease(self._outputs[name], self._at[name], self)
                self._results.add(result)
        for param, output in self._updates.items():
            if output in self._in_place:
                self._params[param].updated_in_place(self._param_specs[param], self._param_at[param])
            else:
                self._params[param].adopt(results[output])

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
        for name, spec in (*self._inputs.items(), *self._outputs.items()):
            if name in self._in_place:
                continue
            extent = _extent(spec)
            self._at[name] = moves[extent] = self._space.allocate(self, extent.size, preferred=spec.addr).start
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
        pattern = frozenset((form_of(spec), spec.addr - extent.start) for spec in specs.values())
        known = set.intersection(*(self._params[name].runs(pattern) for name in specs))
        run = min(known, key=lambda one: one.start) if known else DramRun(self._space, extent, pattern)
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
