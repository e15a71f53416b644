"""What a compilation gives: the program, how its tensors lie, the planned graph, and what the report says of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from compiler.graph import MNGraph
from compiler.iospec import IOSpec
from compiler.plan.fork import Template
from compiler.plan.history import LayoutHistory
from compiler.search import Search

if TYPE_CHECKING:
    from hw.model import Timing
    from hw.program import Program


@dataclass
class Compiled:
    """A finished compilation.

    program: decoded VSM, its text in `program.source`.  inputs, outputs, params: specs by ONNX name.
    stored: output -> value of the graph that holds it.  values: data
    of the params in the framework's dtype.  images: params that are a second image of another one -> that one.
    report: content of report.json.  search: what was compared.  history: how the layouts came about.  sliced: the
    template of time slices (None when nothing is cut) and its planned graph.
    """

    program: Program
    inputs: dict[str, IOSpec]
    outputs: dict[str, IOSpec]
    stored: dict[str, str]
    params: dict[str, IOSpec]
    images: dict[str, str]
    values: dict[str, NDArray[Any]]
    report: dict[str, Any]
    graph: MNGraph
    timing: Timing
    search: Search
    history: LayoutHistory
    sliced: tuple[Template | None, MNGraph]
    phases: list[dict[str, Any]] = field(default_factory=list)
