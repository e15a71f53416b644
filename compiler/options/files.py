"""Reading `option_json` files and the presets that come with the package (seed 4.2.1, 4.2.2.1)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiler.options.errors import OptionError
from compiler.options.spelling import nearest

PRESETS = ("O0", "O1", "O2", "O3", "O4", "debug")
_PRESET_FOLDER = Path(__file__).with_name("presets")
_KEYS = ("envs", "args", "name")


@dataclass(frozen=True)
class OptionFile:
    """Contents of an option file: variables and `(name, value)` of the arguments, in the order of the file."""

    path: str
    envs: Mapping[str, Any]
    args: tuple[tuple[str, str], ...]
    name: str | None


def find_option_file(path: str) -> Path:
    """The file to read for `option_json=path`.

    A path that exists is taken as it is.  The name of a preset (`O1`, `O1.json`), also at the end of a path through a
    folder `preset_options` as scripts for the vendor's installation have it, means the preset of this package.
    Raises OptionError otherwise.
    """
    given = Path(path)
    if given.exists():
        return given
    stem = given.name.removesuffix(".json")
    is_preset_path = given.parent == Path(".") or given.parent.name == "preset_options"
    if is_preset_path and stem in PRESETS:
        return _PRESET_FOLDER / f"{stem}.json"
    hint = nearest(stem, PRESETS) if is_preset_path else ""
    raise OptionError(
        "option_json",
        f"option_json: there is no file '{path}'{hint}; expected a JSON file or a preset: {', '.join(PRESETS)}",
    )


def read_option_file(path: str) -> OptionFile:
    """Read and check a file.  Raises OptionError that names the file and, for bad JSON, line and column."""
    file = find_option_file(path)
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise OptionError("option_json", f"{file}:{error.lineno}:{error.colno}: not valid JSON: {error.msg}") from error
    except UnicodeDecodeError as error:
        raise OptionError("option_json", f"{file}: not UTF-8 text: byte {error.start}: {error.reason}") from error
    except OSError as error:
        raise OptionError("option_json", f"{file}: cannot be read: {error.strerror}") from error
    if not isinstance(content, dict):
        raise OptionError("option_json", f"{file}: expected an object with {', '.join(_KEYS)}, got {_kind(content)}")
    for key in content:
        if key not in _KEYS:
            raise OptionError(
                "option_json", f"{file}: unknown key '{key}'{nearest(key, _KEYS)}; expected {', '.join(_KEYS)}"
            )
    envs, args, name = content.get("envs", {}), content.get("args", []), content.get("name")
    if not isinstance(envs, dict):
        raise OptionError("option_json", f"{file}: 'envs' must be an object of variables, got {_kind(envs)}")
    if not isinstance(args, list):
        raise OptionError("option_json", f"{file}: 'args' must be a list of strings, got {_kind(args)}")
    if name is not None and not isinstance(name, str):
        raise OptionError("option_json", f"{file}: 'name' must be a string, got {_kind(name)}")
    return OptionFile(str(file), envs, tuple(_argument(arg, i, file) for i, arg in enumerate(args)), name)


def _argument(argument: Any, index: int, file: Path) -> tuple[str, str]:
    if isinstance(argument, str) and argument.startswith("--"):
        name, sign, value = argument[2:].partition("=")
        if sign and name:
            return name, value
    raise OptionError(
        "option_json", f"{file}: args[{index}] must be a string '--<option>=<value>', got {json.dumps(argument)}"
    )


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")
