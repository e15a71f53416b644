"""Layouts that the user fixes: the files of `layout_spec` and `gemm_layout_spec` (seed 4.2.2.9, 4.2.2.10).

`layout_spec`: a list of {trigger, op_type, shape, layout}.  SwitchInput: an input of that shape of such an operator is
converted to the layout before the operator; FixOutput: an output of that shape leaves the operator in the layout.
`gemm_layout_spec`: a list of {key, A, BT, C}.  The seed does not say what `key` matches; here it is a product whose
weight, node or result has the key in its name.  A and BT must be layouts the product takes; C is as FixOutput.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from compiler.errors import LayoutSpecError
from compiler.graph import MNGraph, MNNode
from compiler.graph.errors import nearest
from compiler.layout import Layout, LayoutError, PadLayout

SWITCH_INPUT, FIX_OUTPUT = "SwitchInput", "FixOutput"
_TRIGGERS = (SWITCH_INPUT, FIX_OUTPUT)
_FIELDS = ("trigger", "op_type", "shape", "layout")
_GEMM_FIELDS = ("key", "A", "BT", "C")
PRODUCTS = ("Gemm", "MatMul")


@dataclass(frozen=True)
class Entry:
    """One entry of a layout_spec; `where` names file and number."""

    trigger: str
    op_type: str
    shape: tuple[int, ...]
    layout: PadLayout
    where: str


@dataclass(frozen=True)
class GemmEntry:
    """One entry of a gemm_layout_spec, with the layouts without shapes."""

    key: str
    a: Layout
    bt: Layout
    c: Layout
    where: str


@dataclass
class LayoutSpecs:
    """All entries of both files, and which of them have been used."""

    entries: tuple[Entry, ...] = ()
    gemms: tuple[GemmEntry, ...] = ()
    used: set[str] = field(default_factory=set)

    @classmethod
    def load(cls, layout_spec: str | None, gemm_layout_spec: str | None) -> LayoutSpecs:
        """Read the files (None: no such file).  Raises LayoutSpecError that names file, entry and field."""
        entries = [] if layout_spec is None else _read(layout_spec, "layout_spec", _FIELDS)
        gemms = [] if gemm_layout_spec is None else _read(gemm_layout_spec, "gemm_layout_spec", _GEMM_FIELDS)
        return cls(tuple(_entry(*item) for item in entries), tuple(_gemm(*item) for item in gemms))

    def input_layout(self, node: MNNode, shape: tuple[int, ...]) -> PadLayout | None:
        """The layout to which an input of a node is to be converted."""
        return self._find(SWITCH_INPUT, node.op_type, shape)

    def output_layout(self, node: MNNode, graph: MNGraph, position: int) -> PadLayout | None:
        """The layout an output of a node must leave in."""
        shape = graph.values[node.outputs[position]].shape
        found = self._find(FIX_OUTPUT, node.op_type, shape)
        gemm = self.product(node)
        if found is not None or gemm is None or position:
            return found
        self.used.add(gemm.where)
        return _padded(shape, gemm.c, f"{gemm.where}: C")

    def product(self, node: MNNode) -> GemmEntry | None:
        """The entry for a matrix product: the longest key found in the names around it."""
        if node.op_type not in PRODUCTS:
            return None
        names = (node.name, *node.inputs[1:2], *node.outputs)
        matching = [entry for entry in self.gemms if any(entry.key in name for name in names)]
        return max(matching, key=lambda entry: len(entry.key), default=None)

    def check_product(self, node: MNNode, graph: MNGraph, inputs: tuple[PadLayout | None, ...]) -> None:
        """Raise LayoutSpecError when a product takes other layouts than its entry says."""
        entry = self.product(node)
        if entry is None:
            return
        self.used.add(entry.where)
        first, second = inputs[:2]
        assert first is not None and second is not None
        transposed = node.op_type == "Gemm" and node.attrs.get("transB", 0)
        weight = second if transposed else second.transpose([1, 0])
        for name, layout, taken in (("A", entry.a, first), ("BT", entry.bt, weight)):
            wanted = _padded(taken.shape, layout, f"{entry.where}: {name}")
            if not taken.equivalent(wanted):
                raise LayoutSpecError(
                    f"{entry.where}: {name} of {node} cannot be {layout}; the product takes {taken.layout}"
                )

    def unused(self) -> list[str]:
        """The entries that nothing matched."""
        every = [entry.where for entry in self.entries] + [entry.where for entry in self.gemms]
        return [where for where in every if where not in self.used]

    def check_used(self) -> None:
        """Raise LayoutSpecError when an entry matched nothing."""
        unused = self.unused()
        if unused:
            raise LayoutSpecError(
                f"{len(unused)} layout spec(s) match nothing: {'; '.join(unused)} "
                "(CODEGEN_ALLOW_UNUSED_LAYOUT_SPEC=1 allows that)"
            )

    def _find(self, trigger: str, op_type: str, shape: tuple[int, ...]) -> PadLayout | None:
        for entry in self.entries:
            if (entry.trigger, entry.op_type, entry.shape) == (trigger, op_type, shape):
                self.used.add(entry.where)
                return entry.layout
        return None


def _read(path: str, option: str, fields: tuple[str, ...]) -> list[tuple[dict[str, Any], str]]:
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise LayoutSpecError(f"{option}: {path}:{error.lineno}:{error.colno}: not valid JSON: {error.msg}") from error
    except UnicodeDecodeError as error:
        raise LayoutSpecError(f"{option}: {path}: not UTF-8 text") from error
    except OSError as error:
        raise LayoutSpecError(f"{option}: {path} cannot be read: {error.strerror}") from error
    if not isinstance(content, list):
        raise LayoutSpecError(f"{option}: {path}: expected a list of objects with {', '.join(fields)}")
    return [
        (_checked(item, f"{option}: {path}, entry {n}", fields), f"{path}, entry {n}")
        for n, item in enumerate(content, start=1)
    ]


def _checked(item: Any, where: str, fields: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(item, dict):
        raise LayoutSpecError(f"{where}: expected an object with {', '.join(fields)}")
    for name in item:
        if name not in fields:
            raise LayoutSpecError(f"{where}: unknown field {name!r}{nearest(str(name), fields)}")
    missing = [name for name in fields if name not in item]
    if missing:
        raise LayoutSpecError(f"{where}: {', '.join(missing)} is missing; all of {', '.join(fields)} are required")
    return item


def _entry(item: Mapping[str, Any], where: str) -> Entry:
    trigger, op_type, shape = item["trigger"], item["op_type"], item["shape"]
    if trigger not in _TRIGGERS:
        raise LayoutSpecError(
            f"{where}: trigger must be one of {', '.join(_TRIGGERS)}, got {trigger!r}{nearest(str(trigger), _TRIGGERS)}"
        )
    if not isinstance(op_type, str) or not op_type:
        raise LayoutSpecError(f"{where}: op_type must be the name of an operator, got {op_type!r}")
    if not isinstance(shape, list) or not all(isinstance(n, int) and n > 0 for n in shape):
        raise LayoutSpecError(f"{where}: shape must be a list of positive whole numbers, got {shape!r}")
    layout = _padded(tuple(shape), _layout(item["layout"], f"{where}: layout"), f"{where}: layout")
    return Entry(trigger, op_type, tuple(shape), layout, where)


def _gemm(item: Mapping[str, Any], where: str) -> GemmEntry:
    if not isinstance(item["key"], str) or not item["key"]:
        raise LayoutSpecError(f"{where}: key must be a text, got {item['key']!r}")
    a, bt, c = (_layout(item[name], f"{where}: {name}") for name in _GEMM_FIELDS[1:])
    return GemmEntry(item["key"], a, bt, c, where)


def _layout(text: Any, where: str) -> Layout:
    if not isinstance(text, str):
        raise LayoutSpecError(f"{where} must be a text, got {text!r}")
    try:
        return Layout.parse(text)
    except LayoutError as error:
        raise LayoutSpecError(f"{where}: {error}") from error


def _padded(shape: tuple[int, ...], layout: Layout, where: str) -> PadLayout:
    try:
        return PadLayout(shape, layout)
    except LayoutError as error:
        raise LayoutSpecError(f"{where} does not fit shape {list(shape)}: {error}") from error
