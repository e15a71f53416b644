"""Hand-made programs for tests of the runtime: they copy one DRAM slot to another through L2BM."""

from __future__ import annotations

from collections.abc import Mapping

from compiler.graph.mntype import MNType, OnnxType
from compiler.iospec import IOSpec
from compiler.layout import PadLayout
from hw.program import Mv, MvForm, MvPlace, Program, Space, Step
from runtime.app import App
from runtime.specs import Spec

LAYOUT = "((8_L2B:1, 8_L1B:1, 2:1), (16_MAB:1, 4_W:1, 4_PE:1))"
OTHER_LAYOUT = "((8_L2B:1, 8_L1B:1, 2:1), (16_MAB:1, 4_PE:1, 4_W:1))"
SHAPE = (125, 256)
SLOT = 2048  # long words of the image in each group


def spec(name: str, addr: int, layout: str = LAYOUT, dtype: MNType = MNType.HALF) -> IOSpec:
    return IOSpec(name, SHAPE, OnnxType.FLOAT32, dtype, PadLayout.parse(f"(125,256)/{layout}"), addr, 0)


def copy(source: int, target: int, *, tag: int) -> list[Mv | Step]:
    """DRAM [source, +SLOT) -> [target, +SLOT) in every group."""
    bank, dram = MvPlace(Space.L2BM, 0, bank=0), MvPlace(Space.DRAM, source)
    return [
        Mv(MvForm.PARALLEL, SLOT, dram, bank, tag=tag, text=f"load {source}"),
        Step(wait=tag, nop=True),
        Mv(MvForm.PARALLEL, SLOT, bank, MvPlace(Space.DRAM, target), tag=tag + 1, text=f"store {target}"),
        Step(wait=tag + 1, nop=True),
    ]


def copy_app(
    sources: Mapping[str, IOSpec],
    targets: Mapping[str, IOSpec],
    params: Mapping[str, IOSpec] | None = None,
    *,
    updates: Mapping[str, str] | None = None,
    scratch: int | None = None,
) -> App:
    """Copies the n-th of sources + params to the n-th target, via a spill slot if `scratch` is given."""
    lines: list[Mv | Step] = []
    origins = [*sources.values(), *(params or {}).values()]
    for number, (source, target) in enumerate(zip(origins, targets.values(), strict=True)):
        tag = 4 * number + 1
        if scratch is None:
            lines += copy(source.addr, target.addr, tag=tag)
        else:
            lines += copy(source.addr, scratch, tag=tag) + copy(scratch, target.addr, tag=tag + 2)
    ordinary: Mapping[str, Spec] = dict(sources)
    return App(
        "vsm",
        b"",
        inputs=ordinary,
        outputs=dict(targets),
        params=dict(params or {}),
        values={},
        updates=updates or {},
        decoded=Program(tuple(lines), source="copy"),
    )
