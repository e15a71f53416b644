"""What strict mode raises: one type per family of findings."""

from __future__ import annotations

from difflib import get_close_matches

from hw.sanitizer.runtime.finding import Finding

MODES = ("strict", "warn")


class SanitizerError(Exception):
    """A finding in strict mode.  `finding` has the details, `line` the 1-based source line."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding)
        self.finding = finding
        self.line = finding.line

    def __str__(self) -> str:
        return self.finding.message


class UninitialisedRead(SanitizerError):
    """A value is used that nothing has written, or that came from such a place."""


class TransferRace(SanitizerError):
    """The source or the destination of an MV is touched before the MV is known to be complete."""


class AddressViolation(SanitizerError):
    """An address leaves its memory and wraps, or is cut to its access width."""


class StaleForward(SanitizerError):
    """`$lbf` or `$mreadf` is read though the step before did not fill it."""


_BY_FAMILY: dict[str, type[SanitizerError]] = {
    "uninitialised": UninitialisedRead,
    "mv": TransferRace,
    "address": AddressViolation,
    "forwarding": StaleForward,
}


def error_of(finding: Finding) -> SanitizerError:
    """The exception for a finding."""
    return _BY_FAMILY.get(finding.family, SanitizerError)(finding)


class ModeError(ValueError):
    """An unknown sanitizer mode."""

    def __init__(self, mode: str) -> None:
        close = get_close_matches(mode, MODES, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        super().__init__(f"sanitizer mode {mode!r}: expected {' or '.join(MODES)}{hint}")
