"""A graph as SVG: nodes in rows by the length of the longest path to them, edges as curves.  Nothing is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from runtime.dashboard.onnx_files import NodeRow

WINDOW = 150  # nodes of one picture
_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 150, 34, 24, 46, 20
_MOST_TEXT = 22
_HUES = {"MNCore": 25, "Gemm": 210, "MatMul": 210, "Reduce": 265, "Cast": 140}


def draw(nodes: Sequence[NodeRow]) -> str:
    """The picture of these nodes, in execution order, and the edges between them."""
    maker = {name: at for at, node in enumerate(nodes) for name in node.outputs if name}
    sources = [
        [origin for origin in dict.fromkeys(maker.get(name, at) for name in node.inputs) if origin < at]
        for at, node in enumerate(nodes)
    ]
    rows = _rows(sources)
    places = _places(rows, sources)
    width = max((x for x, _ in places), default=0) + _WIDTH + _MARGIN
    height = max((y for _, y in places), default=0) + _HEIGHT + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-label="graph" font-family="ui-monospace,monospace" font-size="12">'
    ]
    for at, origins in enumerate(sources):
        parts += [_edge(places[origin], places[at], _shared(nodes[origin], nodes[at])) for origin in origins]
    parts += [_box(node, place) for node, place in zip(nodes, places, strict=True)]
    return "".join([*parts, "</svg>"])


def _rows(sources: Sequence[Sequence[int]]) -> list[list[int]]:
    depth: list[int] = []
    rows: list[list[int]] = []
    for at, origins in enumerate(sources):
        depth.append(max((depth[origin] + 1 for origin in origins), default=0))
        if depth[at] == len(rows):
            rows.append([])
        rows[depth[at]].append(at)
    return rows


def _places(rows: Sequence[Sequence[int]], sources: Sequence[Sequence[int]]) -> list[tuple[int, int]]:
    """The upper left corner of each node: in a row, nodes stand in the order of the middle of what they read."""
    column: dict[int, float] = {}
    places: dict[int, tuple[int, int]] = {}
    for number, row in enumerate(rows):
        middle = {
            at: sum(column[origin] for origin in sources[at]) / len(sources[at]) if sources[at] else float(order)
            for order, at in enumerate(row)
        }
        for order, at in enumerate(sorted(row, key=lambda at: middle[at])):
            column[at] = order
            places[at] = (_MARGIN + order * (_WIDTH + _GAP_X), _MARGIN + number * (_HEIGHT + _GAP_Y))
    return [places[at] for at in range(len(sources))]


def _shared(origin: NodeRow, target: NodeRow) -> str:
    return ", ".join(name for name in origin.outputs if name in target.inputs)


def _edge(start: tuple[int, int], end: tuple[int, int], text: str) -> str:
    x0, y0, x1, y1 = start[0] + _WIDTH // 2, start[1] + _HEIGHT, end[0] + _WIDTH // 2, end[1]
    bend = (y1 - y0) // 2
    return (
        f'<path d="M{x0} {y0}C{x0} {y0 + bend} {x1} {y1 - bend} {x1} {y1}" fill="none" stroke="#8d949e">'
        f"<title>{escape(text)}</title></path>"
    )


def _box(node: NodeRow, place: tuple[int, int]) -> str:
    x, y = place
    plain = node.op_type.rsplit(".", 1)[-1]
    hue = next((hue for prefix, hue in _HUES.items() if plain.startswith(prefix)), 0)
    colour = f"hsl({hue} {60 if hue else 0}% 88%)"
    tip = f"{node.number}: {node.op_type}\nin: {', '.join(node.inputs)}\nout: {', '.join(node.outputs)} {node.shapes}"
    text = plain if len(plain) <= _MOST_TEXT else plain[: _MOST_TEXT - 1] + "…"
    return (
        f'<g><title>{escape(tip)}</title><rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="5" '
        f'fill="{colour}" stroke="#6b7280"/><text x="{x + _WIDTH // 2}" y="{y + 21}" text-anchor="middle" '
        f'fill="#111">{escape(text)}</text></g>'
    )
