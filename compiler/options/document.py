"""Writes docs/options.md from the records: `python -m compiler.options.document > docs/options.md`."""

from __future__ import annotations

import json
from collections.abc import Iterable
from importlib import resources
from typing import Any

from compiler.options.commandline import COMMAND_LINE
from compiler.options.environment import ENVIRONMENT
from compiler.options.files import PRESETS
from compiler.options.record import OptionRecord

_HEAD = """\
# Compile options

This page is generated from the records in `compiler/options`: `python -m compiler.options.document > docs/options.md`.

`Context.compile(..., options={...})` takes the options of the first table as keys, and `envs`, a mapping of variables
of the second table for this compilation. `option_json` names a file

```json
{"envs": {"<VARIABLE>": <value>}, "args": ["--<option>=<value>"], "name": "<optional>"}
```

**Which value counts.** An option given directly beats the file's `args`; among `args` the last one counts;
`option_json` inside a file is ignored. A process environment variable beats `options["envs"]`, which beats the
file's `envs`. The `option.json` that a compilation leaves in its folder reproduces it when given as `option_json`.

*Effect here* names the part of this project that obeys an option. "accepted, no counterpart" means that existing
scripts run, that a notice says so once, and that `report.json` lists the option when it is set.
"""


def document() -> str:
    """The page as Markdown."""
    parts = [
        _HEAD,
        "\n## Options\n\n",
        _table("option", COMMAND_LINE),
        "\n## Environment variables\n\n",
        _table("variable", ENVIRONMENT),
        "\n## Presets\n\n",
        "The name of a preset can stand for a path: `option_json=O2`, or `.../preset_options/O2.json` where that\n",
        "file does not exist.\n\n",
        _presets(),
    ]
    return "".join(parts)


def _table(title: str, records: Iterable[OptionRecord]) -> str:
    lines = [f"| {title} | values | default | meaning | effect here | source |", "|---|---|---|---|---|---|"]
    lines += [
        f"| `{r.name}` | {r.kind.expected} | {_default(r)} | {r.meaning} | {_effect(r)} | {r.source} |" for r in records
    ]
    return "\n".join(lines) + "\n"


def _effect(record: OptionRecord) -> str:
    if record.used_in is None:
        return f"accepted, no counterpart: {record.note}"
    return f"`{record.used_in}`" + (f": {record.note}" if record.note else "")


def _default(record: OptionRecord) -> str:
    if record.default is None:
        return "not set"
    if isinstance(record.default, bool):
        return "on" if record.default else "off"
    return f"`{record.kind.text(record.default)}`"


def _presets() -> str:
    lines = ["| preset | args | envs |", "|---|---|---|"]
    for name in PRESETS:
        text = resources.files("compiler.options").joinpath("presets", f"{name}.json").read_text(encoding="utf-8")
        content: dict[str, Any] = json.loads(text)
        args = " ".join(f"`{arg}`" for arg in content["args"])
        envs = " ".join(f"`{key}={value}`" for key, value in content["envs"].items())
        lines.append(f"| `{name}` | {args} | {envs or '-'} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(document(), end="")
