"""Writing and reading `l3ir.txt`, the graph in execution order.  Source: compiler.md 4 (grammar and listing).

Per node one header line, then one line per input and output.  Fields that no pass has decided yet (layout, location,
address) are left out, so a graph can be written after every pass.  The text does not hold attribute values, node
names, constant data, nor which values are parameters; `parse_l3ir` says what it puts there.
"""

from __future__ import annotations

import re
from dataclasses import fields

from compiler.graph.errors import GraphError, L3irError
from compiler.graph.graph import MNGraph, MNNode
from compiler.graph.value import MNValue
from compiler.layout import LayoutError, PadLayout

#: Operators whose values lie on both sides of a transfer; their lines leave out loc_kind.
TRANSFERS = frozenset({"MNCoreDownload", "MNCoreUpload"})

_HEADER = re.compile(r"(?P<op>[^\s(]+)\((?P<args>.*)\) -> \((?P<outs>.*)\)")
_PORT = re.compile(r" {2,3}(?P<side>in|out)\((?P<number>\d+)\):(?P<value>.*)")
_VALUE = re.compile(
    r"(?P<name>\S+) onnx_type=Tensor\(dtype=(?P<onnx>\w+) shape=(?P<shape>[\d,]*)\)"
    r"(?: num_lw=(?P<num_lw>\d+) padded_shape=(?P<padded>[\d,]*) layout=PadLayout\{(?P<layout>[^}]*)\})?"
    r" layout_kind=(?P<kind>\w+) dtype=(?P<dtype>\w+) gene=\[(?P<gene>[^\]]*)\]"
    r"(?: pad_type=(?P<pad>\w+))?(?: loc_kind=(?P<loc_kind>\w+))?(?: loc=(?P<loc>\w+))?"
    r"(?: addr=(?P<addr>\d+))?(?: parent=(?P<parent>\S+))?\)"
)
_LAYOUT_KIND = "MNCore"


def _dims(shape: tuple[int, ...]) -> str:
    return ",".join(map(str, shape))


def _value_text(value: MNValue, transfer: bool) -> str:
    if re.search(r"[\s,]", value.name) or not value.name:
        raise L3irError(f"value name {value.name!r} cannot stand in l3ir.txt: it is empty or has a blank or comma")
    parts = [f"{value.name} onnx_type=Tensor(dtype={value.onnx_dtype} shape={_dims(value.shape)})"]
    if value.layout is not None:
        padded = _dims(value.layout.padded_shape)
        parts.append(f"num_lw={value.layout.num_lw} padded_shape={padded} layout=PadLayout{{{value.layout}}}")
    parts.append(f"layout_kind={_LAYOUT_KIND} dtype={value.dtype} gene=[{','.join(value.gene)}]")
    if value.pad_type is not None:
        parts.append(f"pad_type={value.pad_type}")
    if value.loc_kind is not None and not transfer:
        parts.append(f"loc_kind={value.loc_kind}")
    if value.loc is not None:
        parts.append(f"loc={value.loc}")
    if value.addr is not None:
        parts.append(f"addr={value.addr}")
    if value.parent is not None:
        parts.append(f"parent={value.parent}")
    return " ".join(parts) + ")"


def to_l3ir(graph: MNGraph) -> str:
    """The text of `graph`, one newline at the end of every line; L3irError for names that could not be read back."""
    lines: list[str] = []
    for node in graph.nodes:
        lines.append(str(node))
        transfer = node.op_type in TRANSFERS
        for side, names in (("   in", node.inputs), ("  out", node.outputs)):
            for number, name in enumerate(names):
                if name:
                    lines.append(f"{side}({number}):{_value_text(graph.value(name), transfer)}")
    return "".join(line + "\n" for line in lines)


