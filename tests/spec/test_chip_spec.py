"""The chip description: provenance of every number, overrides with checks, printing."""

from __future__ import annotations

import json
import pickle
from dataclasses import FrozenInstanceError
from importlib import resources
from pathlib import Path

import pytest

from hw.program import MvForm
from hw.spec import UNITS, ChipSpec, Quantity, Rank, Role, SpecError, default_spec, parse_assignments, text_table
from hw.spec.__main__ import main
from hw.spec.table import as_dict, markdown_table, replace_table

DOCUMENT = Path(__file__).parents[2] / "docs" / "cycles.md"


def test_every_number_has_unit_source_and_rank() -> None:
    for quantity in default_spec().quantities:
        assert quantity.unit in UNITS, quantity.name
        assert len(quantity.source) >= 4, quantity.name
        assert quantity.rank in (Rank.MANUAL, Rank.DERIVED, Rank.ESTIMATED), quantity.name
        assert bool(quantity.error) is (quantity.rank is Rank.ESTIMATED), quantity.name


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("x = 5", "bare number"),
        ('x = { value = 5, unit = "count", rank = "manual", role = "size" }', "needs a source"),
        ('x = { value = 5, rank = "manual", role = "size", source = "s" }', "needs a unit"),
        ('x = { value = 5, unit = "count", role = "size", source = "s" }', "needs a rank"),
        ('x = { value = 5, unit = "count", rank = "guess", role = "size", source = "s" }', "expected manual, derived"),
        ('x = { value = 5, unit = "furlong", rank = "manual", role = "size", source = "s" }', "unknown unit 'furlong'"),
        (
            'x = { value = 5, unit = "count", rank = "estimated", role = "size", source = "s" }',
            "sign of its likely error",
        ),
        ('x = { value = 5, unit = "count", rank = "manual", role = "none", source = "s" }', "role 'none'"),
        ('x = { value = 0, unit = "count", rank = "manual", role = "size", source = "s" }', "x: 0: expected a finite"),
        (
            'x = { value = 1, unit = "count", rank = "manual", role = "size", source = "s", by = "me" }',
            "unknown field 'by'",
        ),
    ],
)
def test_a_number_without_provenance_is_refused(entry: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "chip.toml"
    path.write_text(entry + "\n")
    with pytest.raises(SpecError, match=message):
        ChipSpec.load(path=path)


def test_every_mv_form_has_its_rate() -> None:
    names = set(default_spec().names())
    for form in MvForm:
        rate = f"mv.rate.{form.name.lower()}"
        assert rate in names or {f"{rate}.same", f"{rate}.cross"} <= names


def test_overrides_take_numbers_and_text() -> None:
    spec = ChipSpec.load({"mv.latency.dram": "100", "mv.rate.b4": 7.5, "mv.pipelined_latency": "true"})
    assert (spec["mv.latency.dram"], spec["mv.rate.b4"], spec["mv.pipelined_latency"]) == (100, 7.5, 1)
    assert isinstance(spec["mv.latency.dram"], int)
    changed = spec.quantity("mv.latency.dram")
    assert changed.rank is Rank.OVERRIDE
    assert "default 200 (estimated)" in changed.source
    assert default_spec()["mv.latency.dram"] == 200


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("mv.latency.drma", 1, "did you mean mv.latency.dram"),
        ("latency.dram", 1, "did you mean mv.latency.dram"),
        ("mv.latency.dram", "soon", "mv.latency.dram: 'soon' is not a number"),
        ("mv.latency.dram", 1.5, "expected a whole number"),
        ("mv.latency.dram", -1, "expected a finite number >= 0"),
        ("mv.rate.b4", 0, "expected a finite number > 0"),
        ("mv.rate.b4", "nan", "expected a finite number"),
        ("mv.rate.b4", "inf", "expected a finite number"),
        ("mv.rate.b4", True, "expected a number"),
        ("mv.pipelined_latency", 2, "expected true or false"),
        ("step.cycles", 0, "expected a finite number >= 1"),
    ],
)
def test_bad_overrides_say_what_was_expected(name: str, value: float | str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        ChipSpec.load({name: value})


def test_numbers_that_must_fit_each_other() -> None:
    assert ChipSpec.load({"dram.refresh_interval": 264})["dram.refresh_interval"] == 264
    with pytest.raises(SpecError, match=r"dram\.refresh_interval = 263: expected more than dram\.refresh_cycles = 263"):
        ChipSpec.load({"dram.refresh_interval": 263})


def test_assignments_of_the_command_line() -> None:
    assert parse_assignments(["a.b=1", "c = x=y"]) == {"a.b": "1", "c": "x=y"}
    with pytest.raises(SpecError, match=r"'a\.b': expected name=value"):
        parse_assignments(["a.b"])


def test_specs_are_frozen_and_equal_by_value() -> None:
    spec = ChipSpec.load({"mv.latency.dram": 200})
    assert spec == default_spec()
    assert hash(spec) == hash(default_spec())
    assert ChipSpec.load({"mv.latency.dram": 201}).digest != spec.digest
    with pytest.raises(FrozenInstanceError):
        spec.quantities = ()  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(spec)) == spec


