"""Compile options: records of every option and environment variable, presets, resolution (seed 4.2, compiler.md 9)."""

from compiler.options.commandline import COMMAND_LINE
from compiler.options.environment import ENVIRONMENT
from compiler.options.errors import OptionError
from compiler.options.files import PRESETS, find_option_file
from compiler.options.record import OptionRecord
from compiler.options.resolve import RECORDS, Options, Setting

__all__ = [
    "COMMAND_LINE",
    "ENVIRONMENT",
    "PRESETS",
    "RECORDS",
    "OptionError",
    "OptionRecord",
    "Options",
    "Setting",
    "find_option_file",
]
