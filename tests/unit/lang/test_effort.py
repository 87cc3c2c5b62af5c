"""Built-ins stop: numbers and texts that grow are refused, and limits are looked at."""

from __future__ import annotations

from decimal import Decimal

import pytest

from stratalog.errors import EngineError, ProgramError
from stratalog.lang import effort
from stratalog.lang.builtins.functions import evaluate
from stratalog.lang.parse import parse_program
from stratalog.lang.reductions import reduce_terms
from stratalog.lang.syntax import Call
from stratalog.lang.terms import DECIMAL, INTEGER, Term
from stratalog.lang.values.numbers import canonical_integer, integer_text, parse_integer
from stratalog.lang.values.terms import term_of


def call(name: str, *args: object) -> Term:
    return evaluate(Call(name, tuple(term_of(arg) for arg in args)), {})


LONG = int("9" * 4_300)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("+", (LONG, 1)),
        ("*", (LONG, LONG)),
        ("*", (Decimal(LONG), Decimal("1.1"))),
        ("/", (1, 2**4_400)),
        ("POW", (10, 10**9)),
        ("POW", (10, 4_300)),
    ],
)
def test_a_number_of_too_many_digits_is_an_error_that_names_the_option(
    name: str, args: tuple[object, ...]
) -> None:
    with pytest.raises(EngineError, match="max_digits=4,300") as caught:
        call(name, *args)
    assert caught.value.code == "E111"


@pytest.mark.parametrize("cast", ["integer", "decimal"])
def test_a_long_text_is_cast_only_as_far_as_digits_allow(cast: str) -> None:
    kind = INTEGER.replace("integer", cast)
    long = Call(f"<{kind}>", (term_of("7" * 1_000_000),))
    for expression in (
        Call("+", (long, term_of(1))),
        Call(f"<{INTEGER}>", (long,)),
        Call("ROUND", (long,)),
        Call("<", (long, term_of(1))),
    ):
        with pytest.raises(EngineError, match="max_digits"):
            evaluate(expression, {})
    assert evaluate(Call("ISNUMERIC", (Term(INTEGER, "x" * 5_000),)), {}) == term_of(False)


def test_max_digits_says_how_many_are_too_many() -> None:
    with effort.digits_up_to(5_000):
        assert len(call("POW", 10, 4_300).text) == 4_301
    with effort.digits_up_to(3), pytest.raises(EngineError):
        call("*", 100, 10)


def test_a_sum_of_too_many_digits_is_refused() -> None:
    with pytest.raises(EngineError, match="digits"):
        reduce_terms("SUM", distinct=False, terms=[term_of(LONG), term_of(1)])


@pytest.mark.parametrize("name", ["CONCAT", "ENCODE_FOR_URI"])
def test_a_text_that_grows_too_long_is_refused(name: str) -> None:
    long = "%" * (effort.LONGEST_TEXT * 2 // 3)
    with pytest.raises(EngineError, match="characters"):
        call(name, *([long] * (2 if name == "CONCAT" else 1)))


def test_long_texts_look_at_limits_at_each_call() -> None:
    def stop() -> None:
        raise EngineError("E102", "time is up")

    with effort.checked_by(stop):
        call("UCASE", "a" * 1_000)
        with pytest.raises(EngineError, match="time"):
            call("UCASE", "a" * 100_000)


def test_long_integers_are_spelled_without_being_counted_with(monkeypatch) -> None:
    # A number of a million digits takes minutes to become an integer, and none as text.
    monkeypatch.setattr("stratalog.lang.values.numbers.Decimal", None)
    assert canonical_integer("-00" + "7" * 1_000_000) == "-" + "7" * 1_000_000
    assert canonical_integer("1" * 5_000, INTEGER.replace("integer", "byte")) is None
    assert canonical_integer("-" + "1" * 5_000, INTEGER.replace("integer", "negativeInteger"))
    assert canonical_integer("1" * 5_000, INTEGER.replace("integer", "negativeInteger")) is None
    assert canonical_integer("-0", INTEGER.replace("integer", "nonNegativeInteger")) == "0"


def test_a_program_with_a_very_long_number_is_refused_while_it_is_read() -> None:
    # Were a terminal to try all ways to divide the digits in two, this would never end.
    with pytest.raises(ProgramError, match="300,000 digits") as caught:
        parse_program("q(" + "7" * 300_000 + ") .")
    assert (caught.value.code, caught.value.column) == ("D302", 3)


def test_integers_of_any_length_are_read_whatever_python_allows() -> None:
    text = "9" * 20_000
    value = parse_integer(text)
    assert value is not None
    assert integer_text(value) == text
    assert Term(DECIMAL, text + ".0") == term_of(Decimal(value))
