"""The verbs of `gpfn3-smi`.

Exit codes: 0 done; 1 the device is unknown or held by a process, or its files cannot be used; 2 wrong command line.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runtime.boards import BoardEntry, board_index, boards, clear_board, reset_board
from runtime.errors import MLSDKError, did_you_mean
from runtime.settings import Settings
from runtime.smi.flags import FlagError, Parsed, parse, whole_number

if TYPE_CHECKING:
    from hw.state.fill import Fill

OK, FAILED, USAGE = 0, 1, 2
_HELP = ("help", "h")
_MOST_SEED = 2**63 - 1

_MAIN = """\
Lists, resets and clears MN-Core 2 boards (simulated ones).

Usage: gpfn3-smi <command> [options...]

Commands:
  list            Lists the boards
  reset <device>  Resets a board
  clear <device>  Clears all memory on a board

A device is given by its index or its name. `gpfn3-smi <command> --help` tells more.
"""
_LIST = """\
Lists the boards, one per line: <index>: <name>

Usage: gpfn3-smi list [options...]

Options:
  -json
         Prints index, name, holder (process id), memory contents and chip description as JSON
"""
_RESET = """\
Resets a board: when it is opened next, its memories are as after power-on.
A board that a process holds is left alone.

Usage: gpfn3-smi reset [options...] <device>

Examples:
    gpfn3-smi reset 0
"""
_CLEAR = """\
Clears all memory on the device. Mask registers are set to all ones regardless of the options.
A board that a process holds is left alone.

Usage: gpfn3-smi clear [options...] <device>

Options:
  -pattern uint
         Fills the memory with the specified uint64 value instead of random bytes
  -seed int
         Seed value for random byte generation
  -zero
         Fills the memory with zeros instead of random bytes

Examples:
    gpfn3-smi clear --seed 1234 0
    gpfn3-smi clear --zero 0
    gpfn3-smi clear --pattern 0x5555555555555555 0
"""


@dataclass(frozen=True, slots=True)
class _Verb:
    usage: str
    flags: Mapping[str, bool]
    run: Callable[[Parsed, Settings], None]


def _list(parsed: Parsed, settings: Settings) -> None:
    if parsed.words:
        raise FlagError(f"`list` takes no device, got {' '.join(parsed.words)}")
    entries = boards(settings)
    if "json" in parsed.options:
        print(json.dumps([_plain(entry) for entry in entries], indent=2))
    else:
        for entry in entries:
            print(f"{entry.index}: {entry.name}")


def _plain(entry: BoardEntry) -> dict[str, object]:
    from hw.spec import default_spec

    fill = None if entry.fill is None else {"pattern": entry.fill.pattern, "seed": entry.fill.seed}
    chip = default_spec().digest
    return {"index": entry.index, "name": entry.name, "holder": entry.holder, "fill": fill, "chip_spec": chip}


def _reset(parsed: Parsed, settings: Settings) -> None:
    index = _device(parsed, settings)
    reset_board(settings, index)
    print(f"{index}: {settings.board_names[index]}: reset")


def _clear(parsed: Parsed, settings: Settings) -> None:
    fill = _fill(parsed.options)
    index = _device(parsed, settings)
    clear_board(settings, index, fill)
    print(f"{index}: {settings.board_names[index]}: memories hold {fill}, masks all ones")


def _fill(options: Mapping[str, str]) -> Fill:
    """Random bytes of a fresh seed, unless an option says otherwise."""
    from hw.state.fill import Fill

    if len(options) > 1:
        raise FlagError(f"{' and '.join(f'-{name}' for name in options)} exclude each other")
    if "pattern" in options:
        return Fill(pattern=whole_number("pattern", options["pattern"], 2**64 - 1))
    if "zero" in options:
        return Fill(pattern=0)
    if "seed" in options:
        return Fill(seed=whole_number("seed", options["seed"], _MOST_SEED))
    return Fill(seed=secrets.randbits(32))


def _device(parsed: Parsed, settings: Settings) -> int:
    if len(parsed.words) != 1:
        given = f"got {' '.join(parsed.words)}" if parsed.words else "none is given"
        raise FlagError(f"expected one device, by index or name; {given}")
    return board_index(settings, parsed.words[0])


_VERBS = {
    "list": _Verb(_LIST, {"json": False}, _list),
    "reset": _Verb(_RESET, {}, _reset),
    "clear": _Verb(_CLEAR, {"pattern": True, "seed": True, "zero": False}, _clear),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0].lstrip("-") in _HELP:
        (sys.stdout if arguments else sys.stderr).write(_MAIN)
        return OK if arguments else USAGE
    word, *rest = arguments
    if word not in _VERBS:
        return _say(f"unknown command {word!r}{did_you_mean(word, _VERBS)} (commands are {', '.join(_VERBS)})", USAGE)
    verb = _VERBS[word]
    if any(argument.startswith("-") and argument.lstrip("-") in _HELP for argument in rest):
        sys.stdout.write(verb.usage)
        return OK
    try:
        verb.run(parse(rest, verb.flags), Settings.load())
    except FlagError as error:
        return _say(f"{error}; see gpfn3-smi {word} --help", USAGE)
    except MLSDKError as error:
        return _say(str(error), FAILED)
    except BrokenPipeError:
        # The reader has seen enough (`| head`); nothing may be written at exit either.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        return _say(f"{error.filename}: {error.strerror}", FAILED)
    return OK


def _say(text: str, code: int) -> int:
    print(f"gpfn3-smi: {text}", file=sys.stderr)
    return code
