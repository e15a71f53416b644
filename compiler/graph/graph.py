"""`MNNode` and `MNGraph`: operators in execution order over named values.  Source: compiler.md 4, design.md 7."""

from __future__ import annotations

import copy
import re
from dataclasses import dataclass, field
from typing import Any

from compiler.graph.errors import GraphError, nearest
from compiler.graph.value import LM_WORDS, Location, MNValue


@dataclass(slots=True)
class MNNode:
    """One operator.  An input named "" is optional and not given; `attrs` holds the attributes that are set."""

    op_type: str
    name: str
    inputs: list[str]
    outputs: list[str]
    attrs: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.op_type}({', '.join([*self.inputs, *self.attrs])}) -> ({', '.join(self.outputs)})"

    @property
    def used(self) -> list[str]:
        """The inputs that are given, in order."""
        return [name for name in self.inputs if name]


@dataclass(slots=True)
class MNGraph:
    """Nodes in execution order and the values they name.

    `inputs` are set for every call, `params` stay on the device between calls; both are defined before the first node.
    `images`: parameters that are a second DRAM image of another one, in another layout -> that one.
    `lm_lws`: long words of each local memory that may be used.
    """

    nodes: list[MNNode] = field(default_factory=list)
    values: dict[str, MNValue] = field(default_factory=dict)
    inputs: list[str] = field(default_factory=list)
    outputs: list[str] = field(default_factory=list)
    params: list[str] = field(default_factory=list)
    images: dict[str, str] = field(default_factory=dict)
    lm_lws: int = field(default=LM_WORDS // 2, compare=False)

    def value(self, name: str) -> MNValue:
        """The value called `name`; GraphError with the nearest name when there is none."""
        if name not in self.values:
            raise GraphError(f"the graph has no value {name!r}{nearest(name, self.values)}")
        return self.values[name]

    def add_value(self, value: MNValue) -> MNValue:
        """Add a value; GraphError when the name is taken.  Returns it."""
        if value.name in self.values:
            raise GraphError(f"the graph already has a value {value.name!r}")
        self.values[value.name] = value
        return value

    def producers(self) -> dict[str, int]:
        """For each value made by a node: the node's position in execution order."""
        return {name: step for step, node in enumerate(self.nodes) for name in node.outputs}

    def uses(self) -> dict[str, list[int]]:
        """For every value: the positions of the nodes that read it, in execution order."""
        found: dict[str, list[int]] = {name: [] for name in self.values}
        for step, node in enumerate(self.nodes):
            for name in dict.fromkeys(node.used):
                found.setdefault(name, []).append(step)
        return found

    def owner(self, name: str) -> MNValue:
        """The value whose memory `name` lies in: the end of its chain of parents; GraphError when that is a ring."""
        seen: list[str] = []
        value = self.value(name)
        while value.parent is not None:
            seen.append(value.name)
            if value.parent in seen:
                raise GraphError(f"values {' -> '.join([*seen, value.parent])} are each other's parents")
            value = self.value(value.parent)
        return value

    def fresh_name(self, base: str, step: str) -> str:
        """An unused name `<base>_<step>_<n>`; n counts the values of that step in the whole graph (compiler.md 4)."""
        pattern = re.compile(rf"_{re.escape(step)}_(\d+)$")
        taken = [int(match[1]) for name in self.values if (match := pattern.search(name))]
        return f"{base}_{step}_{max(taken, default=-1) + 1}"

    def copy(self) -> MNGraph:
        """A graph whose nodes, values and lists can be changed without touching this one; constant data is shared."""
        return MNGraph(
            [MNNode(n.op_type, n.name, list(n.inputs), list(n.outputs), dict(n.attrs)) for n in self.nodes],
            {name: copy.copy(value) for name, value in self.values.items()},
            list(self.inputs),
            list(self.outputs),
            list(self.params),
            dict(self.images),
            self.lm_lws,
        )

    # -- consistency ---------------------------------------------------------------------------------------------

    def problems(self) -> list[str]:
        """Everything that is wrong with the graph: definitions and uses, values, aliases; empty when it is sound."""
        found = self._definition_problems()
        for key, value in self.values.items():
            if key != value.name:
                found.append(f"value {value.name} is filed under the name {key}")
            found += [f"value {value.name}: {problem}" for problem in value.problems()]
            found += self._alias_problems(value)
        return found

    def verify(self) -> None:
        """Raise GraphError listing all problems, if there are any."""
        found = self.problems()
        if found:
            raise GraphError("\n  ".join([f"the graph has {len(found)} problem(s):", *found]))

    def _definition_problems(self) -> list[str]:
        found: list[str] = []
        defined: dict[str, str] = {}

        def define(name: str, where: str) -> None:
            if name in defined:
                found.append(f"{name} is defined twice: by {defined[name]} and by {where}")
            elif name not in self.values:
                found.append(f"{name}, defined by {where}, is no value of the graph{nearest(name, self.values)}")
            defined.setdefault(name, where)

        produced = self.producers()
        for kind, names in (("input", self.inputs), ("parameter", self.params)):
            for name in names:
                define(name, f"the graph's {kind}s")
        for step, node in enumerate(self.nodes):
            where = f"node {step} {node}"
            for name in node.used:
                if name not in defined:
                    missing = f"is never defined{nearest(name, defined)}"
                    why = f"is made only by node {produced[name]}" if name in produced else missing
                    found.append(f"{where} uses {name}, which {why}")
            for name in node.outputs:
                define(name, where)
        found += [f"output {name} is never defined" for name in self.outputs if name not in defined]
        found += [f"value {name} is never defined" for name in self.values if name not in defined]
        return found

    def _alias_problems(self, value: MNValue) -> list[str]:
        if value.parent is None:
            return []
        try:
            owner = self.owner(value.name)
        except GraphError as error:
            return [f"value {value.name}: {error}"]
        slice_of_image = value.loc is Location.DRAM and owner.loc is Location.DRAM
        if slice_of_image and value.addr is not None and owner.addr is not None:
            return [] if value.addr >= owner.addr else [f"value {value.name} begins before {owner.name}, its parent"]
        if value.loc != owner.loc or value.addr != owner.addr:
            own, shared = f"{value.loc} {value.addr}", f"{owner.loc} {owner.addr}"
            return [f"value {value.name} at {own} shares the memory of {owner.name}, which lies at {shared}"]
        return []