def _read_value(text: str) -> MNValue:
    match = _VALUE.fullmatch(text)
    if match is None:
        raise GraphError(
            "expected 'NAME onnx_type=Tensor(dtype=… shape=…) num_lw=… padded_shape=… layout=PadLayout{…} "
            "layout_kind=MNCore dtype=… gene=[…] …)'"
        )
    if match["kind"] != _LAYOUT_KIND:
        raise GraphError(f"layout_kind={match['kind']} is not known, expected {_LAYOUT_KIND}")
    shape = tuple(int(extent) for extent in match["shape"].split(",") if extent)
    layout = PadLayout.parse(match["layout"]) if match["layout"] is not None else None
    if layout is not None:
        for field, written, true in (
            ("num_lw", match["num_lw"], str(layout.num_lw)),
            ("padded_shape", match["padded"], _dims(layout.padded_shape)),
        ):
            if written != true:
                raise GraphError(f"{match['name']}: {field}={written}, but the layout gives {true}")
    value = MNValue(
        name=match["name"],
        onnx_dtype=match["onnx"],  # type: ignore[arg-type]  # spellings become members in MNValue
        shape=shape,
        dtype=match["dtype"],  # type: ignore[arg-type]
        layout=layout,
        gene=tuple(match["gene"].split(",")) if shape else (),
        pad_type=match["pad"],  # type: ignore[arg-type]
        loc=match["loc"],  # type: ignore[arg-type]
        loc_kind=match["loc_kind"],  # type: ignore[arg-type]
        addr=None if match["addr"] is None else int(match["addr"]),
        parent=match["parent"],
    )
    problems = value.problems()
    if problems:
        raise GraphError(f"{value.name}: {'; '.join(problems)}")
    return value


class _Reader:
    """Nodes and values gathered line by line."""

    def __init__(self) -> None:
        self.number = 0
        self.graph = MNGraph()
        self.args: list[str] = []
        self.ports: dict[tuple[str, int], str] = {}

    def line(self, text: str) -> None:
        self.number += 1
        if not text:
            return
        port = _PORT.fullmatch(text)
        if port is not None:
            self.port(port["side"], int(port["number"]), _read_value(port["value"]))
            return
        header = _HEADER.fullmatch(text)
        if header is None:
            raise GraphError("expected 'Op(inputs, attributes) -> (outputs)', '   in(0):VALUE' or '  out(0):VALUE'")
        self.close()
        outputs = header["outs"].split(", ")
        name = f"{header['op']}_{len(self.graph.nodes)}"
        self.graph.nodes.append(MNNode(header["op"], name, [], outputs))
        self.args = header["args"].split(", ") if header["args"] else []

    def port(self, side: str, number: int, value: MNValue) -> None:
        if not self.graph.nodes:
            raise GraphError("a value line before the first node")
        names = self.args if side == "in" else self.graph.nodes[-1].outputs
        if number >= len(names) or names[number] != value.name:
            raise GraphError(f"{side}({number}) is {value.name}, but the header lists {', '.join(names) or 'nothing'}")
        self.ports[side, number] = value.name
        self.enter(value)

    def enter(self, value: MNValue) -> None:
        known = self.graph.values.setdefault(value.name, value)
        for item in fields(MNValue):
            before, now = getattr(known, item.name), getattr(value, item.name)
            if item.compare and item.name != "loc_kind" and before != now:
                raise GraphError(f"{value.name} has {item.name}={now}, but an earlier line says {before}")
        if known.loc_kind is None:
            known.loc_kind = value.loc_kind
        elif value.loc_kind is not None and value.loc_kind is not known.loc_kind:
            raise GraphError(f"{value.name} has loc_kind={value.loc_kind}, but an earlier line says {known.loc_kind}")

    def close(self) -> None:
        """Finish the last node: tell inputs from attributes, and see that every output had its line."""
        if not self.graph.nodes:
            return
        node = self.graph.nodes[-1]
        for number, name in enumerate(node.outputs):
            if name and ("out", number) not in self.ports:
                raise GraphError(f"{node.op_type}: the line of out({number}), {name}, is missing")
        count = 0
        while count < len(self.args) and (not self.args[count] or ("in", count) in self.ports):
            count += 1
        node.inputs, attrs = self.args[:count], self.args[count:]
        late = [number for side, number in self.ports if side == "in" and number >= count]
        if late:
            raise GraphError(f"{node.op_type}: the line of in({count}), {self.args[count]}, is missing")
        node.attrs = dict.fromkeys(attrs)
        self.ports = {}


def parse_l3ir(text: str) -> MNGraph:
    """The graph written in `text`; L3irError names the line.

    Attributes get the value None (the text has names only), nodes the name `<Op>_<position>`; every value that is used
    but not made is an input, every value that is made but not used an output, and there are no params.
    """
    reader = _Reader()
    try:
        for line in text.splitlines():
            reader.line(line.rstrip())
        reader.close()
    except (GraphError, LayoutError) as error:
        raise L3irError(f"l3ir line {reader.number}: {error}") from None
    graph = reader.graph
    made, used = graph.producers(), graph.uses()
    graph.inputs = [name for name in graph.values if name not in made]
    graph.outputs = [name for name in made if name and not used[name]]
    return graph
