"""Results of node simulation on disk: one small file per probe, named by its key (`CacheOptions`, seed 4.2.1)."""

from __future__ import annotations

import json
from pathlib import Path

from compiler.nodesim.measure import Result
from compiler.report.write import write_text


class ResultStore:
    """Results below `<folder>/<first two digits>/<key>`.  Files appear complete; one that cannot be read is measured
    again.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def find(self, key: str) -> Result | None:
        """The stored result, if there is one."""
        try:
            data = json.loads(self._path(key).read_text(encoding="utf-8"))
            if "error" in data:
                return Result(error=str(data["error"]))
            first, second = data["lm_words"]
            return Result(int(data["cycles"]), (int(first), int(second)))
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, key: str, result: Result) -> None:
        """Keep a result."""
        write_text(self._path(key), json.dumps(result.to_json()))

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / key
