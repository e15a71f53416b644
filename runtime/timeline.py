"""Reads trace.json or profile.json (Chrome's format, as `hw.trace` writes it) back into tracks of slices, in cycles."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runtime.errors import MLSDKError

LAYERS = "layers"  # the track with one slice per layer


class TimelineError(MLSDKError, ValueError):
    """The text is no trace."""


@dataclass(frozen=True, slots=True)
class Slice:
    """Something that took `cycles` core cycles from `start` on."""

    name: str
    start: int
    cycles: int

    @property
    def end(self) -> int:
        """The first cycle behind it."""
        return self.start + self.cycles


@dataclass(frozen=True, slots=True)
class Track:
    """A row of the trace: a unit, a link, or the layers."""

    group: str
    name: str
    slices: list[Slice] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Timeline:
    """All tracks that hold slices, in the order of the trace."""

    clock_mhz: float
    tracks: tuple[Track, ...]

    @property
    def cycles(self) -> int:
        """The end of the last slice."""
        return max((piece.end for track in self.tracks for piece in track.slices), default=0)

    def track(self, name: str) -> Track | None:
        """The first track of this name."""
        return next((track for track in self.tracks if track.name == name), None)


def read_timeline(text: str | bytes) -> Timeline:
    """Read a trace.  Slices without cycles in their arguments get them from `ts`, `dur` and the clock.

    Raises TimelineError: no JSON (with the place), no trace, or a slice without a time.
    """
    try:
        content = json.loads(text)
    except ValueError as error:
        raise TimelineError(f"no complete JSON: {error}") from error
    except RecursionError as error:
        raise TimelineError("JSON that is nested too deeply") from error
    events = content.get("traceEvents") if isinstance(content, Mapping) else content
    if not isinstance(events, list):
        raise TimelineError("no trace: expected an object with a list `traceEvents`")
    clock = _clock(content)
    names: dict[tuple[str, str], str] = {}
    groups: dict[str, str] = {}
    tracks: dict[tuple[str, str], Track] = {}
    for number, event in enumerate(events):
        if not isinstance(event, Mapping):
            raise TimelineError(f"event {number} is {type(event).__name__}, expected an object")
        place = (_key(event.get("pid")), _key(event.get("tid")))
        if event.get("ph") == "M":
            _name(event, place, names, groups)
        elif event.get("ph") == "X":
            track = tracks.get(place)
            if track is None:
                track = tracks[place] = Track(groups.get(place[0], ""), names.get(place, f"track {place[1]}"))
            track.slices.append(_slice(event, number, clock))
    return Timeline(clock, tuple(tracks.values()))


def _clock(content: object) -> float:
    other = content.get("otherData") if isinstance(content, Mapping) else None
    clock = other.get("clock_mhz") if isinstance(other, Mapping) else None
    return float(clock) if isinstance(clock, (int, float)) and 0 < clock < math.inf else 750.0


def _key(value: object) -> str:
    """A process or thread number as a key, whatever a trace has for it."""
    return str(value)


def _name(
    event: Mapping[str, Any], place: tuple[str, str], names: dict[tuple[str, str], str], groups: dict[str, str]
) -> None:
    arguments = event.get("args")
    text = str(arguments.get("name", "")) if isinstance(arguments, Mapping) else ""
    if event.get("name") == "thread_name":
        names[place] = text
    elif event.get("name") == "process_name":
        groups[place[0]] = text


def _slice(event: Mapping[str, Any], number: int, clock: float) -> Slice:
    arguments = event.get("args")
    known = arguments if isinstance(arguments, Mapping) else {}
    start, cycles = known.get("cycle"), known.get("cycles")
    if not isinstance(start, int) or not isinstance(cycles, int):
        begin, length = _time(event.get("ts")), _time(event.get("dur"))
        if begin is None or length is None:
            raise TimelineError(f"event {number} ({event.get('name')!r}) has neither cycles nor ts and dur")
        start, cycles = round(begin * clock), round(length * clock)
    return Slice(str(event.get("name", "")), start, cycles)


def _time(value: object) -> float | None:
    return value if isinstance(value, (int, float)) and math.isfinite(value) else None
