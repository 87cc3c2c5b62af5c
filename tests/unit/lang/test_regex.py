"""Regular expressions of XPath: what they match, what is refused, and that they end."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Iterator

import pytest

from stratalog.errors import EngineError
from stratalog.lang import effort
from stratalog.lang.builtins.regex import matches, replaced, runner
from stratalog.lang.regex.backtracking import Backtracking
from stratalog.lang.regex.errors import RegexError, UnsupportedRegexError
from stratalog.lang.regex.linear import Linear
from stratalog.lang.regex.parse import parse


@pytest.mark.parametrize(
    ("text", "pattern", "flags", "expected"),
    [
        ("abc\n", "c$", "", False),
        ("a\nb", "^b$", "m", True),
        ("a\n", "\n^", "m", False),  # after the last line end no line starts
        ("a\n", "a\n$", "m", False),  # and none ends
        ("a\n", "a$", "m", True),
        ("\r", ".", "", False),
        ("\r", ".", "s", True),
        ("_", r"\w", "", False),  # connector punctuation is no word character
        ("٣", r"^\d$", "", True),
        ("\u00a0", r"\s", "", False),
        ("a:b-1", r"^\i\c*$", "", True),
        ("1a", r"^\i", "", False),
        ("b", "[a-z-[b]]", "", False),
        ("c", "[a-z-[b]]", "", True),
        ("c", "[a-z-[b-y-[c]]]", "", True),
        ("é", r"^\p{Ll}$", "", True),
        ("é", r"^\P{L}$", "", False),
        ("\u212a", "k", "i", True),
        ("i", "[A-Z-[IO]]", "i", False),
        ("a", "[A-Z-[IO]]", "i", True),
        ("a", r"\p{Lu}", "i", False),  # case changes nothing about categories
        ("A", "[^a]", "i", False),
        ("a b", "a[ ]b", "x", True),
        ("aa", r"a {2}", "x", True),
        ("a+b", "A+B", "qi", True),
        ("a\nb", "a.b", "qs", False),
        ("", "", "", True),
        ("ab", "c|", "", True),
        ("}", r"\}", "", True),
        ("a", "[a-]", "", True),
        ("-", "[-a]", "", True),
        ("^", "[a^]", "", True),
        ("aXA", r"(a)X\1", "i", True),
        ("b", r"(a)?b\1", "", True),  # a group that took no part is empty
        ("a0", r"(a)(?:\10)?", "", True),
        ("aa0", r"^(a)\10$", "", True),  # there is no group 10: group 1 and the digit
    ],
)
def test_patterns_mean_what_xpath_says(
    text: str, pattern: str, flags: str, *, expected: bool
) -> None:
    assert matches(text, pattern, flags) is expected


@pytest.mark.parametrize(
    "pattern",
    [
        *("fo{x}b", "a{,2}", "a{2,1}", "a{", "a}", "]", "*", "a**", "(?=a)", "(?i)a", "(", ")"),
        *("[", "[]", "[^]", "[b-a]", "[a-c-e]", "[[a]]", "[a", r"[\d-z]x[", r"\b", r"\u0041"),
        *("\\", r"\p", r"\p{}", r"\p{Xx}", r"\pL", r"[\1]", r"\1(a)", r"(a\1)", r"\0", "(?P<n>a)"),
    ],
)
def test_what_xpath_does_not_know_is_refused(pattern: str) -> None:
    with pytest.raises(RegexError) as caught:
        parse(pattern, "")
    assert caught.value.is_supported


@pytest.mark.parametrize(
    "pattern",
    [
        *(r"\p{IsGreek}", "a{1001}", "(a{30}){40}", "(" * 50 + ")" * 50, r"(a)\1{1000000000}"),
        *(r"\w" * 30_000, r"(?:){999999999}(a)\1" + "b" * 30_000, "[" + "a-[b" * 50 + "]" * 51),
    ],
)
def test_what_is_too_large_is_refused_before_it_costs_much(pattern: str) -> None:
    with pytest.raises(UnsupportedRegexError):
        runner(pattern, "", ends_line=False)


def test_nested_repetitions_end_at_once() -> None:
    assert not matches("a" * 5000 + "b", "^(a+)+$")
    assert not matches("a" * 5000 + "b", "^(a|a|aa)*$")
    assert not matches("x" * 5000, "(x+x+)+y")


def test_back_references_that_try_too_much_end_with_an_error() -> None:
    with pytest.raises(EngineError, match="steps") as caught:
        matches("a" * 3000 + "b", r"(a*)*\1c")
    assert caught.value.code == "E111"


def test_a_long_run_looks_at_limits_while_it_runs() -> None:
    def stop() -> None:
        raise EngineError("E102", "time is up")

    with effort.checked_by(stop), pytest.raises(EngineError, match="time"):
        matches("a" * 20_000 + "b", r"(a*)*\1c")
    with effort.checked_by(stop), pytest.raises(EngineError, match="time"):
        matches("ab" * 1_000_000, "(a|b)*a(a|b){100}c")  # so long that it runs in a thread


def test_replacing_looks_at_limits_between_matches() -> None:
    seen = itertools.count()

    def stop() -> None:
        if next(seen) > 100:
            raise EngineError("E102", "time is up")

    with effort.checked_by(stop), pytest.raises(EngineError, match="time"):
        replaced("a" * 100_000, "a.*b|a", "x")


def test_a_text_that_replacing_makes_too_long_is_refused() -> None:
    with pytest.raises(EngineError, match="characters"):
        replaced("a" * 20_000, "a", "x" * 10_000)


def test_group_numbers_of_a_replacement_end_where_there_is_no_such_group() -> None:
    assert replaced("ab", "(a)", "$" + "1" * 5000) == "a" + "1" * 4999 + "b"
    assert replaced("ab", "(a)", "[$0012]") == "[a2]b"
    assert replaced("ab", "a", "[$5]") == "[]b"


PIECES = ("a", "b", "(a)", "(?:ab)", "[ab]", "[^a]", ".", "a|b", "(a|b)", "^", "$", "\\n")
QUANTIFIERS = ("", "", "?", "*", "+", "{1,2}", "*?", "+?", "{2}", "??")


def _random_pattern(draw: random.Random) -> str:
    parts = [draw.choice(PIECES) for _ in range(draw.randint(1, 4))]
    wrapped = [f"({part})" if len(part) > 1 and draw.random() < 0.5 else part for part in parts]
    return "".join(part + draw.choice(QUANTIFIERS) for part in wrapped if part != "a|b")


def _spans(pieces: Iterator[tuple[str, list[str] | None]]) -> list[tuple[int, int]]:
    found, at = [], 0
    for before, groups in pieces:
        at += len(before)
        if groups is not None:
            found.append((at, at + len(groups[0])))
            at += len(groups[0])
    return found


def test_both_ways_to_run_a_pattern_agree_with_the_standard_library() -> None:
    draw = random.Random(19)
    compared = 0
    for _ in range(2_000):
        pattern = _random_pattern(draw)
        text = "".join(draw.choice("aabb\n") for _ in range(draw.randint(0, 8)))
        if re.search(r"[$^][?*+{]|\+\?|\*\?|\?\?", pattern):
            continue  # quantified edges, where the library differs
        flags = draw.choice(("", "s", "m"))
        if "m" in flags and text.endswith("\n"):
            continue
        regex = parse(pattern, flags)
        options = {"": 0, "s": re.DOTALL, "m": re.MULTILINE}[flags]
        translated = pattern if flags == "m" else pattern.replace("$", r"\Z")
        expected = [found.span() for found in re.finditer(translated, text, options)]
        if any(start == end for start, end in expected):
            found = [bool(expected)] * 2  # who goes on where after an empty match is not compared
            assert [Linear(regex).search(text), Backtracking(regex).search(text)] == found
            continue
        compared += 1
        found = [_spans(Linear(regex).pieces(text)), _spans(Backtracking(regex).pieces(text))]
        assert found == [expected, expected], (pattern, text)
    assert compared > 300
