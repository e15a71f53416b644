"""`Options`: the options of one compilation, resolved by the precedence of seed 4.2 and 4.2.2.1.

Options: `options` beats the `args` of the file named by `option_json`, later args beat earlier ones.
Variables: the process environment beats `options["envs"]`, which beats the `envs` of the file.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compiler.options.commandline import COMMAND_LINE, ENVS, OPTION_JSON
from compiler.options.environment import ENVIRONMENT
from compiler.options.errors import OptionError
from compiler.options.files import PRESETS, OptionFile, find_option_file, read_option_file
from compiler.options.record import OptionRecord
from compiler.options.spelling import nearest

OPTION_RECORDS: dict[str, OptionRecord] = {record.name: record for record in COMMAND_LINE}
VARIABLE_RECORDS: dict[str, OptionRecord] = {record.name: record for record in ENVIRONMENT}
RECORDS: dict[str, OptionRecord] = OPTION_RECORDS | VARIABLE_RECORDS

# A variable with such a name that has no record is taken for a misspelling; others are none of our business.
_OUR_PREFIXES = ("CODEGEN_", "PFVM_", "MNCORE_")


@dataclass(frozen=True)
class Setting:
    """A value that was given, and by whom: `options`, `environment`, `options["envs"]` or the path of the file."""

    value: Any
    origin: str


@dataclass(frozen=True)
class Options:
    """All options and variables of one compilation.

    `options[name]` is the value of an option or variable, its default if it was not given.  `settings` holds what was
    given.  `foreign` are variables of files and `options["envs"]` that belong to other software.
    """

    settings: Mapping[str, Setting]
    foreign: Mapping[str, str]
    name: str | None = None

    @classmethod
    def resolve(cls, options: Mapping[str, Any], environ: Mapping[str, str]) -> Options:
        """Check and merge `options`, the file that they name and the environment.

        Raises OptionError for unknown names (with the nearest one), values that are not allowed and bad files.
        """
        for name in options:
            if name != ENVS and name not in OPTION_RECORDS:
                raise _unknown_option(name, "")
        path = options.get(OPTION_JSON)
        if path is None:
            file = None
        else:
            file = read_option_file(_parse(OPTION_RECORDS[OPTION_JSON], path, ""))
        settings: dict[str, Setting] = {}
        if file is not None:
            _take_arguments(file, settings)
        for name, value in options.items():
            if name not in (ENVS, OPTION_JSON) and value is not None:
                settings[name] = Setting(_parse(OPTION_RECORDS[name], value, ""), "options")
        foreign: dict[str, str] = {}
        if file is not None:
            _take_variables(file.envs, file.path, settings, foreign)
        given = options.get(ENVS)
        if given is not None:
            if not isinstance(given, Mapping):
                raise OptionError(ENVS, f"envs: expected a mapping of variables to values, got {type(given).__name__}")
            _take_variables(given, 'options["envs"]', settings, foreign)
        for name, record in VARIABLE_RECORDS.items():
            # An empty variable is as good as none.
            if environ.get(name):
                settings[name] = Setting(_parse(record, environ[name], "environment: "), "environment")
        return cls(settings, foreign, file.name if file is not None else None)

    def __getitem__(self, name: str) -> Any:
        """The value of an option or variable.  Raises OptionError for an unknown name."""
        if name in self.settings:
            return self.settings[name].value
        record = RECORDS.get(name)
        if record is None:
            raise OptionError(name, f"there is no option '{name}'{nearest(name, RECORDS)}")
        return record.default

    def origin(self, name: str) -> str:
        """Who gave the value: `default`, `options`, `environment`, `options["envs"]` or the path of the option file."""
        return self.settings[name].origin if name in self.settings else "default"

    def without_effect(self) -> list[str]:
        """Names that were given a value although nothing in this project obeys them, for report.json."""
        return sorted(name for name in self.settings if RECORDS[name].used_in is None)

    def notices(self) -> list[str]:
        """A sentence about each of them, leaving out what a preset of this package sets."""
        presets = {str(find_option_file(name)) for name in PRESETS}
        given = [name for name in self.without_effect() if self.origin(name) not in presets]
        return [f"{name} is accepted but has no counterpart here: {RECORDS[name].note}" for name in given]

    def to_option_json(self) -> dict[str, Any]:
        """An `option_json` file as data; `resolve` makes the same values of it where the environment sets none."""
        envs = {
            name: VARIABLE_RECORDS[name].kind.text(setting.value)
            for name, setting in sorted(self.settings.items())
            if name in VARIABLE_RECORDS
        }
        args = [
            f"--{name}={record.kind.text(self[name])}"
            for name, record in OPTION_RECORDS.items()
            if name != OPTION_JSON and self[name] is not None
        ]
        content: dict[str, Any] = {"envs": {**dict(sorted(self.foreign.items())), **envs}, "args": args}
        if self.name is not None:
            content["name"] = self.name
        return content

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write `to_option_json` to a file, complete or not at all."""
        target = Path(path)
        with tempfile.NamedTemporaryFile(
            "w", dir=target.parent, prefix=target.name, suffix=".tmp", delete=False, encoding="utf-8"
        ) as file:
            try:
                json.dump(self.to_option_json(), file, indent=4)
                file.write("\n")
            except BaseException:
                os.unlink(file.name)
                raise
        os.replace(file.name, target)


def _take_arguments(file: OptionFile, settings: dict[str, Setting]) -> None:
    for name, text in file.args:
        if name == OPTION_JSON:
            continue  # files do not nest (seed 4.2.2.1)
        if name not in OPTION_RECORDS:
            raise _unknown_option(name, f"{file.path}: ")
        settings[name] = Setting(_parse(OPTION_RECORDS[name], text, f"{file.path}: "), file.path)


def _take_variables(
    envs: Mapping[str, Any], origin: str, settings: dict[str, Setting], foreign: dict[str, str]
) -> None:
    for name, value in envs.items():
        text = _variable_text(name, value, origin)
        record = VARIABLE_RECORDS.get(name)
        if record is not None:
            if text:
                settings[name] = Setting(_parse(record, text, f"{origin}: "), origin)
        elif name.startswith(_OUR_PREFIXES):
            raise OptionError(
                name,
                f"{origin}: there is no variable '{name}'{nearest(name, VARIABLE_RECORDS)}, see docs/options.md",
            )
        else:
            foreign[name] = text


def _variable_text(name: str, value: Any, origin: str) -> str:
    if value is True:
        return "1"
    if isinstance(value, (str, int, float)) and value is not False:
        return str(value)
    raise OptionError(
        name, f"{origin}: variable '{name}' must be a text or a number, got {value!r}; leave it out to switch it off"
    )


def _parse(record: OptionRecord, value: Any, where: str) -> Any:
    try:
        return record.kind.parse(value)
    except ValueError as error:
        hint = str(error) if str(error).startswith(" (did") else ""
        raise OptionError(
            record.name, f"{where}{record.name} must be {record.kind.expected}, got {value!r}{hint}"
        ) from None


def _unknown_option(name: object, where: str) -> OptionError:
    known = [*OPTION_RECORDS, ENVS]
    if isinstance(name, str) and name in VARIABLE_RECORDS:
        return OptionError(name, f'{where}{name} is an environment variable; give it as options["envs"]["{name}"]')
    return OptionError(
        str(name), f"{where}there is no option '{name}'{nearest(str(name), known)}; known are {', '.join(known)}"
    )
