"""Errors of the compiler; every one names the value or node it is about and what would be legal."""

from __future__ import annotations


class CompilerError(Exception):
    """Base of everything the compiler refuses."""


class EmptyTensor(CompilerError):
    """A value without elements, for which no layout exists."""


class DoesNotFit(CompilerError):
    """A value or a layer needs more of some memory than there is; `makes` names what the layer makes, if it is one."""

    def __init__(self, message: str, makes: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.makes = makes


class LocalMemoryFull(DoesNotFit):
    """No room in a local memory at one step; `live` names the values that occupy it, `makes` what the layer at work
    makes.
    """

    def __init__(self, message: str, live: tuple[str, ...], makes: tuple[str, ...] = ()) -> None:
        super().__init__(message, makes)
        self.live = live


class TooManySlices(DoesNotFit):
    """A value needs more time slices than CODEGEN_MAX_TIME_SLICE allows."""


class UnsupportedOperator(CompilerError):
    """An operator (or a form of it) that has no emitter."""


class LayoutConflict(CompilerError):
    """No way is known from the layout a value has to the layout a layer needs."""


class NodeSimulationError(CompilerError):
    """No pattern of a node could be simulated, or one that had to succeed did not; `node` names it."""

    def __init__(self, message: str, node: str) -> None:
        super().__init__(message)
        self.node = node


class LayoutSpecError(CompilerError):
    """An entry of a layout_spec or gemm_layout_spec file that cannot be read, applied or matched."""
