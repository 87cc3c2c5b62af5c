"""Random histories: after every update all is as if the facts that are left had been given anew."""

from __future__ import annotations

import tempfile
from collections import Counter, defaultdict
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import stratalog as sl
from stratalog.lang.names import show_name
from stratalog.lang.syntax import TRIPLE, Atom, Predicate, Program
from stratalog.lang.values.terms import python_value
from stratalog.pipeline import commit
from tests import signatures, strategies

pytestmark = pytest.mark.filterwarnings("ignore::stratalog.StratalogWarning")
"""Random programs read predicates without facts, and join what never matches."""

ALGORITHMS = ("auto", "counting", "dred", "dred-c", "bf", "bf-c", "rematerialise")
Facts = set[Atom]
EXAMPLES = max(10, settings().max_examples // 4)  # each is a history, judged at every step


def rows(facts: Facts) -> list[dict[str, list[tuple[object, ...]]]]:
    """The facts as a user gives them; a name with two arities tells which is meant."""
    found: dict[Predicate, list[tuple[object, ...]]] = defaultdict(list)
    for fact in facts:
        found[fact.predicate].append(tuple(python_value(term) for term in fact.args))
    return [{f"{p.name}/{p.arity}": values} for p, values in found.items()]


@st.composite
def histories(draw: Any) -> tuple[Program, list[tuple[Facts, Facts]]]:
    """A program with facts, and updates that insert some of what may be, and delete others."""
    signature = draw(signatures.signatures())
    program = draw(strategies.programs_over(signature))
    fact = st.one_of([signatures.rows_of(p, signature) for p in signature.levels if p != TRIPLE])
    known = [st.sampled_from(program.facts)] if program.facts else []
    facts = st.sets(st.one_of([fact, *known]), max_size=5)
    return program, draw(st.lists(st.tuples(facts, facts), min_size=1, max_size=4))


def materialised(program: Program, facts: Facts, **options: str) -> sl.KnowledgeBase:
    try:
        return sl.materialise(program, rows(facts), max_facts=2_000, **options)
    except sl.StratalogError as error:
        assume(error.code not in {"S303", "E103"})
        raise


def pairs(kb: sl.KnowledgeBase) -> set[tuple[Predicate, str]]:
    """All facts that users see; as text, because 1.0 is 1 in Python."""
    return {(predicate, repr(fact)) for predicate in kb.visible() for fact in kb.rows(predicate)}


def check_same(kb: sl.KnowledgeBase, program: Program, explicit: Facts, engine: str) -> None:
    fresh = materialised(replace(program, facts=()), explicit, engine=engine)
    assert pairs(kb) == pairs(fresh)
    assert kb.counts() == fresh.counts()
    for key in ("explicit", "derived", "facts"):
        assert kb.stats[key] == fresh.stats[key]


@settings(max_examples=EXAMPLES)
@given(histories(), st.data())
def test_any_update_gives_the_facts_and_counts_of_a_fresh_start(engine, history, data):
    program, updates = history
    kb = materialised(program, set(), engine=engine)
    explicit = set(program.facts)
    for inserted, deleted in updates:
        before = pairs(kb)
        algorithm = data.draw(st.sampled_from(ALGORITHMS))
        if algorithm == "counting" and any(stratum.recursive for stratum in kb._plan.strata):
            algorithm = "dred-c"
        changes = kb.update(rows(inserted), rows(deleted), maintenance=algorithm)
        given_up = deleted - explicit
        explicit = (explicit - deleted) | inserted
        check_same(kb, program, explicit, engine)
        after = pairs(kb)
        check_changes(changes, before, after)
        assert changes.stats["not_explicit"] == len(given_up)
        assert bool(changes) == (after != before)


def check_changes(changes: sl.Changes, before: set[Any], after: set[Any]) -> None:
    """Fail unless the changes are the differences; a name may have gained an arity since."""
    for tables, wanted in ((changes.added, after - before), (changes.removed, before - after)):
        found = Counter(predicate for predicate, _ in wanted)
        names = [name[:-2] if name[-2:-1] == "/" else name for name in tables]
        assert sorted(zip(names, tables.sizes.values(), strict=True)) == sorted(
            (show_name(predicate.name), size) for predicate, size in found.items()
        )


@settings(max_examples=EXAMPLES)
@given(histories())
def test_a_question_changes_nothing_and_tells_what_an_update_would(engine, history):
    program, updates = history
    kb = materialised(program, set(), engine=engine)
    assert not kb.what_if()  # the first question gives numbers to all constants of the rules
    for inserted, deleted in updates:
        before, counts, constants = pairs(kb), kb.counts(), len(kb._dictionary)
        asked = kb.what_if(rows(inserted), rows(deleted))
        assert (pairs(kb), kb.counts(), len(kb._dictionary)) == (before, counts, constants)
        done = kb.update(rows(inserted), rows(deleted))
        assert dict(asked.added) == dict(done.added) or _same(asked.added, done.added)
        assert _same(asked.removed, done.removed)


def _same(one: Any, other: Any) -> bool:
    def content(tables: Any) -> dict[str, list[str]]:
        return {name: sorted(map(repr, table.to_pylist())) for name, table in tables.items()}

    return content(one) == content(other)


@settings(max_examples=EXAMPLES)
@given(histories())
def test_a_store_holds_what_memory_holds_after_every_update(engine, history):
    program, updates = history
    with tempfile.TemporaryDirectory() as folder, few_rows(0):
        kb = materialised(program, set(), engine=engine, store=f"{folder}/kb")
        for inserted, deleted in updates:
            kb.update(rows(inserted), rows(deleted))
            found = sl.open(f"{folder}/kb")
            assert found.version == kb.version
            assert found.counts() == kb.counts()
            assert pairs(found) == pairs(kb)
            [*_, listed] = kb.versions()
            assert (listed.facts, listed.explicit) == (kb.stats["facts"], kb.stats["explicit"])


class few_rows:  # noqa: N801  # used like a function
    """Relations of more rows than these get deltas."""

    def __init__(self, rows: int) -> None:
        self._rows = rows

    def __enter__(self) -> None:
        self._before = commit._FEW_ROWS
        commit._FEW_ROWS = self._rows

    def __exit__(self, *_: object) -> None:
        commit._FEW_ROWS = self._before


@settings(max_examples=EXAMPLES)
@given(histories(), st.data())
def test_rules_that_come_and_go_leave_what_a_fresh_start_gives(engine, history, data):
    program, updates = history
    rules = list(dict.fromkeys(program.rules))
    kept = [rule for rule in rules if data.draw(st.booleans())]
    first = replace(program, rules=tuple(kept))
    with tempfile.TemporaryDirectory() as folder, few_rows(0):
        kb = materialised(first, set(), engine=engine, store=f"{folder}/kb")
        edit(kb, (program, rules, kept), updates, (engine, data, f"{folder}/kb"))


def edit(kb: sl.KnowledgeBase, program: Any, updates: Any, how: Any) -> None:
    """Choose other rules with every update, and compare memory and store with a fresh start."""
    (given_program, rules, kept), (engine, data, folder) = program, how
    explicit = set(given_program.facts)
    for inserted, deleted in updates:
        wanted = [rule for rule in rules if data.draw(st.booleans())]
        more = Program(tuple(rule for rule in wanted if rule not in kept))
        fewer = Program(tuple(rule for rule in kept if rule not in wanted))
        before = pairs(kb)
        try:
            changes = kb.update(rows(inserted), rows(deleted), add_rules=more, remove_rules=fewer)
        except sl.StratalogError as error:
            assume(error.code not in {"S303", "E103"})
            raise
        kept = [rule for rule in kept if rule in wanted] + list(more.rules)
        explicit = (explicit - deleted) | inserted
        check_same(kb, Program(tuple(kept)), explicit, engine)
        assert sl.open(folder).counts() == kb.counts()
        check_changes(changes, before, pairs(kb))
