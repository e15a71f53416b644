"""A graph as SVG: nodes in rows by the length of the longest path to them, edges as curves.  Nothing is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from runtime.dashboard.onnx_files import NodeRow

WINDOW = 150  # nodes of one picture
_WIDTH, _HEIGHT, _GAP_X, _GAP_Y, _MARGIN = 176, 42, 22, 40, 20
_STEP_X, _STEP_Y = _WIDTH + _GAP_X, _HEIGHT + _GAP_Y
_MOST_TEXT, _MOST_SHAPE = 23, 27
_SWEEPS = 6
_NODE_HALF, _BEND_HALF = 0.5, 0.12  # half of what a box and a passing edge take of a row, in columns
_HUES = {
    "MNCoreLayoutSwitch": 48, "MNCore": 25,
    "Gemm": 210, "MatMul": 210, "Conv": 210,
    "Reduce": 265, "ChainerCastReduce": 265, "ArgMax": 265,
    "Relu": 350, "Exp": 350, "Log": 350, "Softmax": 350,
    "Add": 175, "Sub": 175, "Mul": 175, "Div": 175,
    "Cast": 140, "Where": 300, "Equal": 300, "Not": 300,
}  # fmt: skip
_ARROW = (
    '<defs><marker id="arrow" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    '<polygon points="0,1 8,4 0,7" fill="#8d949e"/></marker></defs>'
)


def draw(nodes: Sequence[NodeRow]) -> str:
    """The picture of these nodes, in execution order, and the edges between them."""
    maker = {name: at for at, node in enumerate(nodes) for name in node.outputs if name}
    sources = [
        [origin for origin in dict.fromkeys(maker.get(name, at) for name in node.inputs) if origin < at]
        for at, node in enumerate(nodes)
    ]
    places, bends = _places(sources)
    corners = [*places, *(bend for edge in bends.values() for bend in edge)]
    width = max((x for x, _ in corners), default=0) + _WIDTH + _MARGIN
    height = max((y for _, y in corners), default=0) + _HEIGHT + _MARGIN
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-label="graph" font-family="ui-monospace,monospace" font-size="12" '
        f'style="display:block;margin:auto">{_ARROW}'
    ]
    for at, origins in enumerate(sources):
        for origin in origins:
            line = [places[origin], *bends.get((origin, at), ()), places[at]]
            parts.append(_edge(line, _shared(nodes[origin], nodes[at])))
    parts += [_box(node, place) for node, place in zip(nodes, places, strict=True)]
    return "".join([*parts, "</svg>"])


def _depths(sources: Sequence[Sequence[int]]) -> list[int]:
    """The row of each node.  A node that reads no other node stands right above the first that reads it."""
    depth: list[int] = []
    readers: list[list[int]] = [[] for _ in sources]
    for at, origins in enumerate(sources):
        depth.append(max((depth[origin] + 1 for origin in origins), default=0))
        for origin in origins:
            readers[origin].append(at)
    for at, users in enumerate(readers):
        if users and not sources[at]:
            depth[at] = min(depth[user] for user in users) - 1
    return depth


def _places(
    sources: Sequence[Sequence[int]],
) -> tuple[list[tuple[int, int]], dict[tuple[int, int], list[tuple[int, int]]]]:
    """The upper left corner of each node, and of the bends of edges that pass other rows.

    Nodes and bends are drawn towards the middle of what stands above and below them, row by row, down and up again;
    in a row they keep their distance, and the row stays where its members want to be on average.
    """
    depth = _depths(sources)
    above: list[list[int]] = [[] for _ in sources]
    bends: dict[tuple[int, int], list[int]] = {}
    for at, origins in enumerate(sources):
        for origin in origins:
            last, chain = origin, []
            for row in range(depth[origin] + 1, depth[at]):
                above.append([last])
                depth.append(row)
                last = len(depth) - 1
                chain.append(last)
            above[at].append(last)
            bends[origin, at] = chain
    below: list[list[int]] = [[] for _ in depth]
    for at, origins in enumerate(above):
        for origin in origins:
            below[origin].append(at)
    rows: list[list[int]] = [[] for _ in range(max(depth, default=-1) + 1)]
    for at, row in enumerate(depth):
        rows[row].append(at)
    halves = [_NODE_HALF if at < len(sources) else _BEND_HALF for at in range(len(depth))]
    column = [0.0] * len(depth)
    for members in rows:
        for order, at in enumerate(members):
            column[at] = float(order)
    for sweep in range(_SWEEPS):
        for members in rows if sweep % 2 == 0 else reversed(rows):
            _settle(members, above if sweep % 2 == 0 else below, halves, column)
    left = min(column, default=0.0)
    corners = [
        (_MARGIN + round((x - left) * _STEP_X), _MARGIN + row * _STEP_Y) for x, row in zip(column, depth, strict=True)
    ]
    return corners[: len(sources)], {edge: [corners[bend] for bend in chain] for edge, chain in bends.items()}


def _settle(
    row: Sequence[int], others: Sequence[Sequence[int]], halves: Sequence[float], column: list[float]
) -> None:
    """Move the members of a row to the middle of their `others`, as far apart as their halves ask for."""
    wanted = {
        at: sum(column[other] for other in others[at]) / len(others[at]) if others[at] else column[at] for at in row
    }
    ordered = sorted(row, key=lambda at: wanted[at])
    placed: list[float] = []
    for number, at in enumerate(ordered):
        apart = placed[-1] + halves[ordered[number - 1]] + halves[at] if placed else wanted[at]
        placed.append(max(wanted[at], apart))
    shift = sum(wanted[at] - x for at, x in zip(ordered, placed, strict=True)) / len(ordered)
    for at, x in zip(ordered, placed, strict=True):
        column[at] = x + shift


def _shared(origin: NodeRow, target: NodeRow) -> str:
    return ", ".join(name for name in origin.outputs if name in target.inputs)


def _edge(line: Sequence[tuple[int, int]], text: str) -> str:
    """A curve from the lower side of the first box, past the bends, to the upper side of the last box."""
    half = _WIDTH // 2
    x, y = line[0][0] + half, line[0][1] + _HEIGHT
    steps = [f"M{x} {y}"]
    for number, (left, top) in enumerate(line[1:], 1):
        bend = (top - y) // 2
        steps.append(f"C{x} {y + bend} {left + half} {top - bend} {left + half} {top}")
        x, y = left + half, top
        if number < len(line) - 1:
            y += _HEIGHT
            steps.append(f"V{y}")
    return (
        f'<path d="{"".join(steps)}" fill="none" stroke="#8d949e" '
        f'marker-end="url(#arrow)"><title>{escape(text)}</title></path>'
    )


def _box(node: NodeRow, place: tuple[int, int]) -> str:
    x, y = place
    plain = node.op_type.rsplit(".", 1)[-1]
    hue = next((hue for prefix, hue in _HUES.items() if plain.startswith(prefix)), 0)
    colour = f"hsl({hue} {65 if hue else 0}% 88%)"
    tip = f"{node.number}: {node.op_type}\nin: {', '.join(node.inputs)}\nout: {', '.join(node.outputs)} {node.shapes}"
    middle = x + _WIDTH // 2
    return (
        f'<g><title>{escape(tip)}</title><rect x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="6" '
        f'fill="{colour}" stroke="hsl({hue} {25 if hue else 0}% 55%)"/><text x="{middle}" y="{y + 18}" '
        f'text-anchor="middle" fill="#1b2530" font-weight="600">{escape(_cut(plain, _MOST_TEXT))}</text>'
        f'<text x="{middle}" y="{y + 33}" text-anchor="middle" fill="#5b6673" font-size="10">'
        f"{escape(_cut(node.shapes, _MOST_SHAPE))}</text></g>"
    )


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
