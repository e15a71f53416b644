"""Random legal programs and unusual chips for property tests of time."""

from __future__ import annotations

from hypothesis import strategies as st

from hw.program import Line, Mv, Program, Region
from hw.spec import ChipSpec, default_spec
from tests.model.programs import ALU, L1_ITEMS, MAU, SINGLE_MVS, TRANSFER_ITEMS, nop, program, step

TRANSFERS = [step(item) for item in TRANSFER_ITEMS]
STEPS = [step(ALU), step(MAU, ALU), nop(), step(), step(MAU, L1_ITEMS["l1bm.rate.l1bmd"]), *TRANSFERS]
MVS = [line for line, *_ in SINGLE_MVS.values()]

PLAIN_SPECS = {
    "default": default_spec(),
    "pipelined": ChipSpec.load({"mv.pipelined_latency": 1, "l2bm.rate.l2bmd_up": 24, "mv.notice_latency": 3}),
}
"""Chips on which a data phase is one piece."""

ENGINE_SPECS = {
    **PLAIN_SPECS,
    "instant": ChipSpec.load(
        {"mv.latency.dram": 0, "mv.latency.pdm": 0, "mv.latency.parallel": 0, "mv.notice_latency": 0, "step.cycles": 1}
    ),
    "turns": ChipSpec.load({"mv.arbitration_unit": 192, "mv.issue_interval": 0, "pdm.cross_port": 1}),
    "refresh": ChipSpec.load({"dram.refresh": 1, "dram.refresh_interval": 90, "dram.refresh_cycles": 37}),
    "all of it": ChipSpec.load(
        {
            "mv.arbitration_unit": 128,
            "mv.pipelined_latency": 1,
            "dram.refresh": 1,
            "dram.refresh_interval": 64,
            "dram.refresh_cycles": 16,
            "dram.row_open": 9,
            "ring.shared": 0,
            "pdm.duplex": 0,
        }
    ),
}
"""Chips whose engines differ; the stream is always fed."""

HOST_SPECS = {
    "starved": ChipSpec.load({"stream.finite": 1, "host.pcie_bandwidth": 7, "stream.fifo_packets": 3}),
    "filled": ChipSpec.load({"stream.fill_nops": 1, "stream.flat_steps": 3}),
    "both": ChipSpec.load(
        {"stream.finite": 1, "stream.fill_nops": 1, "host.pcie_bandwidth": 1.7, "dram.refresh": 1, "ring.shared": 0}
    ),
}
"""Chips on which instruction packets take time."""

ALL_SPECS = {**ENGINE_SPECS, **HOST_SPECS}


@st.composite
def programs(draw: st.DrawFn) -> Program:
    """Legal programs: tags are waited for after they were raised, each once."""
    lines: list[Line] = []
    open_tags: list[int] = []
    for _ in range(draw(st.integers(0, 30))):
        kind = draw(st.sampled_from(["step", "step", "mv", "wait"]))
        if kind == "mv":
            line = draw(st.sampled_from(MVS))
            tag = draw(st.sampled_from([t for t in range(8) if t not in open_tags]))
            size = 64 * draw(st.integers(0, 40))
            lines.append(Mv(line.form, size, line.src, line.dst, tag=tag, prio=draw(st.integers(0, 3))))
            if tag:
                open_tags.append(tag)
        elif kind == "wait" and open_tags:
            tag = open_tags.pop(draw(st.integers(0, len(open_tags) - 1)))
            lines.append(draw(st.sampled_from([nop(wait=tag), step(ALU, wait=tag)])))
        else:
            lines += [draw(st.sampled_from(STEPS))] * draw(st.integers(1, 4))
    starts = sorted(draw(st.lists(st.integers(0, len(lines)), max_size=4)))
    return program(*lines, regions=tuple(Region(start, f"layer {n}") for n, start in enumerate(starts)))
