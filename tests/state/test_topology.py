"""Sizes: defaults, a chip description, what the kernels cannot do."""

from __future__ import annotations

import pytest

from hw.spec import ChipSpec, default_spec
from hw.state import Topology, TopologyError


def test_the_default_is_mncore_2() -> None:
    size = Topology()
    assert (size.l2bs, size.l1bs, size.l1bs * size.mabs * size.pes) == (8, 64, 4096)
    assert Topology.of(None) == size


def test_the_default_chip_description_gives_the_same_sizes() -> None:
    assert Topology.of(default_spec()) == Topology()


def test_a_changed_chip_description_is_followed() -> None:
    size = Topology.of(ChipSpec.load({"capacity.l2bm": 1024, "topology.groups": 2}))
    assert (size.l2bm, size.l2bs) == (1024, 4)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"mabs": 8}, "topology.mab_per_l1b = 8"),
        ({"pes": 2}, "topology.pe_per_mab = 2"),
        ({"lm": 1000}, "capacity.lm = 1000"),
        ({"dram": 24}, "capacity.dram = 24"),
        ({"groups": 0}, "topology.groups"),
    ],
)
def test_unsupported_sizes_are_named(changes: dict[str, int], named: str) -> None:
    with pytest.raises(TopologyError, match=named):
        Topology(**changes)
