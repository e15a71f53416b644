"""What a tape becomes: lines of common operators (docs/elementwise.md), and refusals of impossible tapes."""

from __future__ import annotations

import pytest

from compiler.emit.asm import Asm
from compiler.emit.tape import Formula, Tape
from compiler.emit.tape_binding import Place, address
from compiler.emit.tape_code import emit_tape
from compiler.errors import CompilerError
from compiler.layers import formulas, transcendental
from hw.program import Step
from isa import parse_item
from isa.pack import pack

WORDS_16 = tuple(range(8))


def _lines(formula: Formula, arity: int, prec: str = "f") -> int:
    """Packed lines for 8 long words; operands in LM0 and LM1 in turn, the result in LM1."""
    tape = Tape(prec)
    tape.finish(formula(tape, *[tape.input() for _ in range(arity)]))
    asm = Asm()
    operands = [Place("mn"[k % 2], 64 * k, WORDS_16) for k in range(arity)]
    emit_tape(asm, tape, operands, Place("n", 1024, WORDS_16))
    return len(pack([Step(items=(parse_item(text),), text=text, line=k) for k, text in enumerate(asm)]))


@pytest.mark.parametrize(
    "formula, arity, most",
    [
        (formulas.relu, 1, 2),
        (formulas.add, 2, 4),
        (formulas.sub, 2, 4),
        (transcendental.exponential, 1, 39),
        (transcendental.square_root, 1, 24),
        (transcendental.reciprocal, 1, 33),
        (transcendental.divide, 2, 37),
        (transcendental.logarithm, 1, 56),
    ],
)
def test_lines_for_sixteen_words(formula: Formula, arity: int, most: int) -> None:
    assert _lines(formula, arity) <= most


@pytest.mark.parametrize(
    "formula, arity, most",
    [(formulas.add, 2, 4), (formulas.mul, 2, 6), (transcendental.divide, 2, 70), (transcendental.logarithm, 1, 158)],
)
def test_lines_for_eight_doubles(formula: Formula, arity: int, most: int) -> None:
    assert _lines(formula, arity, "d") <= most


def test_constants_of_doubles_take_an_item_for_each_word_that_needs_one() -> None:
    tape = Tape("d")
    x = tape.input()
    tape.finish(tape.fma(tape.add(x, tape.number(2.5)), tape.number(0.1), tape.bits(0x1_0000_0001)))
    asm = Asm()
    emit_tape(asm, tape, [Place("m", 0, WORDS_16)], Place("n", 0, WORDS_16))
    assert {text.split(" $")[0] for text in asm if text.startswith("imm")} == {
        'immu ui"0x40040000"', 'imm ui"0x00000001"', 'imm ui"0x3fb99999"', 'imm ui"0x9999999a"',
    }  # fmt: skip


def test_addresses_are_spelled_shortly() -> None:
    assert address([8, 8, 8, 8]) == "8"
    assert address([8, 10, 12, 14]) == "8v"
    assert address([8, 12, 16, 20]) == "8v4"
    assert address([0, 2, 2, 2]) == "[0,2,2,2]"


def test_the_third_of_three_values_from_two_register_files_is_forwarded() -> None:
    tape = Tape()
    x = tape.input()
    a, b, c = (tape.mul(x, tape.number(float(k))) for k in (2, 3, 5))
    tape.mul(x, x)
    tape.finish(tape.fma(a, b, c))
    asm = Asm()
    emit_tape(asm, tape, [Place("m", 0, WORDS_16)], Place("n", 0, WORDS_16))
    texts = list(asm)
    products = [number for number, text in enumerate(texts) if text.startswith("fvfma")]
    assert len(products) == 2
    for number in products:
        assert "$aluf" in texts[number] and texts[number - 1].startswith("lpassa") and "$nowrite" in texts[number - 1]


def test_t_holds_one_value_at_a_time() -> None:
    tape = Tape()
    x = tape.input()
    a = tape.hold(tape.mul(x, x))
    b = tape.hold(tape.mul(x, x))
    tape.finish(tape.mul(a, b))
    place = Place("m", 0, WORDS_16)
    with pytest.raises(CompilerError, match="overwrites what T holds"):
        emit_tape(Asm(), tape, [place], Place("n", 0, WORDS_16))


def test_constants_must_be_singles() -> None:
    with pytest.raises(CompilerError, match="no single-precision number"):
        Tape().number(0.1)
