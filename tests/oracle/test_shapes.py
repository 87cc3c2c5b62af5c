"""Every shape that strangers' programs have really occurs in the random lives.

Shapes are recognised in what was drawn, not in how it was drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings

from stratalog.lang.syntax import Atom, Bind, Filter, Rule, Variable
from tests import lives
from tests.lives import NOTHING, Life
from tests.naive import variables
from tests.oracle.long_run import CHUNK

CHUNKS = 8
LONG, WIDE = 20, 12


def shapes_of(rule: Rule) -> Iterator[str]:
    heads = [head for head in rule.heads if isinstance(head, Atom)]
    atoms = [literal for literal in rule.body if isinstance(literal, Atom)]
    read = {atom.predicate for atom in atoms}
    if len(set(heads)) < len(heads):
        yield "the same head twice"
    if len({h.predicate for h in heads}) > 1 and any(h.predicate in read for h in heads):
        yield "several heads that feed each other"
    if any(isinstance(each, Bind) for each in rule.body) and read & {h.predicate for h in heads}:
        yield "BIND in recursion"
    if any(before_what_it_reads(rule, place) for place in range(len(rule.body))):
        yield "FILTER before what it reads"
    if len([1 for atom in atoms if misses_one(atom)]) > 1 and len(names(atoms)) == 1:
        yield "atoms with constants that share one variable"
    if len(atoms) >= LONG:
        yield "long body"
    if in_parts(atoms):
        yield "body in parts"
    if any(p.name.startswith("<") and type(p)(p.name, 3 - p.arity) in read for p in read):
        yield "one IRI as class and property"


def before_what_it_reads(rule: Rule, place: int) -> bool:
    literal = rule.body[place]
    if not isinstance(literal, Filter):
        return False
    before = names([each for each in rule.body[:place] if isinstance(each, Atom)])
    before |= {each.variable for each in rule.body[:place] if isinstance(each, Bind)}
    return not variables(literal.expression) <= before


def names(atoms: list[Atom]) -> set[Variable]:
    return {a for atom in atoms for a in atom.args if isinstance(a, Variable)}


def misses_one(atom: Atom) -> bool:
    return len(atom.args) > 1 and sum(isinstance(a, Variable) for a in atom.args) == 1


def in_parts(atoms: list[Atom]) -> bool:
    """Tell whether some atoms share no variable with all others that have one."""
    left = [found for atom in atoms if (found := names([atom]))]
    known = left.pop() if left else set()
    while near := [each for each in left if each & known]:
        known |= set[Variable]().union(*near)
        left = [each for each in left if not each & known]
    return bool(left)


def shapes_in(life: Life) -> set[str]:
    found = {shape for rule in life.pool for shape in shapes_of(rule)}
    found |= {f"facts at first as a {life.way_in}"} if life.facts else set()
    found |= {"the same rule twice"} if life.twice else set()
    found |= {"low thresholds"} if life.low_thresholds else set()
    found |= {"no rules at first"} if not life.rules else set()
    rules = life.rules
    for number, event in enumerate(life.events):
        later = life.events[number + 1 : number + 2]
        same = any((e.rules, e.update) == (event.rules, event.update) for e in later)
        if event.ends == "dry run" and event.rules != rules and same:
            found.add("an edit is tried, then made")
        if event.rules != rules and event.update == NOTHING:
            found.add("an edit without facts")
        found |= {"a rule is added again"} if event.again & event.rules & rules else set()
        found |= {"duplicate rows"} if event.rows_twice and not event.as_text else set()
        sizes = Counter(predicate for predicate, _ in event.update.insert)
        found |= {"a large delta"} if max(sizes.values(), default=0) >= WIDE else set()
        found.add(f"then {event.then}")
        found.add(f"ends with {event.ends}")
        rules = event.rules if event.is_kept else rules
    return found


WANTED = {
    "the same head twice", "several heads that feed each other", "BIND in recursion",
    "FILTER before what it reads", "atoms with constants that share one variable", "long body",
    "body in parts", "one IRI as class and property", "the same rule twice", "low thresholds",
    "no rules at first", "an edit is tried, then made", "an edit without facts",
    "a rule is added again", "duplicate rows", "a large delta",
    *(f"facts at first as a {way}" for way in lives.WAYS_IN),
    *(f"then {opening}" for opening in lives.OPENINGS),
    *(f"ends with {end}" for end in lives.ENDS),
}  # fmt: skip


def tally(number: int, begin: int) -> Counter[str]:
    """Return in how many of so many foreign lives each shape occurs."""
    found: Counter[str] = Counter()

    @seed(begin)
    @settings(
        max_examples=number,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        deadline=None,
    )
    @given(lives.foreign_lives())
    def count(life: Life) -> None:
        found.update(shapes_in(life))

    count()
    return found


@pytest.mark.slow
def test_every_shape_occurs_in_foreign_lives():
    found = sum((tally(CHUNK, begin) for begin in range(CHUNKS)), Counter())
    assert {shape for shape in WANTED if found[shape] < 2} == set()
