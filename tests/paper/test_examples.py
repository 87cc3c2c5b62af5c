"""The worked examples of the papers that concern materialisation and counts.

000: Hu, Motik, Horrocks, Modular Materialisation of Datalog Programs.
001: Hu, Motik, Horrocks, Optimised Maintenance of Datalog Materialisations.
004: Zhang, Hu, Nenov, Horrocks, Enhancing Datalog Reasoning with Hypertree Decompositions.
"""

from __future__ import annotations

from typing import Any

import stratalog
from stratalog.lang.syntax import Predicate
from stratalog.lang.terms import INTEGER, STRING, Term

Rows = set[tuple[Any, ...]]


def materialise(program: str, facts: dict[str, Any], engine: str) -> Any:
    return stratalog.materialise(program, facts, engine=engine, modules="off")


def rows(kb: Any, predicate: str) -> Rows:
    return set(kb[predicate])


def counts(kb: Any, predicate: str) -> dict[tuple[Any, ...], tuple[int, int]]:
    """Return C_nr and C_r by the values of a predicate's facts."""
    return {
        tuple(value(term) for term in args): pair
        for (name, args), pair in kb._counts().items()
        if name.name == predicate
    }


def value(term: Term) -> Any:
    return int(term.text) if term.kind == INTEGER else term.text


def test_000_example_1(engine: str):
    n = 7
    kb = materialise(
        "R(?x, ?z) :- R(?x, ?y), R(?y, ?z) .", {"R": [(i, i + 1) for i in range(n + 1)]}, engine
    )
    # E as printed reaches c_{n+1}: the paper's I stops one constant short.
    nodes = range(n + 2)
    assert rows(kb, "R") == {(i, j) for i in nodes for j in nodes if i < j}
    # Every instance R(c_i, c_j), R(c_j, c_k) -> R(c_i, c_k) is one recursive derivation.
    assert counts(kb, "R") == {
        (i, k): (int(k == i + 1), k - i - 1) for i in nodes for k in nodes if i < k
    }


def test_000_example_2(engine: str):
    n = 6
    kb = materialise(
        "R(?x, ?z) :- R(?x, ?y), R(?y, ?z) . R(?y, ?x) :- R(?x, ?y) .",
        {"R": [(i, i % n + 1) for i in range(1, n + 1)]},
        engine,
    )
    nodes = range(1, n + 1)
    assert rows(kb, "R") == {(i, j) for i in nodes for j in nodes}
    # n instances of transitivity for each fact, and one of symmetry.
    explicit = {(i, i % n + 1) for i in nodes}
    assert counts(kb, "R") == {
        (i, j): (int((i, j) in explicit), n + 1) for i in nodes for j in nodes
    }


def test_001_example_1(engine: str):
    n = 5
    explicit = [(f"a{i}", "b") for i in range(n)] + [(f"a{i}", f"c{i}") for i in range(n)]
    kb = materialise("S(?y1, ?y2) :- R(?x, ?y1), R(?x, ?y2) .", {"R": explicit}, engine)
    ends = [f"c{i}" for i in range(n)]
    assert rows(kb, "S") == {
        ("b", "b"),
        *(("b", c) for c in ends),
        *((c, "b") for c in ends),
        *((c, c) for c in ends),
    }
    found = counts(kb, "S")
    assert found["b", "b"] == (n, 0)
    assert all(found["b", c] == found[c, "b"] == found[c, c] == (1, 0) for c in ends)


def test_001_example_2(engine: str):
    n = 4
    edges = [("a", "b1", 1), *(("a", f"c{i}", 1) for i in range(1, n + 1))]
    edges += [(f"b{i}", f"d{j}", 1) for i in range(1, n + 1) for j in range(1, n + 1)]
    kb = materialise(
        """D(?y, ?z) :- B("a", ?y, ?z) .
           D(?y, ?z) :- D(?x, ?z1), B(?x, ?y, ?z2), BIND(?z1 + ?z2 AS ?z) .""",
        {"B": edges},
        engine,
    )
    near = {("b1", 1), *((f"c{i}", 1) for i in range(1, n + 1))}
    far = {(f"d{j}", 2) for j in range(1, n + 1)}
    assert rows(kb, "D") == near | far
    assert counts(kb, "D") == dict.fromkeys(near, (1, 0)) | dict.fromkeys(far, (0, 1))


def test_001_example_3(engine: str):
    kb = materialise(
        "A(?y) :- A(?x), B(?x, ?y) .",
        {
            "A": [("a",), ("b",), ("d",)],
            "B": [("a", "c"), ("b", "c"), ("c", "d"), ("d", "e")],
        },
        engine,
    )
    # Row T1 of Figure 1: the counters before the update.
    expected = {"a": (1, 0), "b": (1, 0), "c": (0, 2), "d": (1, 1), "e": (0, 1)}
    assert counts(kb, "A") == {(name,): pair for name, pair in expected.items()}
    assert set(counts(kb, "B").values()) == {(1, 0)}


def test_004_section_3(engine: str):
    n, k = 5, 3
    pairs = [(i, j) for i in range(n) for j in range(1, k + 1)]
    kb = materialise(
        "PC(?x, ?y) :- CW(?x, ?z1), CA(?x, ?z2), PC(?z1, ?y), PC(?z2, ?y) .",
        {
            "CW": [(f"a{i}", f"b{i * k + j}") for i, j in pairs] + [(f"a{n}", "a2")],
            "CA": [(f"a{i}", f"c{i * k + j}") for i, j in pairs] + [(f"a{n}", "a3")],
            "PC": [(f"{x}{i * k + j}", f"d{j}") for x in "bc" for i, j in pairs],
        },
        engine,
    )
    derived = {row for row in rows(kb, "PC") if row[0].startswith("a")}
    assert derived == {(f"a{i}", f"d{j}") for i in range(n + 1) for j in range(1, k + 1)}
    assert len(derived) == n * k + k
    found = counts(kb, "PC")
    assert all(found[row] == (0, 1) for row in derived)


def test_004_section_3_insertion_derives_a_second_time(engine: str):
    """The insertion of Section 4 adds instances, not facts."""
    n, k = 5, 1
    kb = materialise(
        "PC(?x, ?y) :- CW(?x, ?z1), CA(?x, ?z2), PC(?z1, ?y), PC(?z2, ?y) .",
        {
            "CW": [(f"a{n}", "a2"), (f"a{n}", "a4")],
            "CA": [(f"a{n}", "a3"), (f"a{n}", "a5")],
            "PC": [(f"a{i}", "d1") for i in (2, 3, 4)],
        },
        engine,
    )
    fact = (Predicate("PC", 2), (Term(STRING, f"a{n}"), Term(STRING, f"d{k}")))
    # z1 in {a2, a4} and z2 in {a3, a5}; the derived PC(a5, d1) takes part as well.
    assert kb._counts()[fact] == (0, 4)
