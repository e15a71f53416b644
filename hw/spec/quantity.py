"""One number of the chip description with its provenance, and the rules its unit puts on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from hw.spec.errors import SpecError

Number = int | float


class Rank(StrEnum):
    """How sure a number is.  OVERRIDE marks a number that the user set for this run."""

    MANUAL = "manual"
    DERIVED = "derived"
    ESTIMATED = "estimated"
    OVERRIDE = "override"


class Role(StrEnum):
    """What a number changes: simulated cycles, sizes, the arithmetic peak, host transfers, or nothing."""

    TIME = "time"
    SIZE = "size"
    PEAK = "peak"
    HOST = "host"
    REFERENCE = "reference"


@dataclass(frozen=True, slots=True)
class UnitRule:
    """Type and least value of the numbers of one unit; `flag` numbers are 0 or 1."""

    whole: bool
    least: Number
    exclusive: bool = False
    flag: bool = False

    def problem(self, value: Number) -> str | None:
        """What is wrong with `value`, or None."""
        if self.flag:
            return None if value in (0, 1) else "expected true or false"
        if self.whole and not float(value).is_integer():
            return "expected a whole number"
        if value < self.least or (self.exclusive and value == self.least) or value != value or value == float("inf"):
            return f"expected a finite number {'>' if self.exclusive else '>='} {self.least}"
        return None


UNITS: dict[str, UnitRule] = {
    "count": UnitRule(whole=True, least=1),
    "LW": UnitRule(whole=True, least=1),
    "cycle": UnitRule(whole=True, least=0),
    "cycle/step": UnitRule(whole=True, least=1),
    "LW/turn": UnitRule(whole=True, least=0),
    "byte": UnitRule(whole=True, least=8),
    "LW/cycle": UnitRule(whole=False, least=0, exclusive=True),
    "FMA/cycle": UnitRule(whole=False, least=0, exclusive=True),
    "GB/s": UnitRule(whole=False, least=0, exclusive=True),
    "MHz": UnitRule(whole=False, least=0, exclusive=True),
    "factor": UnitRule(whole=False, least=1),
    "flag": UnitRule(whole=True, least=0, flag=True),
}

_FLAG_WORDS = {"true": 1, "yes": 1, "on": 1, "false": 0, "no": 0, "off": 0}


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with dotted `name`, `value`, `unit`, `rank`, `role`, `source`; for estimates `error`, the sign of it."""

    name: str
    value: Number
    unit: str
    rank: Rank
    role: Role
    source: str
    error: str = ""

    @classmethod
    def from_entry(cls, name: str, entry: Mapping[str, object]) -> Quantity:
        """Build from one TOML entry; SpecError when a field is missing, unknown or not allowed."""
        unknown = sorted(set(entry) - {"value", "unit", "rank", "role", "source", "error"})
        if unknown:
            raise SpecError(f"{name}: unknown field {unknown[0]!r}")
        texts: dict[str, str] = {}
        for key in ("unit", "rank", "role", "source"):
            text = entry.get(key)
            if not isinstance(text, str) or not text.strip():
                raise SpecError(f"{name}: every number needs a {key}")
            texts[key] = text
        error = entry.get("error", "")
        if not isinstance(error, str):
            raise SpecError(f"{name}: error must be text")
        if texts["rank"] not in (Rank.MANUAL, Rank.DERIVED, Rank.ESTIMATED):
            raise SpecError(f"{name}: rank {texts['rank']!r}: expected manual, derived or estimated")
        if texts["role"] not in tuple(Role):
            raise SpecError(f"{name}: role {texts['role']!r}: expected one of {', '.join(Role)}")
        rank = Rank(texts["rank"])
        if (rank is Rank.ESTIMATED) != bool(error.strip()):
            raise SpecError(f"{name}: an estimated number, and only such a one, needs the sign of its likely error")
        value = parse_value(name, texts["unit"], entry.get("value"))
        return cls(name, value, texts["unit"], rank, Role(texts["role"]), texts["source"], error)

    def replaced(self, value: object) -> Quantity:
        """The same number set by the user to `value` (a number, a bool or text)."""
        number = parse_value(self.name, self.unit, value)
        source = f"set for this run; default {self.value:g} ({self.rank})"
        return Quantity(self.name, number, self.unit, Rank.OVERRIDE, self.role, source, self.error)


def parse_value(name: str, unit: str, value: object) -> Number:
    """`value` as a number that fits `unit`; SpecError with the name and what was expected otherwise."""
    rule = UNITS.get(unit)
    if rule is None:
        raise SpecError(f"{name}: unknown unit {unit!r}: expected one of {', '.join(UNITS)}")
    number: Number
    if isinstance(value, str):
        text = value.strip().lower().replace("_", "")
        if rule.flag and text in _FLAG_WORDS:
            number = _FLAG_WORDS[text]
        else:
            try:
                number = float(text)
            except ValueError:
                raise SpecError(f"{name}: {value!r} is not a number ({unit})") from None
    elif isinstance(value, bool) and not rule.flag:
        raise SpecError(f"{name}: {value!r}: expected a number ({unit})")
    elif isinstance(value, int | float):
        number = value
    else:
        raise SpecError(f"{name}: {value!r} is not a number ({unit})")
    problem = rule.problem(number)
    if problem is not None:
        raise SpecError(f"{name}: {value!r}: {problem} ({unit})")
    return int(number) if float(number).is_integer() else float(number)
