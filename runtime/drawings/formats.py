"""Number formats bit by bit, and how they fill a long word."""

from __future__ import annotations

from hw.formats.descriptor import FLOATS, FloatFormat
from hw.spec import ChipSpec
from runtime.drawings.canvas import Canvas

_LEFT, _BITS, _BIT = 150, 64, 14.5
_FIELDS = (("control", "sign"), ("unit", "exponent"), ("memory", "mantissa"))


def _format(page: Canvas, y: float, form: FloatFormat) -> None:
    page.text(_LEFT - 16, y + 17, form.name, 14, "bold", "end")
    page.text(_LEFT - 16, y + 33, f"{form.bits} bits, letter {form.letter}", 10.5, "dim", "end")
    x: float = _LEFT
    top = form.bits
    for (style, name), bits in zip(_FIELDS, (1, form.exponent_bits, form.mantissa_bits), strict=True):
        page.box(x, y, bits * _BIT, 26, style, 3)
        for bit in range(1, bits):
            page.path(((x + bit * _BIT, y + 21), (x + bit * _BIT, y + 26)), "line", 0.7, "none")
        if bits > 1:
            page.text(x + bits * _BIT / 2, y + 17, f"{name} {bits}", 11)
        page.text(x + 3, y + 38, str(top - 1), 9, "dim", "start")
        x += bits * _BIT
        top -= bits
    note = f"exponent bias {form.bias}; exponent 0 is zero, {form.all_ones} is infinity"
    if form.bits == _BITS:
        page.text(_LEFT + _BITS * _BIT, y + 40, note, 10.5, "dim", "end")
    else:
        page.text(x + 14, y + 17, note, 10.5, "dim", "start")


def draw(spec: ChipSpec) -> Canvas:
    """The picture; the formats are those of `hw.formats`, whatever the chip's numbers."""
    page = Canvas(_LEFT + _BITS * _BIT + 24, 372, "Number formats of MN-Core 2, and how they fill a long word")
    for row, form in enumerate(FLOATS.values()):
        _format(page, 22 + row * 58, form)
    y = 212.0
    page.text(_LEFT - 16, y + 17, "long word", 14, "bold", "end")
    page.text(_LEFT - 16, y + 33, "64 bits", 10.5, "dim", "end")
    rows = (("memory", 1, "double, 64-bit integer"), ("memory", 2, "single or 32-bit integer"), ("memory", 4, "half"))
    for row, (style, count, name) in enumerate(rows):
        top, width = y + row * 34, _BITS * _BIT / count
        for word in range(count):
            page.box(_LEFT + word * width, top, width, 28, style, 3)
            page.text(_LEFT + (word + 0.5) * width, top + 18, f"{name} {word}" if count > 1 else name, 11)
    page.text(_LEFT, y + 120, "word 0 holds the most significant bits", 11, "dim", "start")
    page.text(_LEFT + _BITS * _BIT, y + 120, "two long words (2LW) are what a PE reads in a cycle", 11, "dim", "end")
    page.text(_LEFT, y + 142, "no NaN and no denormal numbers in any format", 11, "dim", "start")
    return page
