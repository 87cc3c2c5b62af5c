"""Examples 1 and 2 of 000: instances considered grow with n³ without modules, with n² at most."""

from __future__ import annotations

import pytest

import stratalog as sl

TRANSITIVE = "r(?x, ?z) :- r(?x, ?y), r(?y, ?z) ."
SYMMETRIC = TRANSITIVE + " r(?x, ?y) :- r(?y, ?x) ."
SIZES = (8, 16, 32)


def derivations(rules: str, n: int, facts: list[tuple[int, int]], modules: str, engine: str) -> int:
    kb = sl.materialise(rules, {"r": facts}, modules=modules, engine=engine)
    assert len(kb["r"]) == (n * (n - 1) // 2 if rules == TRANSITIVE else n * n)
    return int(kb.stats["derivations"])


def chain(n: int) -> list[tuple[int, int]]:
    return [(i, i + 1) for i in range(n - 1)]


def cycle(n: int) -> list[tuple[int, int]]:
    return [*chain(n), (n - 1, 0)]


@pytest.mark.parametrize("n", SIZES)
def test_a_chain_of_facts(engine: str, n: int):
    plain = derivations(TRANSITIVE, n, chain(n), "off", engine)
    assert plain == n * (n - 1) * (n - 2) // 6
    special = derivations(TRANSITIVE, n, chain(n), "paper", engine)
    assert special <= n * n


@pytest.mark.parametrize("n", SIZES)
def test_a_cycle_of_a_symmetric_relation(engine: str, n: int):
    plain = derivations(SYMMETRIC, n, cycle(n), "off", engine)
    assert plain == n**3 + n * n
    special = derivations(SYMMETRIC, n, cycle(n), "paper", engine)
    assert special <= 4 * n * n
