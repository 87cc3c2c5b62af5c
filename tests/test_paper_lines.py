"""Each algorithm claims the lines of its paper that it promises, all of them and no other."""

from __future__ import annotations

import re
import tokenize
from pathlib import Path

import pytest

REASON = Path(__file__).parents[1] / "src" / "stratalog" / "reason"
NO_PAPER = {
    "algorithms.py",
    "auto.py",
    "choose.py",
    "cost_history.py",
    "modules/by_rules.py",
    "modules/closure_index.py",
    "modules/closure_relation.py",
    "modules/functions.py",
    "modules/path_proofs.py",
}
FILES = sorted(
    path
    for path in REASON.rglob("*.py")
    if path.name != "__init__.py" and str(path.relative_to(REASON)) not in NO_PAPER
)
PROMISE = re.compile(r"^Paper lines: (.+)\.$", re.MULTILINE)
PLACE = r"((?:[AX]\d+\.)?)L?(\d+)(?:-L?(\d+))?"
TAG = re.compile(rf"{PLACE}(?:, {PLACE})*")

Line = tuple[str, int]
"""The algorithm, such as `A4.`, empty where a paper numbers its lines throughout; and the line."""


def lines_in(text: str) -> list[Line]:
    """Return the lines of `1-6, 9` or `L2`, `L9-11`, `A4.L12`."""
    found = []
    for algorithm, first, last in re.findall(PLACE, text):
        found += [(algorithm, line) for line in range(int(first), int(last or first) + 1)]
    return found


def promised(source: str) -> list[Line]:
    """Return the lines that the docstring promises."""
    promise = PROMISE.search(source)
    assert promise, "the docstring says `Paper lines: a-b.`"
    return lines_in(promise[1])


def claimed(path: Path) -> list[Line]:
    """Return the lines that comments at the end of statements, and in prose as (L1), claim."""
    found = []
    with path.open("rb") as file:
        for token in tokenize.tokenize(file.readline):
            text = token.string.lstrip("# ")
            if token.type == tokenize.COMMENT and TAG.fullmatch(text) and "L" in text:
                found += lines_in(text)
            elif token.type == tokenize.STRING:
                found += [
                    line
                    for tag in re.findall(r"\((L\d+)\)", token.string)
                    for line in lines_in(tag)
                ]
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_an_algorithm_claims_exactly_the_lines_that_it_promises(path: Path):
    promise = promised(path.read_text())
    assert sorted(set(claimed(path))) == sorted(promise)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_an_algorithm_names_its_paper(path: Path):
    assert re.search(r"\b00[0-4] \(.+\), Algorithms? \d", path.read_text())


def test_tags_are_understood():
    assert lines_in("1-3, 7") == [("", 1), ("", 2), ("", 3), ("", 7)]
    assert lines_in("A4.L12") == [("A4.", 12)]
    assert lines_in("L9-11") == [("", 9), ("", 10), ("", 11)]
