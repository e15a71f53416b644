"""One point of a study: a program on a chip, its key, and its simulation in any process of any machine."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from hw.model import ModelError, Stream, simulate_stream
from hw.spec import ChipSpec
from runtime.studies.programs import StudyProgram
from runtime.studies.study import Chip

Outcome = dict[str, Any]
"""`Timing.as_dict()`, or `{"error": text}` where the time model refuses the program on this chip."""


@dataclass(frozen=True)
class Point:
    """A program on a chip.  Equal `key` means equal result: program, chip and the time model itself are in it."""

    program: StudyProgram
    chip: Chip

    @property
    def key(self) -> str:
        """File name of the result."""
        parts = (self.program.stream.digest, self.chip.spec.digest, model_digest())
        return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()


def simulate_point(stream: Stream, spec: ChipSpec) -> Outcome:
    """The time of a reduced program on a chip; runs in worker processes."""
    try:
        return simulate_stream(stream, spec).as_dict()
    except ModelError as error:
        return {"error": str(error)}


@lru_cache(maxsize=1)
def model_digest() -> str:
    """Hash of the time model's sources: a result of an older model is never taken for one of this."""
    import hw.events
    import hw.model
    import hw.spec

    digest = hashlib.blake2b(digest_size=16)
    for package in (hw.events, hw.model, hw.spec):
        for path in sorted(Path(package.__path__[0]).glob("*.py")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
