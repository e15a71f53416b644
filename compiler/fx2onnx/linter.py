"""`lint`: what keeps a step function from being compiled, or from meaning the same once compiled (mlsdk.md 14.1).

The function is run once on fake tensors.  Where the exporter would stop at the first problem, the linter notes it and
goes on: a value that is read from a tensor is taken to be zero.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TextIO

from compiler.frontend.errors import FrontendError
from compiler.frontend.failures import quiet_loggers, typed_errors
from compiler.frontend.host_guard import host_unchanged
from compiler.frontend.signature import check_inputs, check_outputs
from compiler.frontend.source import SourceLine

from .findings import frozen_objects, signature_problem
from .observer import observed_run


class LintLevel(IntEnum):
    """How much a finding matters; `lint` reports those of its level and above."""

    INFO = 0
    """Compiles; worth knowing."""
    WARNING = 1
    """Compiles; may mean something else than on the host."""
    ERROR = 2
    """Does not compile."""


@dataclass(frozen=True)
class Finding:
    """One observation: `rule` is a short name such as `python-scalar`, `source` the user's line if there is one."""

    level: LintLevel
    rule: str
    message: str
    source: SourceLine | None = None

    def __str__(self) -> str:
        place = f"{self.source.file}:{self.source.line}: " if self.source else ""
        code = f"\n    {self.source.text}" if self.source and self.source.text else ""
        return f"{place}{self.level.name.lower()}: {self.message} [{self.rule}]{code}"


@dataclass(frozen=True)
class LintResult:
    """All findings in the order in which they were met."""

    findings: tuple[Finding, ...]

    @property
    def ok(self) -> bool:
        """True if nothing keeps the function from being compiled."""
        return all(finding.level < LintLevel.ERROR for finding in self.findings)

    def dump(self, stream: TextIO | None = None) -> None:
        """Print the findings, one paragraph each, and a closing line with their number."""
        out = stream if stream is not None else sys.stdout
        for finding in self.findings:
            print(finding, file=out)
        print(f"{len(self.findings)} finding(s)" if self.findings else "no findings", file=out)


def lint(f: Callable[..., Any], args: Sequence[Any] = (), lint_level: LintLevel = LintLevel.INFO) -> LintResult:
    """Check `f(*args)`; `args` is one sample mapping.  Tensors, modules, optimizers and random state stay as they are.

    Rules: `signature`, `python-scalar`, `dynamic-shape`, `outside-assignment`, `input-assignment`, `frozen-object`,
    `trace`.
    """
    findings: list[Finding] = []

    def note(level: LintLevel, rule: str, message: str, source: SourceLine | None = None) -> None:
        finding = Finding(level, rule, message, source)
        if level >= lint_level and finding not in findings:
            findings.append(finding)

    problem = signature_problem(f, args)
    if problem:
        note(LintLevel.ERROR, "signature", problem)
        return LintResult(tuple(findings))
    for name, kind in frozen_objects(f):
        note(
            LintLevel.INFO,
            "frozen-object",
            f"'{name}' ({kind}) comes from outside; its value is fixed at compile time",
        )

    def on_event(rule: str, message: str, source: SourceLine | None) -> None:
        note(LintLevel.WARNING if rule == "outside-assignment" else LintLevel.ERROR, rule, message, source)

    try:
        sample = check_inputs(args[0])
        with quiet_loggers(), host_unchanged() as guard, typed_errors():
            result, stand_in = observed_run(f, sample, on_event)
            if result is not None:
                check_outputs(result, f)
                guard.check_lost_state(stand_in)
    except FrontendError as error:
        rule = {"OutputError": "signature", "InputError": "signature", "MutationError": "outside-assignment"}
        note(LintLevel.ERROR, rule.get(type(error).__name__, "trace"), error.text.split("\n")[0], error.source)
    return LintResult(tuple(findings))
