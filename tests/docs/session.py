"""Running a page: its files are written into a folder, its commands and examples executed there, in order.

Commands of this project run inside the process, through the functions that the installed scripts call; `cat`, `head`
and their kin are real commands. `renewed` gives the page with the outputs of today.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import logging
import os
import re
import runpy
import shlex
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from tests.docs.blocks import DEBUGGER, SHELL, Block, agrees, blocks, dialogue
from tests.docs.elide import elided

_PLAIN = frozenset({"cat", "head", "tail", "ls", "grep", "sed", "cut", "diff", "wc"})


def _python(arguments: Sequence[str]) -> int:
    """`python FILE ...` and `python -m MODULE ...` inside the process."""
    module = arguments[0] == "-m"
    argv, path = sys.argv, list(sys.path)
    sys.argv = list(arguments[1:] if module else arguments)
    try:
        if module:
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            script = Path(arguments[0]).absolute()
            sys.path.insert(0, str(script.parent))
            runpy.run_path(str(script), run_name="__main__")
    finally:
        sys.argv, sys.path[:] = argv, path
    return 0


def _commands() -> dict[str, Callable[[Sequence[str]], Any]]:
    from isa.commands import assemble3, gpfn3_package_main
    from runtime.cli import main as mncore2
    from runtime.cli.dump_gpfnapp import main as dump_gpfnapp
    from runtime.smi import main as gpfn3_smi

    return {
        "assemble3": assemble3.main,
        "gpfn3_package_main": gpfn3_package_main.main,
        "mncore2": mncore2,
        "gpfn3-smi": gpfn3_smi,
        "dump_gpfnapp": dump_gpfnapp,
        "python": _python,
    }


def _stripped(text: str) -> str:
    """Without spaces at the ends of lines, which tables on a terminal have and pages should not."""
    return re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)


@contextlib.contextmanager
def _captured() -> Iterator[Callable[[], str]]:
    """Both streams of the process; the function gives what was printed, output before errors."""
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))

    def printed() -> str:
        return _stripped("".join(stream.buffer.getvalue().decode() for stream in (out, err)))  # type: ignore[attr-defined]

    handlers, logging.root.handlers = logging.root.handlers, []  # those of pytest keep notices from the screen
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            yield printed
    finally:
        logging.root.handlers = handlers


class Session:
    """One page being run in `folder`, which must be the working directory."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program = ""
        self._shell: Any = None
        self._names: dict[str, Any] = {"__name__": "page", "page_program": lambda: self._program}

    def today(self, block: Block) -> str:
        """The block's body as it would have to be today; blocks that show no output stay as they are."""
        if block.language == "vsm":
            self._program, self._shell = block.body, None
        if block.title and block.language != "inserted":
            (self._folder / block.title).write_text(block.body, encoding="utf-8")
        if not block.runs:
            return block.body
        if block.language == "inserted":
            return f"\n{self._command(block.title).rstrip()}\n\n"
        if block.language == "python":
            return self._examples(block)
        prompt = SHELL if block.body.startswith(SHELL) else DEBUGGER
        run = self._command if prompt == SHELL else self._debug
        parts = []
        for command, shown in dialogue(block.body, prompt):
            printed = run(command)
            if printed.strip():
                printed = printed.rstrip() + "\n"
            parts.append(f"{prompt}{command}\n" + (shown if agrees(shown, printed) else elided(shown, printed)))
        return "".join(parts)

    def _command(self, line: str) -> str:
        """What one command prints; `> FILE` takes its output, a `#` begins a comment."""
        words = shlex.split(line, comments=True)
        words, target = (words[:-2], words[-1]) if ">" in words else (words, None)
        if words[0] in _PLAIN:
            done = subprocess.run(words, cwd=self._folder, capture_output=True, text=True)
            printed = done.stdout + done.stderr
        else:
            printed = self._inside(words)
        if target is None:
            return printed
        (self._folder / target).write_text(printed, encoding="utf-8")
        return ""

    def _inside(self, words: Sequence[str]) -> str:
        run = _commands()[words[0]]
        with _captured() as printed:
            try:
                run(words[1:])
            except SystemExit as end:
                if isinstance(end.code, str):
                    print(end.code, file=sys.stderr)
            except Exception:
                traceback.print_exc()
        return printed()

    def _debug(self, line: str) -> str:
        from isa.debugger import Debugger
        from isa.debugger.shell import Shell

        out = io.StringIO()
        if self._shell is None:
            self._shell = Shell(Debugger(self._program), io.StringIO(), out)
        self._shell.stdout = out
        self._shell.onecmd(line)
        return out.getvalue()

    def _examples(self, block: Block) -> str:
        """The block with what its examples print."""
        parts: list[str] = []
        for piece in doctest.DocTestParser().parse(block.body):
            if isinstance(piece, str):
                parts.append(piece)
                continue
            source = piece.source.rstrip("\n").split("\n")
            parts += [f"{'>>>' if number == 0 else '...'} {text}".rstrip() + "\n" for number, text in enumerate(source)]
            printed = self._example(piece.source, block)
            parts.append(piece.want if agrees(piece.want, printed) else printed)
        return "".join(parts)

    def _example(self, source: str, block: Block) -> str:
        with _captured() as printed:
            try:
                exec(compile(source, f"<line {block.line}>", "single", dont_inherit=True), self._names)
            except Exception as error:
                name = "".join(traceback.format_exception_only(error))
                return f"{printed()}Traceback (most recent call last):\n{name}"
        return printed()


@contextlib.contextmanager
def _inside_folder(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    boards = os.environ.pop("MNCORE2_BOARDS", None)
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        if boards is not None:
            os.environ["MNCORE2_BOARDS"] = boards


def renewed(text: str, folder: Path) -> str:
    """The page with every output as it is today. `folder` is empty, and full of the page's files afterwards."""
    session = Session(folder)
    parts: list[str] = []
    done = 0
    with _inside_folder(folder):
        for block in blocks(text):
            parts += [text[done : block.start], session.today(block)]
            done = block.end
    return "".join([*parts, text[done:]])
