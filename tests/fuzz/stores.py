"""Small stores of every kind, to be mutated: each with two versions, and with an update to try."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import stratalog as sl
from stratalog.knowledge.stream.batches import Progress
from stratalog.knowledge.update import apply as updating
from stratalog.knowledge.update.request import UpdateRequest

STREAM = "0f6c1a2b-1111-4222-8333-444455556666"
EDGES = [(i, i + 1) for i in range(6)] + [(6, 2)]
CLOSURE = "t(?x, ?y) :- e(?x, ?y) .\nt(?x, ?z) :- t(?x, ?y), t(?y, ?z) ."
TRIPLES = """
<http://e/a> <http://e/p> <http://e/b> .
<http://e/b> <http://e/p> <http://e/c> .
<http://e/a> a <http://e/C> .
<http://e/c> <http://e/q> "text"@en .
"""


@dataclass(frozen=True)
class Kind:
    """A program with facts, and what is asked and changed once the store has been mutated."""

    program: str
    facts: dict[str, list[tuple[Any, ...]]]
    query: str
    update: dict[str, list[tuple[Any, ...]]]
    options: dict[str, Any]
    triples: str = ""


KINDS: dict[str, Kind] = {
    "plain": Kind(
        "p(?x, ?n) :- q(?x), BIND(?x * 2 AS ?n) .\nnone() :- q(99) .\nr(?x) :- s(?x, ?t) .",
        {"q": [(i,) for i in range(8)], "s": [("a", 1.5), ("b", True), ("ü", "2"), ("", -3)]},
        "p(?x, ?n), FILTER(?n > 4)",
        {"q": [(77,)], "s": [("new", 2)]},
        {},
    ),
    "deltas": Kind(
        "p(?x) :- q(?x, ?y) .",
        {"q": [(i, i % 7) for i in range(1_050)]},
        "p(?x), FILTER(?x < 3)",
        {"q": [(5_000, 1)]},
        {},
    ),
    "closure": Kind(CLOSURE, {"e": EDGES}, "t(1, ?x)", {"e": [(6, 9)]}, {}),
    "spelled": Kind(CLOSURE, {"e": EDGES}, "t(1, ?x)", {"e": [(6, 9)]}, {"modules": "off"}),
    "paper": Kind(CLOSURE, {"e": EDGES}, "t(1, ?x)", {"e": [(6, 9)]}, {"modules": "paper"}),
    "triples": Kind(
        "[?y, <http://e/back>, ?x] :- [?x, ?r, ?y], <http://e/C>(?z) .",
        {},
        "<http://e/p>(?x, ?y)",
        {"<http://e/p>": [("n", "m")]},
        {},
        TRIPLES,
    ),
    "negation": Kind(
        "ok(?x) :- q(?x), NOT bad(?x) .\nbad(?x) :- w(?x, ?y), NOT q(?y) .",
        {"q": [(i,) for i in range(6)], "w": [(1, 2), (2, 9), (3, 3)]},
        "ok(?x)",
        {"w": [(4, 40)]},
        {"maintenance": "bf-c"},
    ),
    "aggregates": Kind(
        "total(?k, ?n) :- AGGREGATE(v(?k, ?x, ?i) ON ?k BIND SUM(?x) AS ?n) .",
        {"v": [("a", 1, 1), ("a", 2, 2), ("b", 5, 3), ("b", 2, 4)]},
        "total(?k, ?n)",
        {"v": [("c", 4, 9)]},
        {},
    ),
    "streams": Kind("p(?x) :- q(?x) .", {"q": [(1,), (2,)]}, "p(?x)", {"q": [(3,)]}, {}),
}


def make(name: str, path: Path) -> None:
    """Make a store of a kind, with a version for its facts and one for a small update."""
    kind = KINDS[name]
    facts: Any = kind.facts
    if kind.triples:
        facts = path.with_suffix(".ttl")
        facts.write_text(kind.triples)
    kb = sl.materialise(kind.program, facts, store=path, progress=False, **kind.options)
    if name == "streams":
        schemas = {"q/1": [["c0", "integer"]]}
        told = Progress(0, str(path.parent / "elsewhere"), "00112233445566aa", schemas)
        updating.run(kb, UpdateRequest({"q": [(5,)]}), lambda _: {STREAM: told.saved()})
    else:
        first = next(iter(kind.facts), None)
        gone = {first: kind.facts[first][:1]} if first else {"<http://e/q>": []}
        kb.update(insert=_second(name), delete=gone if first else None)
    kb.close()


def _second(name: str) -> dict[str, list[tuple[Any, ...]]]:
    values = {"plain": {"q": [(50,)]}, "deltas": {"q": [(2_000, 3)]}, "triples": {}}
    default = {"negation": {"q": [(9,)]}, "aggregates": {"v": [("a", 9, 7)]}}
    return {**values, **default}.get(name, {"e": [(9, 1)]}) or {"<http://e/p>": [("x", "y")]}


def contents(kb: sl.KnowledgeBase) -> dict[str, list[tuple[object, ...]]]:
    """Return all facts, in an order."""
    return {name: sorted(kb[name], key=repr) for name in kb}
