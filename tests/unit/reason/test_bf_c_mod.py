"""B/F^c with rule modules: the work that it saves, and the strata that it is for."""

from __future__ import annotations

import pytest

from stratalog.reason import seminaive
from stratalog.reason.algorithms import candidates as candidates_of
from stratalog.reason.update import update
from tests.oracle import histories
from tests.oracle.named_histories import history_of
from tests.work.update_work import USUAL_BLOCKS

TRANSITIVE = "t(?x, ?z) :- t(?x, ?y), t(?y, ?z) ."
AMONG_OTHERS = """
t(?x, ?y) :- e(?x, ?y) .
on(?y) :- on(?x), t(?x, ?y) .
t(?x, ?y) :- on(?x), a(?x, ?y) .
on(0) .
"""


def ring(n: int) -> str:
    """Return links to the next, the fifth and, where a constant is on, the seventh."""
    links = (("e", 1), ("e", 5), ("a", 7))
    return " ".join(f"{p}({i}, {(i + by) % n}) ." for i in range(n) for p, by in links)


def deleted(text: str, gone: str, name: str, modules: str) -> tuple[int, histories.State]:
    """Return the rows that an algorithm visits to delete facts, and what is stored then."""
    history = history_of(text, (gone, ""), modules=modules)
    strata, step = history.plan.strata, history.steps[0]
    subject = histories.ColumnarFacts()
    subject.load(history.explicit)
    seminaive.materialise(subject.engine, strata)
    before = subject.engine.work()
    batches = subject.batch(step.delete), subject.batch(())
    update(subject.engine, strata, *batches, histories.maintain_by(name, strata, step))
    return subject.engine.work() - before, histories.without_modules(subject.state())


def saved(text: str, gone: str, modules: str) -> float:
    """Return how many times the rows of B/F^c are visited by DRed^c, which ends the same."""
    proved, left = deleted(text, gone, "bf-c", modules)
    overdeleted, also_left = deleted(text, gone, "dred-c", modules)
    assert left == also_left
    return overdeleted / proved


@USUAL_BLOCKS
@pytest.mark.parametrize("modules", ["auto", "paper"])
def test_a_link_with_other_paths_costs_a_tenth_of_overdeletion(modules: str):
    """DRed^c-MOD deletes all pairs of the ring, and finds that every one comes back."""
    assert saved(TRANSITIVE + AMONG_OTHERS + ring(48), "e(0, 1) .", modules) > 10


@USUAL_BLOCKS
@pytest.mark.parametrize("modules", ["auto", "paper"])
def test_a_link_within_a_component_costs_half_of_overdeletion(modules: str):
    symmetric = "t(?y, ?x) :- t(?x, ?y) ."
    assert saved(TRANSITIVE + symmetric + AMONG_OTHERS + ring(48), "e(0, 1) .", modules) > 2


@pytest.mark.parametrize("modules", ["auto", "paper"])
def test_it_is_chosen_where_a_module_is_among_other_rules(modules: str):
    def candidates(text: str) -> tuple[str, ...]:
        stratum = history_of(text + "t(0, 1) .", modules=modules).plan.strata[-1]
        assert stratum.modules
        return candidates_of(stratum, deletes=True)

    assert candidates(TRANSITIVE + "t(?x, ?z) :- t(?x, ?y), t(?z, ?y) .") == ("dred-c", "bf-c")
    assert candidates(TRANSITIVE) == ("dred-c",)
