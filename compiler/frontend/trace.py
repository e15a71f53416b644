"""From a Python function to one functional ATen graph, by torch's own tracer (docs/frontend.md).

Pass 1 (`Discovery`) finds the tensors the function uses besides its inputs.  Pass 2 (`make_fx` under fake tensors)
records the ATen operators of the whole function, backward and optimizer included.  If the record changes tensors in
place, pass 3 (`torch.func.functionalize`) makes it functional and each change becomes one more output.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx import Graph, GraphModule, Interpreter
from torch.fx import traceback as fx_traceback
from torch.fx.experimental.proxy_tensor import make_fx

from compiler.frontend.decompositions import has_training_operators, trace_decompositions
from compiler.frontend.errors import MutationError, UnsupportedOperatorError
from compiler.frontend.failures import quiet_loggers, typed_errors
from compiler.frontend.graph_cleanup import (
    drop_dead_code,
    drop_tracing_artefacts,
    has_mutations,
    take_updates,
)
from compiler.frontend.host_guard import host_unchanged
from compiler.frontend.lift import SOURCE_KEY, Discovery, LiftMode, Substitution, is_real, make_fake
from compiler.frontend.plain_kernels import plain_kernels
from compiler.frontend.signature import InputMapping, StepFunction, check_outputs


@dataclass
class Trace:
    """A functional graph: placeholders are `inputs` then `states`; results are `outputs`, new states, `extras`.

    `updates[i]` is the index into `states` of the i-th new state.  `extras` counts results that only keep unused
    operators in the graph.
    """

    module: GraphModule
    examples: list[torch.Tensor]
    inputs: list[str]
    states: list[torch.Tensor]
    outputs: list[str]
    updates: list[int]
    extras: int


def trace(function: StepFunction, sample: Mapping[str, torch.Tensor], *, training: bool) -> Trace:
    """Trace `function`.  With `training=False` it runs under `torch.no_grad()`.

    Raises the errors of `compiler.frontend.errors`.  Real tensors, modules, optimizers and random state are unchanged.
    """
    # Recording gradients adds nothing to the graph of a function without `backward`, so it may stay on.
    grad: Callable[[], Any] = nullcontext if training else torch.no_grad
    with quiet_loggers(), fx_traceback.preserve_node_meta(), plain_kernels():
        states = _discover(function, sample, grad)
        module, examples, outputs = _record(function, sample, states, grad)
        drop_tracing_artefacts(module.graph, functional=False)
        if has_mutations(module.graph) or has_training_operators(module.graph):
            module = _functionalize(module, examples)
    return _finish(module, examples, list(sample), states, outputs)


def _discover(
    function: StepFunction, sample: Mapping[str, torch.Tensor], grad: Callable[[], Any]
) -> list[torch.Tensor]:
    fake_mode = FakeTensorMode()
    discovery = Discovery(fake_mode)
    fakes = {name: make_fake(fake_mode, value) for name, value in sample.items()}
    with host_unchanged() as guard, fake_mode, grad(), typed_errors():
        with LiftMode(discovery.stand_in):
            result = function(InputMapping(fakes))
        for value in check_outputs(result, function).values():
            if is_real(value):
                discovery.stand_in(value)  # returned as it is, without any operation
        guard.check_lost_state(discovery.stand_in)
    return discovery.tensors


def _record(
    function: StepFunction, sample: Mapping[str, torch.Tensor], states: list[torch.Tensor], grad: Callable[[], Any]
) -> tuple[GraphModule, list[torch.Tensor], list[str]]:
    # Real tensors that are not arguments here are constants that the function makes itself (e.g. torch.from_numpy).
    fake_mode = FakeTensorMode(allow_non_fake_inputs=True)
    arguments: list[torch.Tensor] = [make_fake(fake_mode, value) for value in [*sample.values(), *states]]
    names: list[str] = []

    def run(*values: torch.Tensor) -> tuple[torch.Tensor, ...]:
        lift = LiftMode(Substitution(states, list(values[len(sample) :])).stand_in)
        with lift:
            result = function(InputMapping(zip(sample, values, strict=False)))
        outputs = check_outputs(result, function)
        names.extend(outputs)
        return tuple(lift.replace(value) for value in outputs.values())

    with host_unchanged(), fake_mode, grad(), typed_errors():
        module = make_fx(run)(*arguments)
    return module, arguments, names


def _functionalize(module: GraphModule, arguments: list[torch.Tensor]) -> GraphModule:
    detached = [value.detach() for value in arguments]

    def run(*values: torch.Tensor) -> Any:
        # An interpreter hands the notes of the nodes (the user's lines) on to the new graph.
        return Interpreter(module).run(*values)

    fake_mode = detached[0].fake_mode if detached else FakeTensorMode()  # type: ignore[attr-defined]
    with fake_mode, torch.no_grad():
        functional: GraphModule = make_fx(
            torch.func.functionalize(run, remove="mutations"), decomposition_table=trace_decompositions()
        )(*detached)
    return functional


def _finish(
    module: GraphModule,
    arguments: list[torch.Tensor],
    input_names: list[str],
    states: list[torch.Tensor],
    outputs: list[str],
) -> Trace:
    graph = module.graph
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    drop_tracing_artefacts(graph, functional=True)
    taken = take_updates(graph)
    updated = {node: taken[node] for node in placeholders if node in taken}
    for index, name in enumerate(input_names):
        if placeholders[index] in updated:
            raise MutationError(
                f"input '{name}' is changed in place; the change would never reach the caller's tensor",
                hint="use the form that makes a new tensor, e.g. `x = x + 1`",
            )
    _check_aliases(states, [placeholders.index(node) - len(input_names) for node in updated])
    extras = drop_dead_code(graph, list(updated.values()))
    _check_random(graph)

    kept = [index for index, node in enumerate(placeholders) if node.users or node in updated]
    for index in set(range(len(placeholders))) - set(kept):
        graph.erase_node(placeholders[index])
    n = len(input_names)
    state_index = {index: i for i, index in enumerate(k for k in kept if k >= n)}
    updates = [state_index[placeholders.index(node)] for node in updated]
    module.recompile()
    return Trace(
        module=module,
        examples=[arguments[index].detach() for index in kept],
        inputs=[input_names[index] for index in kept if index < n],
        states=[states[index - n] for index in kept if index >= n],
        outputs=outputs,
        updates=updates,
        extras=extras,
    )


def _check_random(graph: Graph) -> None:
    """Numbers that a program drew by itself would be the same at every call; those drawn for nothing are dropped."""
    for node in list(graph.nodes):
        target = node.target
        if not isinstance(target, torch._ops.OpOverload) or torch.Tag.nondeterministic_seeded not in target.tags:
            continue
        if target is torch.ops.aten.native_dropout.default and node.args[1] == 0:
            continue
        if not node.users:
            graph.erase_node(node)
            continue
        source = (node.meta.get("custom") or {}).get(SOURCE_KEY, "")
        place = f" (at {source})" if source else ""
        raise UnsupportedOperatorError(
            str(target),
            f"{target}{place} draws random numbers, of which a device has no source",
            hint="draw them on the host and pass them as an input, e.g. x * inp['mask'] with "
            "mask = (torch.rand(shape) >= p) / (1 - p) in place of a dropout; or switch it off: model.eval(), p=0",
        )


def _check_aliases(states: list[torch.Tensor], changed: list[int]) -> None:
    """Two views of one storage are two states of the program, so a change of one must not be meant for both."""
    for index in changed:
        for other, state in enumerate(states):
            if other != index and _storage(state) == _storage(states[index]):
                raise MutationError(
                    f"a tensor of shape {tuple(states[index].shape)} is changed in place while another tensor "
                    f"of shape {tuple(state.shape)} shares its memory",
                    hint="use one tensor object for both, or a clone",
                )


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
