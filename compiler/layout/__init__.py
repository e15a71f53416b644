"""The layout algebra: texts, levels, index maps, padding, free reshapes (compiler.md 5).

`DramImage` lives in `compiler.layout.image`, which needs the element types of `compiler.graph`.
"""

from compiler.layout.errors import ImageError, LayoutError
from compiler.layout.layout import Layout, SubAxisLike
from compiler.layout.levels import SPATIAL, Level, Place, Places
from compiler.layout.pad_layout import PadLayout
from compiler.layout.reshape import merge_reshape
from compiler.layout.terms import Axis, Broadcast, SubAxis

__all__ = [
    "SPATIAL",
    "Axis",
    "Broadcast",
    "ImageError",
    "Layout",
    "LayoutError",
    "Level",
    "PadLayout",
    "Place",
    "Places",
    "SubAxis",
    "SubAxisLike",
    "merge_reshape",
]
