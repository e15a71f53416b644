"""A page of SVG: boxes, texts and arrows in a few named styles, with colours for light and dark surroundings.

The colours follow `prefers-color-scheme`, which browsers apply to pictures too; the page has its own background, so
that a viewer that knows nothing of it still shows a readable picture. Equal calls give equal bytes.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_LIGHT = {
    "paper": "#fbfcfd",
    "ink": "#17323a",
    "dim": "#5a727b",
    "line": "#9db2b9",
    "shell": "#f0f4f6",
    "memory": "#d6e9f5",
    "memory-line": "#5c92b5",
    "unit": "#fce2cb",
    "unit-line": "#cc8046",
    "control": "#e6e0f5",
    "control-line": "#8976bd",
    "flow": "#2b8a80",
    "flow-soft": "#bfe3dd",
    "mark": "#f4c95d",
    "mark-line": "#b98a14",
}
_DARK = {
    "paper": "#13232a",
    "ink": "#e4eef1",
    "dim": "#9ab0b8",
    "line": "#56707a",
    "shell": "#1b2f37",
    "memory": "#1b425c",
    "memory-line": "#62a6d3",
    "unit": "#54381f",
    "unit-line": "#e29d5f",
    "control": "#3a3160",
    "control-line": "#a895e2",
    "flow": "#55c6ba",
    "flow-soft": "#1d4f4c",
    "mark": "#8a6a17",
    "mark-line": "#f4c95d",
}
FONT = "system-ui, 'Segoe UI', Helvetica, Arial, 'DejaVu Sans', sans-serif"
CODE = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def _style() -> str:
    def colours(table: dict[str, str]) -> str:
        return "".join(f"--{name}:{value};" for name, value in table.items())

    boxes = "".join(
        f".{name}{{fill:var(--{name});stroke:var(--{name}-line);}}" for name in ("memory", "unit", "control", "mark")
    )
    return (
        f"svg{{{colours(_LIGHT)}}}@media (prefers-color-scheme: dark){{svg{{{colours(_DARK)}}}}}"
        f"text{{font-family:{FONT};fill:var(--ink);}}.dim{{fill:var(--dim);}}.code{{font-family:{CODE};}}"
        ".bold{font-weight:600;}.on-flow{fill:var(--flow);}"
        f"{boxes}.paper{{fill:var(--paper);}}.shell{{fill:var(--shell);stroke:var(--line);}}"
        ".plain{fill:var(--paper);stroke:var(--line);}.flow-soft{fill:var(--flow-soft);stroke:var(--flow);}"
        ".line{stroke:var(--line);fill:none;}.arrow{stroke:var(--flow);fill:none;}.head{fill:var(--flow);}"
        ".lens{stroke:var(--line);fill:none;stroke-dasharray:3 3;}"
    )


def number(value: float) -> str:
    """Coordinates with at most one decimal, so that the files are short and stable."""
    text = f"{value:.1f}"
    return text.removesuffix(".0")


class Canvas:
    """A picture of `width` x `height` units; `title` is what a screen reader says."""

    def __init__(self, width: float, height: float, title: str) -> None:
        size = f'width="{number(width)}" height="{number(height)}"'
        view = f"0 0 {number(width)} {number(height)}"
        self._parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{view}" {size} role="img">',
            f"<title>{escape(title)}</title>",
            f"<style>{_style()}</style>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7"'
            ' markerUnits="userSpaceOnUse" orient="auto-start-reverse">'
            '<path d="M0 0L8 4L0 8z" class="head"/></marker></defs>',
            f'<rect width="{number(width)}" height="{number(height)}" rx="10" class="paper"/>',
        ]

    def box(self, x: float, y: float, width: float, height: float, style: str = "plain", radius: float = 4) -> None:
        """A rectangle in the style `plain`, `shell`, `memory`, `unit`, `control`, `mark` or `flow-soft`."""
        corner = f' rx="{number(radius)}"' if radius else ""
        self._parts.append(
            f'<rect x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"{corner}'
            f' class="{style}"/>'
        )

    def text(self, x: float, y: float, words: str, size: float = 12, style: str = "", anchor: str = "middle") -> None:
        """One line of text on the base line `y`; `style` joins `dim`, `bold`, `code`, `on-flow`."""
        where = "" if anchor == "start" else f' text-anchor="{anchor}"'
        kind = f' class="{style}"' if style else ""
        self._parts.append(
            f'<text x="{number(x)}" y="{number(y)}" font-size="{number(size)}"{where}{kind}>{escape(words)}</text>'
        )

    def lines(self, x: float, y: float, words: Sequence[str], size: float = 11, style: str = "dim",
              anchor: str = "middle", step: float = 14) -> None:  # fmt: skip
        """Several lines of text below each other."""
        for row, line in enumerate(words):
            self.text(x, y + row * step, line, size, style, anchor)

    def named(self, x: float, y: float, width: float, height: float, style: str, name: str, *more: str,
              size: float = 12) -> None:  # fmt: skip
        """A box with its name in bold and smaller lines below, centred."""
        self.box(x, y, width, height, style)
        top = y + height / 2 + size * 0.36 - 7 * len(more)
        self.text(x + width / 2, top, name, size, "bold")
        self.lines(x + width / 2, top + 14, more, size - 1.5)

    def path(self, points: Sequence[tuple[float, float]], style: str = "arrow", width: float = 1.5,
             ends: str = "to") -> None:  # fmt: skip
        """A line through the points; `ends`: arrow heads at "to", "both" or "none"."""
        steps = " ".join(f"{'M' if index == 0 else 'L'}{number(x)} {number(y)}" for index, (x, y) in enumerate(points))
        tips = {"to": ' marker-end="url(#tip)"', "both": ' marker-start="url(#tip)" marker-end="url(#tip)"', "none": ""}
        self._parts.append(f'<path d="{steps}" class="{style}" stroke-width="{number(width)}"{tips[ends]}/>')

    def double_arrow(self, left: float, right: float, y: float, width: float) -> None:
        """A level arrow with two heads, as wide as what flows."""
        half, head = width / 2, width / 2 + 4
        tip = 1.3 * head
        corners = [(left, y), (left + tip, y - head), (left + tip, y - half), (right - tip, y - half),
                   (right - tip, y - head), (right, y), (right - tip, y + head), (right - tip, y + half),
                   (left + tip, y + half), (left + tip, y + head)]  # fmt: skip
        points = " ".join(f"{number(x)},{number(down)}" for x, down in corners)
        self._parts.append(f'<polygon points="{points}" class="head"/>')

    def file(self) -> str:
        """The text of the SVG file."""
        return "\n".join([*self._parts, "</svg>"]) + "\n"
