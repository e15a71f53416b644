"""Numbers of a chip as a study writes them: exact names or patterns, values or factors of the base chip's values.

`{"l1bm.rate.*": "x0.5"}` means half of every rate whose name begins with `l1bm.rate.`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fnmatch import fnmatchcase

from hw.spec import ChipSpec, SpecError

Number = int | float
Written = Number | str

_FACTOR = re.compile(r"\s*[x×]\s*(\d+(?:\.\d+)?|\.\d+)\s*")
_WILD = re.compile(r"[*?\[]")


def flatten(tree: Mapping[str, object], prefix: str = "") -> dict[str, object]:
    """Nested tables as dotted names: TOML reads an unquoted `dram.bandwidth = 256` as a table in a table."""
    flat: dict[str, object] = {}
    for key, value in tree.items():
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[f"{prefix}{key}"] = value
    return flat


def names_of(pattern: str, base: ChipSpec) -> list[str]:
    """The numbers that a name or pattern means; SpecError (with the nearest names) when there is none."""
    if not _WILD.search(pattern):
        return [base.quantity(pattern).name]
    found = [name for name in base.names() if fnmatchcase(name, pattern)]
    if not found:
        groups = sorted({name.rsplit(".", 1)[0] + ".*" for name in base.names()})
        raise SpecError(f"no number matches {pattern!r}; groups of numbers are {', '.join(groups)}")
    return found


def expand(written: Mapping[str, Written], base: ChipSpec) -> dict[str, Number]:
    """Exact names with their new values; later entries win where patterns overlap.

    Raises SpecError for a name that the chip does not have and a value that its unit does not allow.
    """
    values: dict[str, Number] = {}
    for pattern, value in written.items():
        for name in names_of(pattern, base):
            values[name] = base.quantity(name).replaced(_resolved(name, value, base)).value
    return values


def _resolved(name: str, value: Written, base: ChipSpec) -> Written:
    factor = _FACTOR.fullmatch(value) if isinstance(value, str) else None
    if factor is None:
        return value
    scaled = base.exact(name) * type(base.exact(name))(factor[1])
    return int(scaled) if scaled.denominator == 1 else float(scaled)


def label(written: Mapping[str, Written]) -> str:
    """A chip's name from what makes it different: `dram.bandwidth x2, mv.latency.dram = 100`."""
    parts = [
        f"{name} {value}" if isinstance(value, str) and _FACTOR.fullmatch(value) else f"{name} = {value}"
        for name, value in written.items()
    ]
    return ", ".join(parts)