def test_peaks_are_those_of_the_catalogue() -> None:
    spec = default_spec()
    peaks = [spec.peak_flops(p) for p in ("double", "single", "pseudo", "half")]
    assert [round(p / 1e12, 3) for p in peaks] == [12.288, 49.152, 98.304, 393.216]
    assert spec.peak_flops("half", "vector") == 24.576e12
    assert ChipSpec.load({"topology.groups": 8}).peak_flops() == 2 * spec.peak_flops()


def test_derived_bandwidth_is_exact() -> None:
    assert default_spec().dram_lw_per_cycle * 3 == 64
    assert default_spec().pcie_bytes_per_cycle * 3 == 64
    assert ChipSpec.load({"clock.core": 1500}).pcie_bytes_per_cycle * 3 == 32
    assert default_spec().host_seconds(16_000_000_000) == 1.0
    assert default_spec().seconds(750_000_000) == 1.0


def test_another_chip_file(tmp_path: Path) -> None:
    text = resources.files("hw.spec").joinpath("mncore2.toml").read_text(encoding="utf-8")
    path = tmp_path / "next.toml"
    path.write_text(text.replace("value = 750", "value = 1500"))
    assert ChipSpec.load(path=path)["clock.core"] == 1500
    path.write_text(text.replace("[host]", "[hosts]"))
    with pytest.raises(SpecError, match=r"lacks host\.dma_chunk, host\.dma_latency, host\.pcie_bandwidth"):
        ChipSpec.load(path=path)
    with pytest.raises(SpecError, match="chip file"):
        ChipSpec.load(path=tmp_path / "none.toml")


def test_printing(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--set", "mv.latency.dram=100"]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("mv.latency.dram "))
    assert line.split()[:5] == ["mv.latency.dram", "100", "cycle", "override", "time"]
    assert main(["--set", "mv.latency.dran=100"]) == 2
    assert "did you mean mv.latency.dram" in capsys.readouterr().err
    assert main(["--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads(json.dumps(as_dict(default_spec())))
    assert printed["numbers"]["mv.latency.dram"]["rank"] == "estimated"
    assert len(text_table(default_spec()).splitlines()) > len(default_spec().quantities)


def test_roles_and_order() -> None:
    names = default_spec().names()
    assert names[0] == "clock.core"
    assert sorted(name for role in Role for name in default_spec().names(role)) == sorted(names)


def test_the_documentation_shows_these_numbers() -> None:
    """After a change: python -m hw.spec --into docs/cycles.md."""
    page = DOCUMENT.read_text(encoding="utf-8")
    assert markdown_table(default_spec()) in page
    assert replace_table(page, default_spec()) == page
    with pytest.raises(SpecError, match="the page needs the lines"):
        replace_table("no marks", default_spec())


def test_a_quantity_names_itself_in_errors() -> None:
    with pytest.raises(SpecError, match=r"a\.b: every number needs a unit"):
        Quantity.from_entry("a.b", {"value": 1})
