"""Each maintenance algorithm keeps the facts and both counts of the judge, whatever the history.

The algorithms run on the engine itself: one for all strata, or another for each stratum and step.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, note, settings
from hypothesis import strategies as st

from stratalog.errors import EngineError, ProgramError
from stratalog.lang.syntax import Program
from stratalog.plan.program import plan_program, predicates_of
from stratalog.plan.rules import Stratum
from stratalog.reason import counting, seminaive
from stratalog.reason.update import update as follow_update
from tests import naive, updates
from tests.oracle import histories
from tests.oracle.named_histories import CYCLE, NAMED, history_of, named
from tests.updates import Update

ALGORITHMS = [*histories.ALGORITHMS, histories.MIXED]
CAME_BACK = "a fact that comes back in an earlier stratum stands"
SHARE = 2  # of the usual number of examples, for seven algorithms see each


def judged(made: updates.Random, *, modules: str = "off") -> histories.History:
    """Return a history with the judge's word on each step; what the judge cannot do is skipped."""
    note(updates.show(made))
    try:
        history = histories.History(*made, modules=modules)
        history.judge_all()
    except naive.TooLargeError:
        assume(condition=False)
    except ProgramError as error:
        assume(error.code != "S303")  # a built-in inside NOT that looks at a recursion
        raise
    return history


def follow(
    made: updates.Random, engine: str, algorithms: list[str], *, modules: str = "off"
) -> None:
    """Fail unless every algorithm follows the history."""
    history = judged(made, modules=modules)
    for algorithm in algorithms:
        note(algorithm)
        histories.run(history, algorithm, engine)


@given(made=updates.of_random_programs())
@settings(max_examples=max(1, settings().max_examples // SHARE))
def test_random_programs_are_maintained(engine: str, made: updates.Random):
    follow(made, engine, ALGORITHMS)


@given(made=updates.of_layers())
@settings(max_examples=max(1, settings().max_examples // SHARE))
def test_layers_of_recursion_negation_and_aggregates_are_maintained(
    engine: str, made: updates.Random
):
    follow(made, engine, ALGORITHMS)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", NAMED)
def test_a_small_history_is_followed(engine: str, name: str, algorithm: str):
    histories.run(named(name), algorithm, engine)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("name", ["a group changes, appears and vanishes", CAME_BACK])
def test_an_error_in_any_engine_call_leaves_nothing_behind(engine: str, name: str, algorithm: str):
    history = named(name)
    calls = range(0, 120, 1 if engine == "reference" else 7)
    aborted = [replace(s, ends="abort", fails_at=n) for n in calls for s in history.steps[:1]]
    histories.run(history.with_steps(aborted), algorithm, engine)


def edits() -> st.SearchStrategy[tuple[Program, Program, Update]]:
    """Return programs with the same facts and other rules, and an update between them."""
    plain = [rule for rule in updates.layers() if plan_program(Program((rule,))).hidden == set()]
    rules = st.lists(st.sampled_from(plain), min_size=1, unique=True).map(tuple)
    return st.tuples(updates.of_layers(), rules, rules).map(
        lambda drawn: (
            Program(drawn[1], drawn[0][0].facts),
            Program(drawn[2], drawn[0][0].facts),
            replace(drawn[0][1][0], ends="commit"),
        )
    )


@given(edit=edits(), algorithm=st.sampled_from(ALGORITHMS))
def test_strata_with_other_rules_are_made_afresh(
    engine: str, edit: tuple[Program, Program, Update], algorithm: str
):
    before, after, step = edit
    predicates = {*updates.PREDICATES, *predicates_of(Program(updates.layers()))}
    old, new = (histories.History(p, [step], predicates) for p in (before, after))
    subject = histories.HOSTS[engine]()
    subject.load(old.explicit)
    seminaive.materialise(subject.engine, old.plan.strata)
    kept = [unnumbered(stratum) for stratum in old.plan.strata]
    strata = [with_other_numbers(stratum) for stratum in new.plan.strata]
    changed = [stratum for stratum in strata if unnumbered(stratum) not in kept]
    wanted = step.wanted(new.explicit)
    deleted, inserted = new.explicit - wanted, wanted - new.explicit
    maintain = histories.maintain_by(algorithm, strata, step)
    batches = subject.batch(deleted), subject.batch(inserted)
    follow_update(subject.engine, strata, *batches, maintain, changed=changed)
    histories.check(subject.state(), new, wanted)


def with_other_numbers(stratum: Stratum) -> Stratum:
    """Return the stratum with rules whose numbers no rule before has had: engines keep them."""
    rules = (stratum.nonrecursive, stratum.recursive)
    other = (tuple(replace(r, index=r.index + 1000) for r in some) for some in rules)
    return Stratum(stratum.predicates, *other)


def unnumbered(stratum: Stratum) -> Stratum:
    """Return the stratum with rules that are equal if they say the same."""
    rules = (stratum.nonrecursive, stratum.recursive)
    same = (tuple(sorted((replace(r, index=0) for r in some), key=repr)) for some in rules)
    return Stratum(stratum.predicates, *same)


def test_counting_refuses_recursion_in_words(engine: str):
    history = history_of(CYCLE)
    assert [counting.applies_to(stratum) for stratum in history.plan.strata] == [True, False]
    changes: Any = None
    with pytest.raises(EngineError, match=r"E125: .*a\(\?y\) :- a\(\?x\), e\(\?x, \?y\)") as raised:
        counting.maintain(histories.HOSTS[engine]().engine, history.plan.strata[1], changes)
    assert "dred-c" in (raised.value.help or "")
