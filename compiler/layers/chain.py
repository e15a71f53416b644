"""Fused updates of an optimizer: a chain of element-wise operators in one node.

The formulas of the chain's operators (`compiler.layers.elementwise`) follow each other on one tape: what one formula
gives is read by the next from registers, and only results are stored.  The bits are those of the operators one by one,
as a value keeps all its bits on the way through a local memory.  Parts of a chain that share no other values are
passes of their own (`Chain.phases`): a new state leaves for DRAM while the parameter is computed.
"""

from __future__ import annotations

from functools import cache
from typing import ClassVar

from compiler.chain import CHAINS, Chain, Phase
from compiler.emit.tape import Tape, Val
from compiler.errors import UnsupportedOperator
from compiler.graph import MNGraph, MNNode, MNType
from compiler.layers.base import ZERO, HalfUse, Layer, PadNeed
from compiler.layers.elementwise import PREC, RECORDS, Pass, TapeLayer, pattern, scalars


class ChainLayer(TapeLayer):
    """All of CHAINS; Half operands are converted to Float first, as the operators of a chain would have it."""

    op_types: ClassVar[tuple[str, ...]] = tuple(CHAINS)

    def half_use(self, node: MNNode) -> HalfUse:
        return HalfUse.NONE

    def same_type(self, node: MNNode) -> tuple[str, ...]:
        return (*node.used, *node.outputs)

    def kind(self, node: MNNode, graph: MNGraph) -> MNType:
        return graph.values[node.outputs[0]].dtype

    def check(self, node: MNNode, graph: MNGraph) -> None:
        kind = self.kind(node, graph)
        for link in Chain.of(node.attrs).links:
            record = RECORDS[link.op_type]
            if kind not in record.formulas:
                known = " or ".join(str(each) for each in record.formulas)
                raise UnsupportedOperator(
                    f"{node.op_type} {node.outputs[0]!r}: {link.op_type} of type {kind} has no emitter, use {known}"
                )

    def padding(self, node: MNNode, graph: MNGraph) -> dict[int, PadNeed]:
        """Zeros in the gradient, where that spares filling them into more than one result: parameters hold them."""
        unfilled = self.unfilled(node, graph)
        if len(unfilled) >= len(node.outputs) or not self.keeps_zeros(node, graph):
            return {}
        shape = graph.values[node.outputs[0]].shape
        return {
            position: PadNeed(ZERO, tuple(range(len(shape))))
            for position in unfilled
            if graph.values[node.inputs[position]].shape == shape
        }

    def passes(self, node: MNNode, graph: MNGraph) -> list[Pass]:
        kind, numbers, chain = self.kind(node, graph), scalars(node), Chain.of(node.attrs)
        names = dict(enumerate(node.inputs)) | dict(zip(chain.results, node.outputs, strict=True))
        constants = tuple((position, pattern(number, kind)) for position, number in sorted(numbers.items()))
        passes = []
        for phase in chain.phases(len(node.inputs)):
            tape, reads = _tape(chain, phase, len(node.inputs), kind, constants)
            passes.append(Pass(tape, tuple(names[n] for n in reads), tuple(names[n] for n in phase.results)))
        return passes


@cache
def _tape(
    chain: Chain, phase: Phase, operands: int, kind: MNType, constants: tuple[tuple[int, int], ...]
) -> tuple[Tape, tuple[int, ...]]:
    """The tape of a phase, and the numbers of the values it reads."""
    tape, immediates = Tape(PREC[kind]), dict(constants)
    values: dict[int, Val] = {}
    reads: list[int] = []
    for number in phase.links:
        link = chain.links[number - operands]
        for operand in link.operands:
            if operand not in values:
                values[operand] = tape.operand(immediates.get(operand))
                reads += [operand] if operand not in immediates else []
        formula = RECORDS[link.op_type].formulas[kind]
        values[number] = tape.share(formula(tape, *[values[operand] for operand in link.operands]))
    tape.finish(*[values[number] for number in phase.results])
    return tape, tuple(reads)


LAYERS: tuple[Layer, ...] = (ChainLayer(),)
