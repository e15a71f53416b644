"""STUDY.toml: which programs run on which chips.

    name = "memory"                          # optional, default: the file's name
    programs = ["eval_step", "kernels/*.vsm", "out/demo/eval_step"]
    chip = "my_chip.toml"                    # optional: another base chip
    baseline = true                          # also simulate the base chip itself (default)

    [[chips]]                                # a list: one chip per entry
    name = "half the L1BM rate"
    set = { "l1bm.rate.*" = "x0.5" }

    [product]                                # every combination of these values
    "dram.bandwidth" = [128, 256]
    "mv.latency.*" = ["x0.5", "x1"]

With both, every entry of the list is combined with every combination of the product.
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hw.spec import ChipSpec, SpecError, default_spec
from runtime.errors import did_you_mean
from runtime.studies.errors import StudyFileError
from runtime.studies.overrides import Number, Written, expand, flatten, label

BASELINE = "MN-Core 2"
_KEYS = ("name", "programs", "chip", "baseline", "chips", "product")


@dataclass(frozen=True)
class Chip:
    """One chip of a study: `overrides` are its numbers that a study sets, by exact name."""

    name: str
    spec: ChipSpec
    overrides: Mapping[str, Number]


@dataclass(frozen=True)
class Study:
    """A study as read.  `chips` begins with the baseline if there is one; `programs` are names, paths and patterns.

    Paths are relative to `folder`.  `varied` are the numbers that differ somewhere, in file order.
    """

    name: str
    programs: tuple[str, ...]
    chips: tuple[Chip, ...]
    baseline: str | None
    folder: Path

    @property
    def varied(self) -> list[str]:
        """Numbers that any chip of the study sets."""
        return list(dict.fromkeys(name for chip in self.chips for name in chip.overrides))


def read_study(path: Path) -> Study:
    """Read a study; StudyFileError names the file and the key that is wrong."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise StudyFileError(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StudyFileError(f"{path}: not valid TOML: {error}") from error
    return _Reader(path, content).study()


class _Reader:
    """Checks one file; every complaint begins with its path."""

    def __init__(self, path: Path, content: Mapping[str, object]) -> None:
        self._path = path
        self._content = content

    def study(self) -> Study:
        self._known(self._content, _KEYS, "")
        base = self._base()
        baseline = self._content.get("baseline", True)
        if not isinstance(baseline, bool):
            raise self._error("baseline", "true or false", baseline)
        chips = self._chips(base)
        if not chips and not baseline:
            raise StudyFileError(f"{self._path}: no chips: give [[chips]], [product] or baseline = true")
        chip_file = self._content.get("chip")
        base_name = Path(str(chip_file)).stem if chip_file else BASELINE
        if baseline:
            chips.insert(0, Chip(base_name, base, {}))
        self._unique([chip.name for chip in chips])
        return Study(
            self._text("name", self._path.stem),
            self._programs(),
            tuple(chips),
            base_name if baseline else None,
            self._path.parent,
        )

    def _base(self) -> ChipSpec:
        chip = self._content.get("chip")
        if chip is None:
            return default_spec()
        if not isinstance(chip, str):
            raise self._error("chip", "the path of a chip file", chip)
        try:
            return ChipSpec.load(path=self._path.parent / chip)
        except SpecError as error:
            raise StudyFileError(f"{self._path}: chip: {error}") from error

    def _programs(self) -> tuple[str, ...]:
        programs = self._content.get("programs")
        if isinstance(programs, str):
            programs = [programs]
        if not isinstance(programs, list) or not programs or not all(isinstance(p, str) and p for p in programs):
            raise self._error("programs", "a list of VSM files, compiled folders or the name eval_step", programs)
        return tuple(programs)

    def _chips(self, base: ChipSpec) -> list[Chip]:
        entries, combinations = self._list(), self._product()
        if entries is None and combinations is None:
            return []
        chips = []
        for (name, written), combination in itertools.product(entries or [("", {})], combinations or [{}]):
            try:
                overrides = expand({**written, **combination}, base)
                spec = base.with_overrides(overrides)
            except SpecError as error:
                raise StudyFileError(f"{self._path}: {error}") from error
            given = label(combination)
            chips.append(Chip(f"{name}: {given}" if name and given else name or given, spec, overrides))
        return chips

    def _list(self) -> list[tuple[str, dict[str, Written]]] | None:
        entries = self._content.get("chips")
        if entries is None:
            return None
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise self._error("chips", "entries of the form [[chips]]", entries)
        result = []
        for number, entry in enumerate(entries, start=1):
            where = f"chips[{number}]"
            self._known(entry, ("name", "set"), f"{where}: ")
            numbers = entry.get("set")
            if not isinstance(numbers, dict) or not numbers:
                raise self._error(f"{where}.set", 'numbers, as in set = { "dram.bandwidth" = 256 }', numbers)
            written = {name: self._value(f"{where}.{name}", value) for name, value in flatten(numbers).items()}
            name = entry.get("name", label(written))
            if not isinstance(name, str) or not name:
                raise self._error(f"{where}.name", "a text", name)
            result.append((name, written))
        return result

    def _product(self) -> list[dict[str, Written]] | None:
        product = self._content.get("product")
        if product is None:
            return None
        if not isinstance(product, dict) or not product:
            raise self._error("product", 'numbers with lists of values, as in "dram.bandwidth" = [128, 256]', product)
        axes = flatten(product)
        values = [self._axis(name, axis) for name, axis in axes.items()]
        return [dict(zip(axes, combination, strict=True)) for combination in itertools.product(*values)]

    def _axis(self, name: str, axis: object) -> Sequence[Written]:
        values = axis if isinstance(axis, list) else [axis]
        if not values:
            raise self._error(f"product.{name}", "at least one value", axis)
        return [self._value(f"product.{name}", value) for value in values]

    def _value(self, where: str, value: object) -> Written:
        if isinstance(value, (int, float, str)):
            return value
        raise self._error(where, 'a number or a factor such as "x2"', value)

    def _text(self, key: str, default: str) -> str:
        value = self._content.get(key, default)
        if not isinstance(value, str) or not value:
            raise self._error(key, "a text", value)
        return value

    def _known(self, table: Mapping[str, object], keys: Sequence[str], where: str) -> None:
        for key in table:
            if key not in keys:
                hint = did_you_mean(key, keys)
                raise StudyFileError(f"{self._path}: {where}unknown key {key!r}{hint}; known are {', '.join(keys)}")

    def _unique(self, names: Sequence[str]) -> None:
        for index, name in enumerate(names):
            if name in names[:index]:
                raise StudyFileError(f"{self._path}: two chips are called {name!r}; give each entry its own name")

    def _error(self, key: str, expected: str, got: object) -> StudyFileError:
        return StudyFileError(f"{self._path}: {key}: expected {expected}, got {got!r}")
