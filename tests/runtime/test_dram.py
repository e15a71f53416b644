"""The DRAM allocator."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.dram import UNIT, DramAllocator, Extent
from runtime.errors import DeviceMemoryError


def test_first_fit_and_preferred_places() -> None:
    dram = DramAllocator(10 * UNIT)
    assert dram.allocate(1) == Extent(0, UNIT)
    assert dram.allocate(UNIT + 1, preferred=4 * UNIT) == Extent(4 * UNIT, 2 * UNIT)
    assert dram.allocate(UNIT, preferred=5 * UNIT) == Extent(UNIT, UNIT)
    assert dram.allocate(3 * UNIT) == Extent(6 * UNIT, 3 * UNIT)
    dram.free(Extent(0, UNIT))
    assert dram.allocate(UNIT) == Extent(0, UNIT)
    assert dram.used == 7 * UNIT


def test_exhaustion_is_typed_and_helpful() -> None:
    dram = DramAllocator(4 * UNIT)
    dram.allocate(UNIT, preferred=UNIT)
    with pytest.raises(DeviceMemoryError, match="3072 of 4096 are free"):
        dram.allocate(3 * UNIT)
    with pytest.raises(DeviceMemoryError):
        dram.allocate(5 * UNIT, preferred=0)


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 3 * UNIT), st.none() | st.integers(0, 40 * UNIT)), max_size=40))
def test_extents_never_overlap(actions: list[tuple[bool, int, int | None]]) -> None:
    dram = DramAllocator(32 * UNIT)
    held: list[Extent] = []
    for give_back, size, preferred in actions:
        if give_back and held:
            dram.free(held.pop(0))
            continue
        try:
            extent = dram.allocate(size, preferred)
        except DeviceMemoryError:
            continue
        assert extent.size >= size and extent.start >= 0 and extent.end <= dram.capacity
        assert all(extent.end <= other.start or other.end <= extent.start for other in held)
        held.append(extent)
    assert dram.used == sum(extent.size for extent in held)
