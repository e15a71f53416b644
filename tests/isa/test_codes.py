"""Every code that the sources can give is explained, and every example does what is said of it."""

from __future__ import annotations

import ast
import re
import warnings
from pathlib import Path

import pytest

from hw.sanitizer import RULES
from isa import AsmError, assemble
from isa.codes import FAMILIES, UnknownCode, code_named, codes, findings

_ROOT = Path(__file__).parents[2]
_CODE = re.compile(r"[a-z0-9-]+/[a-z-]+")
# Said by the command assemble3 with --enable-mv-completion-checker only; needs host memory to happen on.
_ELSEWHERE = {"mv/completion", "address/dar"}


def _raised() -> set[str]:
    """First arguments of AsmError(...) and Finding(...) in the sources, and constants that are handed on as rules."""
    found: set[str] = set()
    for folder in ("isa", "hw/sanitizer"):
        for path in (_ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                    name = node.func.id if isinstance(node.func, ast.Name) else ""
                    value = node.args[0].value
                    if name in ("AsmError", "Finding") and isinstance(value, str) and _CODE.fullmatch(value):
                        found.add(value)
    return found


def test_every_code_of_the_sources_is_explained() -> None:
    missing = _raised() - set(codes()) - _ELSEWHERE
    assert not missing
    assert {f"hazard/{rule.row}" for rule in RULES} == {name for name in codes() if name.startswith("hazard/")}
    assert {code.family for code in codes().values()} == set(FAMILIES)


@pytest.mark.parametrize("name", [code.name for code in codes().values() if code.found == "assembler"])
def test_assembler_examples(name: str) -> None:
    code = codes()[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(AsmError) as caught:
            assemble(code.wrong, mode=code.mode)
        assert caught.value.rule == name
        assemble(code.right, mode=code.mode)
    assert f"[{name}]" in code.message()


@pytest.mark.parametrize("name", [code.name for code in codes().values() if code.found == "run"])
def test_examples_of_the_sanitizers(name: str) -> None:
    code = codes()[name]
    assert name in {finding.rule for finding in findings(code.wrong)}
    assert name not in {finding.rule for finding in findings(code.right)}
    assert f"[{name}]" in code.message()


def test_names_are_taken_as_messages_write_them() -> None:
    assert code_named("[hazard/3]") == code_named("hazard 3")
    assert code_named("hazard/3").meaning == "an LM0 write keeps the port for two more steps; " + (
        "an LM1 write keeps the port for two more steps"
    )
    with pytest.raises(UnknownCode, match="did you mean `port/read`"):
        code_named("port/raed")
