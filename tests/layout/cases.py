"""Layouts that several tests use: the worked table of public layouts, and a strategy for random valid ones."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hypothesis import strategies as st

from compiler.graph import MNType
from compiler.layout import SPATIAL, Broadcast, Layout, Level, PadLayout, SubAxis


@dataclass(frozen=True)
class Worked:
    """One row of the table of public layouts (compiler.md 5.3): text, type, shape, and what R4, R7 and R8 must give."""

    name: str
    spec: str
    mntype: MNType
    shape: tuple[int, ...]
    padded: tuple[int, ...]
    num_lw: int
    num_slices: int = 1

    @property
    def pad_layout(self) -> PadLayout:
        return PadLayout(self.shape, Layout.parse(self.spec))


H, F, I = MNType.HALF, MNType.FLOAT, MNType.INT  # noqa: E741 (the table reads better so)

WORKED = [
    Worked("val_1", "((8_L1B:1); B@[PE,W,MAB,L2B])", I, (2,), (8,), 2),
    Worked("t", "((8_L2B:1, 8_L1B:1, 1:1, 2_W:1); B@[PE,MAB])", I, (125,), (128,), 2),
    Worked("t switched", "((8_L2B:1, 8_L1B:1, 2:1); B@[PE,W,MAB])", I, (125,), (128,), 2),
    Worked(
        "x",
        "((8_L2B:1, 8_L1B:1, 2:1), (), (16_MAB:1, 2:4), (2:2, 4_W:1, 4_PE:1))",
        H,
        (125, 1, 32, 32),
        (128, 1, 32, 32),
        8,
    ),
    Worked("view", "((8_L2B:1, 8_L1B:1, 2:1), (16_MAB:1, 4:2, 4_W:1, 4_PE:1))", H, (125, 1024), (128, 1024), 8),
    Worked(
        "attr_0",
        "((16:64, 4_W:1, 4_PE:1), (16_MAB:1, 4:16, 4:1, 4:4); B@[L1B,L2B])",
        H,
        (256, 1024),
        (256, 1024),
        1024,
    ),
    Worked("attr_1", "((16_MAB:1, 2:1, 2_W:1, 4_PE:1); B@[L1B,L2B])", F, (256,), (256,), 2),
    Worked("addmm", "((8_L2B:1, 8_L1B:1, 2:1), (16_MAB:1, 4_W:1, 4_PE:1))", H, (125, 256), (128, 256), 2),
    Worked(
        "gather table",
        "((75_Time:4, 8_L2B:1, 16_MAB:1, 4:1, 4:4), (4_Time:1, 24:16, 4_W:1, 4_PE:1); B@[L1B])",
        H,
        (151936, 1536),
        (153600, 1536),
        384,
        300,
    ),
    Worked(
        "gemm a",
        "((), (8:3072, 8_L1B:1, 2_Time:1, 2:1536, 16:1), (96:16, 4_W:1, 4_PE:1))",
        H,
        (1, 4096, 1536),
        (1, 4096, 1536),
        24576,
        2,
    ),
    Worked(
        "gemm bt",
        "((25_Time:1, 3:1536, 8_L2B:1, 16_MAB:1, 4:1, 4:4), (96:16, 4_W:1, 4_PE:1); B@[L1B])",
        H,
        (151936, 1536),
        (153600, 1536),
        4608,
        25,
    ),
    Worked(
        "gemm c",
        "((), (8:96, 8_L1B:1, 2_Time:25, 2:48, 16:1), (25_Time:1, 3:16, 8_L2B:1, 16_MAB:1, 4_W:1, 4_PE:1))",
        H,
        (1, 4096, 151936),
        (1, 4096, 153600),
        768,
        50,
    ),
    Worked(
        "features",
        "((), (8_L2B:1, 8_L1B:1, 64:1), (4_Time:1, 24:64, 4_W:1, 4_PE:1))",
        H,
        (1, 4096, 1536),
        (1, 4096, 1536),
        1536,
        4,
    ),
    Worked("indices", "((), (8_L2B:1, 8_L1B:1, 32:1, 2_W:1))", I, (1, 4096), (1, 4096), 32),
    Worked(
        "add",
        "((16_MAB:1, 5_Time:1, 7:16, 4:1, 4:4), (96:112, 4_W:1, 4_PE:1); B@[L1B,L2B])",
        H,
        (8960, 1536),
        (8960, 1536),
        10752,
        5,
    ),
    Worked(
        "expand in",
        "((), (2_Time:1), (), (16_MAB:1, 16:16, 4:1, 4:4), (8:256, 4_W:1, 4_PE:1); B@[L1B,L2B])",
        H,
        (1, 2, 1, 4096, 128),
        (1, 2, 1, 4096, 128),
        2048,
        2,
    ),
    Worked(
        "expand out",
        "((), (2_Time:6), (6_Time:1), (16_MAB:1, 16:16, 4:1, 4:4), (8:256, 4_W:1, 4_PE:1); B@[L1B,L2B])",
        H,
        (1, 2, 6, 4096, 128),
        (1, 2, 6, 4096, 128),
        2048,
        12,
    ),
    Worked("technical note", "((8_L2B:1, 8:2), (16_MAB:1, 2:1, 4_PE:1); B@[L1B,W])", H, (64, 128), (64, 128), 16),
    Worked(
        "himeno",
        "((2_L2B:1, 16_MAB, 4:64), (2_L1B:4, 4_PE, 2_W, 8:1), (4_L2B:2, 4_L1B:1, 8:8))",
        F,
        (128, 128, 128),
        (128, 128, 128),
        256,
    ),
    Worked("challenge LM", "((4_PE:1, 16:1, 2_W:1); B@[MAB,L1B,L2B])", F, (128,), (128,), 16),
    Worked(
        "education LM",
        "((16:1), (8_MAB:2, 8_L1B:1, 2_MAB:1, 4_PE:1, 2_W:1); B@[8_L2B:1])",
        F,
        (16, 1024),
        (16, 1024),
        16,
    ),
    Worked("education DRAM", "((4_L2B:2, 64:8), (8:1, 2_W:1))", F, (256, 16), (256, 16), 512),
]

#: Rows whose image is small enough to build in a test.
IMAGED = [row for row in WORKED if math.prod(row.padded) <= 1 << 21]


def _factors(draw: st.DrawFn, size: int) -> list[int]:
    """Extents above 1 whose product is `size` (a power of two)."""
    extents: list[int] = []
    while size > 1:
        extent = draw(st.sampled_from([e for e in (2, 4, 8, 16) if size % e == 0]))
        extents.append(extent)
        size //= extent
    return extents


@st.composite
def pad_layouts(draw: st.DrawFn, mntype: MNType) -> PadLayout:
    """Valid layouts of up to 2**13 elements with splits, partial splits, copies, slices, strides and padding."""
    sizes = {level: mntype.words_per_lw if level is Level.W else level.members or 1 for level in SPATIAL}
    subaxes: list[SubAxis] = []
    broadcast: list[Broadcast] = []
    budget = 1 << 13
    for level, size in sizes.items():
        choice = draw(st.sampled_from(["copied", "unnamed", "split", "part", "mixed"]))
        if choice == "copied":
            broadcast.append(Broadcast(level))
        if choice in ("copied", "unnamed") or size == 1 or size > budget:
            continue
        stride = 1
        extents = _factors(draw, size)
        for number, extent in enumerate(extents):
            if choice == "mixed" and number == 0 and len(extents) > 1:
                broadcast.append(Broadcast(level, extent, stride))
            elif choice != "part" or number or len(extents) == 1:
                subaxes.append(SubAxis(extent, level, stride))
                budget //= extent
            stride *= extent
    for level, most in ((Level.ADDR, 3), (Level.TIME, 2)):
        stride = 1
        for _ in range(draw(st.integers(0, most))):
            extent = draw(st.sampled_from([1, 2, 3, 4, 5]))
            if extent <= budget:
                stride *= draw(st.sampled_from([1, 1, 2]))
                subaxes.append(SubAxis(extent, level, stride))
                stride *= extent
                budget //= extent
    axes: list[list[SubAxis]] = [[] for _ in range(draw(st.integers(1, 4)))]
    for sub in draw(st.permutations(subaxes)):
        axes[draw(st.integers(0, len(axes) - 1))].append(sub)
    layout = Layout.build(axes, broadcast)
    shape = tuple(draw(st.integers(max(1, extent // 2), extent)) for extent in layout.padded_shape)
    return PadLayout(shape, layout)
