"""The terminal front end of the debugger: a command loop with help, history and completion; errors are one line."""

from __future__ import annotations

import cmd
import contextlib
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TextIO

from hw.engine import EngineError
from hw.model import ModelError
from hw.sanitizer.runtime import SanitizerError
from hw.state.errors import StateError
from isa.debugger.breakpoints import LineBreak
from isa.debugger.debugger import Debugger, Stop
from isa.debugger.errors import DebuggerError
from isa.errors import IsaError, nearest

USER_ERRORS = (IsaError, EngineError, ModelError, SanitizerError, StateError)
"""What a command may raise; anything else is a defect and shown as such, without a traceback."""

_ROWS_SHOWN = 64
_CONTEXT = 5
_SHORT = {
    "s": "step",
    "c": "continue",
    "p": "print",
    "b": "break",
    "l": "list",
    "w": "what",
    "q": "quit",
    "h": "history",
}


class Shell(cmd.Cmd):
    """The loop.  An empty line repeats the last command."""

    prompt = "(vsm) "
    intro = ""

    def __init__(self, debugger: Debugger, stdin: TextIO | None = None, stdout: TextIO | None = None) -> None:
        super().__init__(stdin=stdin, stdout=stdout)
        self.use_rawinput = stdin is None
        self._debugger = debugger

    # --- the loop -----------------------------------------------------------------------------------------------

    def onecmd(self, line: str) -> bool:
        """Run one command; whatever goes wrong becomes one message."""
        word, space, rest = line.strip().partition(" ")
        if word == "EOF":
            self._say("")
            return True
        try:
            return bool(super().onecmd(_SHORT.get(word, word) + space + rest))
        except USER_ERRORS as error:
            self._say(f"error: {error}")
        except KeyboardInterrupt:
            self._say("interrupted")
        except Exception as error:  # a defect of the debugger must not take the session with it
            self._say(f"internal error, please report it: {type(error).__name__}: {error}")
        return False

    def default(self, line: str) -> None:
        """An unknown command."""
        word = line.partition(" ")[0]
        close = nearest(word, self.get_verbs())
        self._say(f"error: no command `{word}`" + (f"; did you mean `{close}`?" if close else "; try `help`"))

    def get_verbs(self) -> list[str]:
        """All commands."""
        return [name.removeprefix("do_") for name in self.get_names() if name.startswith("do_")]

    def do_help(self, arg: str) -> None:
        """help [COMMAND]: all commands, or one of them."""
        word = _SHORT.get(arg.strip(), arg.strip())
        docs = {verb: (getattr(self, f"do_{verb}").__doc__ or "").strip() for verb in sorted(self.get_verbs())}
        if word:
            self._say(docs.get(word) or f"error: no command `{word}`; try `help`")
            return
        self._lines(docs.values())
        short = ", ".join(f"{short} = {verb}" for short, verb in _SHORT.items())
        self._say(f"Short forms: {short}.  An empty line repeats the last command.")

    def do_quit(self, arg: str) -> bool:
        """quit: leave the debugger."""
        return True

    # --- running ------------------------------------------------------------------------------------------------

    def do_step(self, arg: str) -> None:
        """step [N]: run the next N statements (1)."""
        self._stopped(self._debugger.step(self._number(arg, 1)))

    def do_run(self, arg: str) -> None:
        """run LINE: run until this source line is next."""
        self._stopped(self._debugger.run_to(self._number(arg)))

    def do_continue(self, arg: str) -> None:
        """continue: run to the next breakpoint, error or the end."""
        self._stopped(self._debugger.continue_())

    def do_restart(self, arg: str) -> None:
        """restart: back to the beginning with a fresh board; breakpoints stay."""
        self._debugger.restart()
        self._where()

    # --- breakpoints --------------------------------------------------------------------------------------------

    def do_break(self, arg: str) -> None:
        """break LINE | $PLACE [ROWS]: stop before a line, or behind every write to a place; alone: list them."""
        words = arg.split()
        if not words:
            self._lines(map(str, self._debugger.breakpoints))
            return
        if words[0].startswith("$"):
            number = self._debugger.break_on_write(words[0], self._number(" ".join(words[1:]), 1))
        else:
            number = self._debugger.break_at(self._number(arg))
        self._say(str(next(b for b in self._debugger.breakpoints if b.number == number)))

    def do_delete(self, arg: str) -> None:
        """delete NUMBER: remove a breakpoint."""
        self._debugger.delete(self._number(arg))

    # --- looking ------------------------------------------------------------------------------------------------

    def do_print(self, arg: str) -> None:
        """print $PLACE [FORMAT] [ROWS]: memory as $lm0n0c0b0m0-3p0 in a format: d f h bd bf bg bh l i s ul ui us."""
        place, dtype, count = "", "", "1"
        for word in arg.split():
            if word.startswith("$"):
                place = word
            elif word.isdecimal():
                count = word
            else:
                dtype = word
        if not place:
            raise DebuggerError("print needs a place; expected e.g. `print $lm0n0c0b0m0p0 f 4`")
        rows = self._debugger.print(place, dtype, self._number(count))
        self._lines(row.partition(" #d get")[0] for row in rows[:_ROWS_SHOWN])
        if len(rows) > _ROWS_SHOWN:
            self._say(f"... {len(rows) - _ROWS_SHOWN} more; name fewer PEs")

    def do_what(self, arg: str) -> None:
        """what [LINE] [PE] [FORMAT]: what a line (the last one) reads and writes, at a PE such as n0c0b0m0p0."""
        line: int | None = None
        pe, dtype = "n0c0b0m0p0", ""
        for word in arg.split():
            if word.isdecimal():
                line = int(word)
            elif word[0] in "ncbmp" and any(letter.isdecimal() for letter in word):
                pe = word
            else:
                dtype = word
        self._say(self._debugger.what(line, pe, dtype))

    def do_list(self, arg: str) -> None:
        """list [LINE]: the program around a line; `>` marks the next one, `*` breakpoints."""
        source = self._debugger.source()
        here = self._debugger.line
        centre = self._number(arg, here or len(source))
        breaks = {b.line for b in self._debugger.breakpoints if isinstance(b, LineBreak)}
        for number in range(max(1, centre - _CONTEXT), min(len(source), centre + _CONTEXT) + 1):
            mark = ">" if number == here else " "
            self._say(f"{mark}{'*' if number in breaks else ' '}{number:>5}  {source[number - 1]}".rstrip())

    def do_where(self, arg: str) -> None:
        """where: the next line, the cycle, MVs in flight."""
        self._where()

    def do_history(self, arg: str) -> None:
        """history [N]: the last N moments (20)."""
        self._lines(map(str, self._debugger.history(self._number(arg, 20))))

    def do_set(self, arg: str) -> None:
        """set $PLACE COUNT HEX: store long words now, as `d set` does."""
        self._debugger.set(f"set {arg}")

    def do_diff(self, arg: str) -> None:
        """diff FILE: run this program and another one side by side to the first difference."""
        if self._debugger.history(1):
            raise DebuggerError("a comparison starts at the beginning of both programs; `restart` first")
        other = Debugger(read_program(arg.strip()), hazards=self._debugger.hazards)
        found = self._debugger.diff(other)
        self._say(str(found) if found else "the runs agree to the end")

    # --- saying -------------------------------------------------------------------------------------------------

    def _say(self, text: str) -> None:
        print(text, file=self.stdout)

    def _lines(self, texts: Iterable[str]) -> None:
        for text in texts:
            self._say(text)

    def _number(self, text: str, default: int | None = None) -> int:
        text = text.strip()
        if not text and default is not None:
            return default
        if not text.isdecimal():
            raise DebuggerError(f"`{text}` is no number" if text else "a number is missing")
        return int(text)

    def _stopped(self, stop: Stop) -> None:
        self._lines(stop.output)
        if stop.what:
            self._say(stop.what if stop.reason != "error" else f"error: {stop.what}")
        self._where()

    def _where(self) -> None:
        debugger = self._debugger
        flying = f", MV in flight: line {', '.join(map(str, debugger.in_flight))}" if debugger.in_flight else ""
        if not debugger.line:
            self._say(f"cycle {debugger.cycle}, end of the program{flying}")
            return
        self._say(f"cycle {debugger.cycle}, next line {debugger.line}: {debugger.text}{flying}")


def read_program(path: str) -> str:
    """Text of a program file.  Raises DebuggerError."""
    if not path:
        raise DebuggerError("a file name is missing")
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise DebuggerError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise DebuggerError(f"{path} is no text file") from None


def run(make: Callable[[], Debugger], stdin: TextIO | None = None, stdout: TextIO | None = None) -> int:
    """Make the debugger and run its loop; the exit code."""
    try:
        shell = Shell(make(), stdin, stdout)
    except USER_ERRORS as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    shell.do_where("")
    with contextlib.suppress(KeyboardInterrupt):
        shell.cmdloop()
    return 0
