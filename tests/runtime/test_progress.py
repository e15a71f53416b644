"""Progress of a compilation: shown on terminals only, after a while, and gone at the end."""

from __future__ import annotations

import io
import sys
import time

import pytest

from compiler.phases import Phases, unwatched
from runtime.progress import watching


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_nothing_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    with watching("compiling", patience=0) as watcher:
        assert watcher is unwatched
    assert stream.getvalue() == ""


def test_a_terminal_sees_phase_and_count_once_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with watching("compiling [x]", patience=60) as watcher:
        watcher("emission", 0, 0)
    assert "emission" not in stream.getvalue()
    with watching("compiling [x]", patience=0) as watcher:
        phases = Phases(watcher)
        with phases("node simulation"):
            phases.progress(3, 7)
            time.sleep(0.5)
    assert "compiling [x]: node simulation 3 of 7" in stream.getvalue()
