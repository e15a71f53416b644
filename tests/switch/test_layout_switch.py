"""Layout switches between random layouts, on the simulated chip, every copy compared bit for bit with NumPy."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compiler.emit.asm import Asm
from compiler.graph import MNType
from compiler.layout import PadLayout
from compiler.switch.cells import Move
from compiler.switch.chains import chain, chain_cycles
from compiler.switch.placing import chunk_slots, scratch_words
from compiler.switch.routes import SELECT, cheapest, emit_route, route_costs
from compiler.switch.selection import select, table_data, table_layout
from hw.state import Board
from tests.switch import chip
from tests.switch.random_layouts import random_layout, random_shape

TYPES = (MNType.HALF, MNType.FLOAT, MNType.INT, MNType.LONG)
SOURCE, TARGET = 64, 128


@functools.cache
def _board() -> Board:
    board = Board()
    board.dirty()
    return board


def _switch(source: PadLayout, target: PadLayout, mntype: MNType, route: str, *, lm: str = "m", chunk: int = 0) -> None:
    """Run one route from LM `lm` to the other and check it."""
    board, move = _board(), Move((source,), target, mntype)
    other = "n" if lm == "m" else "m"
    rng = np.random.default_rng(1)
    raw = rng.integers(0, 1 << mntype.bits, size=source.shape, dtype=np.uint64).astype(mntype.raw_dtype)
    chip.write(board, "mn".index(lm), SOURCE, source, mntype, raw)
    ends = {lm: SOURCE + 2 * source.num_lw, other: TARGET + 2 * target.num_lw}
    table, scratch = None, -(-ends["m"] // 4) * 4
    if route == SELECT:
        selection = select(move)
        data = table_data(selection)
        if data is not None:
            table = ("n", ends["n"])
            chip.write(board, 1, table[1], table_layout(data.shape), MNType.INT, data.view(np.uint32))
        chunk = chunk or chunk_slots(selection, [lm], 2048, scratch // 2)
        assert scratch + scratch_words(chunk) <= 4096
    asm = Asm()
    emit_route(asm, route, move, (lm, SOURCE), (other, TARGET), table, scratch, chunk)
    asm.wait_all()
    chip.run(board, asm)
    chip.check(board, "mn".index(other), TARGET, target, mntype, raw)


def _random_pair(seed: int) -> tuple[PadLayout, PadLayout, MNType]:
    rng = np.random.default_rng(seed)
    while True:
        mntype = TYPES[rng.integers(0, len(TYPES))]
        shape = random_shape(rng)
        source, target = random_layout(rng, shape, mntype), random_layout(rng, shape, mntype)
        if max(source.num_lw, target.num_lw) <= 64:
            return source, target, mntype


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 1 << 30), lm=st.sampled_from("mn"), chunk=st.sampled_from([0, 32, 80]))
def test_any_layout_to_any_other(seed: int, lm: str, chunk: int) -> None:
    """All routes that a random pair has; small chunks make units that lie in several of them."""
    source, target, mntype = _random_pair(seed)
    for route in route_costs(source, target, mntype):
        _switch(source, target, mntype, route, lm=lm, chunk=chunk if route == SELECT else 0)


ROWS = "(64,64)/((8_L2B:1, 8_L1B:1), (16:1, 4_PE:1))"
CASES = {
    "labels to words": ("(125)/((8_L2B:1, 8_L1B:1, 1:1, 2_W:1); B@[PE,MAB])", "(125)/((8_L2B:1, 8_L1B:1, 2:1))", "Int"),
    "transposition": (ROWS, "(64,64)/((16:1, 4_PE:1), (8_L2B:1, 8_L1B:1))", "Float"),
    "inside a MAB": ("(64,8)/((8_L2B:1, 8_L1B:1), (4_PE:1, 2:1))", "(64,8)/((8_L2B:1, 8_L1B:1), (2:1, 4_PE:1))", "Int"),
    "halves to other PEs": (
        "(64,64)/((8_L2B:1, 8_L1B:1), (16_MAB:1, 4_W:1))",
        "(64,64)/((8_L2B:1, 8_L1B:1), (4_W:1, 4:1, 4_PE:1))",
        "Half",
    ),
    "split to copied": ("(64,7)/((8_L2B:1, 8_L1B:1), (7:1))", "(64,7)/((64:7), (7:1))", "Float"),
    "copied to split": ("(64,7)/((64:7), (7:1))", "(64,7)/((8_L2B:1, 8_L1B:1), (7:1))", "Float"),
    "prime padding": ("(61,13)/((8_L2B:1, 8:1), (13:8))", "(61,13)/((16_MAB:1, 4_PE:1), (7:1, 2_W:1))", "Float"),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("lm", ["m", "n"])
def test_named_switches(name: str, lm: str) -> None:
    source, target, kind = CASES[name]
    pair = PadLayout.parse(source), PadLayout.parse(target)
    _switch(*pair, MNType(kind), cheapest(*pair, MNType(kind)), lm=lm)


def test_the_stream_stays_inside_the_levels_that_exchange() -> None:
    def levels(name: str) -> set[str]:
        source, target, kind = CASES[name]
        (feed,) = select(Move((PadLayout.parse(source),), PadLayout.parse(target), MNType(kind))).feeds
        return {str(level) for level in feed.exchange}

    assert levels("inside a MAB") == {"PE"}
    assert levels("halves to other PEs") == {"MAB"}
    assert levels("transposition") == {"L2B", "L1B", "PE"}
    assert levels("copied to split") == set()


def test_the_cheapest_route_is_taken() -> None:
    mab = "(64,64)/((8_L2B:1, 8_L1B:1), (16_MAB:1, 4_PE:1))"
    source, target = PadLayout.parse(mab), PadLayout.parse(ROWS)
    costs = route_costs(source, target, MNType.FLOAT)
    assert costs.keys() == {"gather", SELECT}
    assert cheapest(source, target, MNType.FLOAT) == min(costs, key=lambda name: costs[name].cycles)
    assert all(cost.mv_cycles == 0 for cost in (costs["gather"],))


TRANSPOSED = (
    "(64,256)/((8_L2B:1, 8_L1B:1), (16_MAB:1, 4_W:1, 4_PE:1))",
    "(64,256)/((16_MAB:1, 4_PE:1), (8_L2B:1, 8_L1B:1, 4:1))",
)
SPREAD = (
    "(1024,64)/((8_L2B:1, 8_L1B:1, 16:1), (16_MAB:1, 4_PE:1))",
    "(1024,64)/((16:1, 8_L2B:1, 8_L1B:1), (16_MAB:1, 4_PE:1))",
)


@pytest.mark.parametrize("pair", [TRANSPOSED, SPREAD])
def test_a_chain_of_switches_is_right_and_not_dearer(pair: tuple[str, str]) -> None:
    source, target = (PadLayout.parse(text) for text in pair)
    stops = chain(source, target, MNType.HALF)
    direct = min(cost.cycles for cost in route_costs(source, target, MNType.HALF).values())
    assert chain_cycles(source, target, MNType.HALF) <= direct
    last = source
    for stop in (*stops, target):
        _switch(last, stop, MNType.HALF, cheapest(last, stop, MNType.HALF))
        last = stop


def test_a_large_transposition_goes_level_by_level() -> None:
    """256 x 1024 halves: all levels at once would show every PE all 65,536 long words."""
    source = PadLayout.parse("(256,1024)/((8_L2B:1, 8_L1B:1, 4:1), (16_MAB:1, 4:4, 4_W:1, 4_PE:1))")
    target = PadLayout.parse("(256,1024)/((16_MAB:1, 4_W:1, 4_PE:1), (8_L2B:1, 8_L1B:1, 16:1))")
    stops = chain(source, target, MNType.HALF)
    assert len(stops) == 2
    exchanged = []
    for one, other in itertools.pairwise((source, *stops, target)):
        (feed,) = select(Move((one,), other, MNType.HALF)).feeds
        exchanged.append({str(level) for level in feed.exchange})
    assert exchanged == [{"L2B", "MAB"}, {"L1B", "MAB"}, {"PE"}]
    direct = route_costs(source, target, MNType.HALF)[SELECT].cycles
    assert 5 * chain_cycles(source, target, MNType.HALF) < direct
