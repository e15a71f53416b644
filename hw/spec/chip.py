"""`ChipSpec`: the frozen description of a chip that every room reads its numbers from."""

from __future__ import annotations

import difflib
import hashlib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from importlib import resources
from pathlib import Path

from hw.spec.errors import SpecError
from hw.spec.quantity import Number, Quantity, Role

BYTES_PER_LW = 8


@dataclass(frozen=True, eq=False)
class ChipSpec:
    """All numbers of one chip by dotted name; `spec["mv.latency.dram"]` is the value in its unit.

    Two specs are equal when all their values are (`digest`); provenance does not count.
    """

    quantities: tuple[Quantity, ...] = field(repr=False)
    _index: dict[str, Quantity] = field(init=False, repr=False)
    digest: str = field(init=False)

    def __post_init__(self) -> None:
        index = {quantity.name: quantity for quantity in self.quantities}
        _check_relations(index)
        text = "\n".join(f"{name}={index[name].value!r}" for name in sorted(index))
        object.__setattr__(self, "_index", index)
        object.__setattr__(self, "digest", hashlib.blake2b(text.encode(), digest_size=16).hexdigest())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ChipSpec) and other.digest == self.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @classmethod
    def load(cls, overrides: Mapping[str, Number | str] | None = None, *, path: Path | None = None) -> ChipSpec:
        """MN-Core 2 (or the chip file at `path`) with some numbers replaced.

        `overrides` maps dotted names to numbers or their text; SpecError for an unknown name (with the nearest ones)
        or a value that its unit does not allow.
        """
        if path is None:
            text = resources.files("hw.spec").joinpath("mncore2.toml").read_text(encoding="utf-8")
        else:
            try:
                text = path.read_text(encoding="utf-8")
            except OSError as error:
                raise SpecError(f"chip file {path}: {error.strerror}") from error
        try:
            tree = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise SpecError(f"chip file {path or 'mncore2.toml'}: {error}") from error
        spec = cls(tuple(_walk("", tree)))
        if path is not None:
            spec._require_all_of(default_spec())
        return spec.with_overrides(overrides or {})

    def with_overrides(self, overrides: Mapping[str, Number | str]) -> ChipSpec:
        """A copy with the named numbers replaced (see `load`)."""
        changed = {name: self.quantity(name).replaced(value) for name, value in overrides.items()}
        return ChipSpec(tuple(changed.get(q.name, q) for q in self.quantities)) if changed else self

    def _require_all_of(self, other: ChipSpec) -> None:
        missing = sorted(set(other._index) - set(self._index))
        extra = sorted(set(self._index) - set(other._index))
        if missing:
            raise SpecError(f"the chip file lacks {', '.join(missing)}")
        if extra:
            raise SpecError(f"the chip file has an unknown number {extra[0]}{self._hint(extra[0], other._index)}")

    def quantity(self, name: str) -> Quantity:
        """The number `name` with its provenance; SpecError with the nearest names when there is none."""
        found = self._index.get(name)
        if found is None:
            raise SpecError(f"no number is called {name!r}{self._hint(name, self._index)}")
        return found

    @staticmethod
    def _hint(name: str, known: Iterable[str]) -> str:
        names = list(known)
        close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        close += [other for other in names if other.endswith(f".{name}") and other not in close]
        return f"; did you mean {' or '.join(close[:3])}?" if close else ""

    def __getitem__(self, name: str) -> Number:
        return self.quantity(name).value

    def integer(self, name: str) -> int:
        """A number whose unit is whole (count, LW, cycle, flag) as int."""
        return int(self.quantity(name).value)

    def exact(self, name: str) -> Fraction:
        """A number as the exact decimal that was written, for rate arithmetic without rounding."""
        return Fraction(str(self.quantity(name).value))

    def names(self, role: Role | None = None) -> list[str]:
        """Dotted names in file order, of one role if given."""
        return [q.name for q in self.quantities if role is None or q.role is role]

    @property
    def clock_hz(self) -> float:
        """Core clock in Hz."""
        return float(self["clock.core"]) * 1e6

    @cached_property
    def dram_lw_per_cycle(self) -> Fraction:
        """DRAM bandwidth of one group in long words per core cycle (128 GB/s at 750 MHz: 64/3)."""
        return self._per_cycle("dram.bandwidth") / BYTES_PER_LW

    @cached_property
    def pcie_bytes_per_cycle(self) -> Fraction:
        """Bytes that pass the host link in one direction per core cycle (16 GB/s at 750 MHz: 64/3)."""
        return self._per_cycle("host.pcie_bandwidth")

    def _per_cycle(self, bandwidth: str) -> Fraction:
        """A number in GB/s as bytes per core cycle."""
        return self.exact(bandwidth) * 1000 / self.exact("clock.core")

    @property
    def mabs(self) -> int:
        """MABs of the board."""
        topology = ("groups", "l2b_per_group", "l1b_per_l2b", "mab_per_l1b")
        count = 1
        for name in topology:
            count *= self.integer(f"topology.{name}")
        return count

    def peak_flops(self, precision: str = "half", mode: str = "matrix") -> float:
        """Board peak in FLOP/s; `precision` double, single, pseudo or half, `mode` matrix or vector (one FMA = 2)."""
        return float(self[f"fma.{mode}.{precision}"]) * 2 * self.mabs * self.clock_hz

    def seconds(self, cycles: int) -> float:
        """Core cycles as seconds."""
        return cycles / self.clock_hz

    def host_seconds(self, nbytes: int) -> float:
        """Estimated time of a transfer between host and board (bandwidth only)."""
        return nbytes / (float(self["host.pcie_bandwidth"]) * 1e9)


def _check_relations(index: Mapping[str, Quantity]) -> None:
    """Numbers that must fit each other."""
    interval, length = index.get("dram.refresh_interval"), index.get("dram.refresh_cycles")
    if interval is not None and length is not None and interval.value <= length.value:
        raise SpecError(
            f"{interval.name} = {interval.value}: expected more than {length.name} = {length.value}, "
            "otherwise DRAM never moves data"
        )


def _walk(prefix: str, tree: Mapping[str, object]) -> Iterator[Quantity]:
    for key, entry in tree.items():
        name = f"{prefix}{key}"
        if not isinstance(entry, Mapping):
            raise SpecError(f"{name}: a bare number; write {{ value = …, unit = …, rank = …, role = …, source = … }}")
        if "value" in entry:
            yield Quantity.from_entry(name, entry)
        else:
            yield from _walk(f"{name}.", entry)


def parse_assignments(texts: Iterable[str]) -> dict[str, str]:
    """`["mv.latency.dram=100", …]` (as given to `--set`) as overrides; SpecError for text without `=`."""
    overrides: dict[str, str] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip() or not value.strip():
            raise SpecError(f"{text!r}: expected name=value, for example mv.latency.dram=100")
        overrides[name.strip()] = value.strip()
    return overrides


@lru_cache(maxsize=1)
def default_spec() -> ChipSpec:
    """MN-Core 2 as the package describes it."""
    return ChipSpec.load()
