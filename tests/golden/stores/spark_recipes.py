"""What the stores are made of that Spark writes."""

from __future__ import annotations

from tests.golden.stores.closure_recipes import (
    EDGES,
    LINEAR,
    MODULES,
    REFLEXIVE,
    SEVERAL,
    SYMMETRIC,
)
from tests.golden.stores.recipes import REACH, Recipe, Step, links

ON_SPARK = {
    "spark-closure": Recipe(
        REACH,
        links([(1, 2), (2, 3), (3, 4), (4, 2), (5, 6)]),
        "answer(?x) :- path(1, ?x) .",
        links([(6, 5), (4, 7)]),
        links([(2, 3)]),
        [Step(links([(4, 5)]), links([(3, 4)]))],
        options={"engine": "spark"},
    ),
    "spark-layers": Recipe(
        """same(?x, ?y) :- parent(?x, ?z), parent(?y, ?z) .
same(?x, ?y) :- parent(?x, ?u), same(?u, ?v), parent(?y, ?v) .
only(?x) :- person(?x), NOT (same(?x, ?y), FILTER(?y != ?x)) .
size(?x, ?n) :- AGGREGATE(same(?x, ?y) ON ?x BIND COUNT(?y) AS ?n) .
""",
        links([(1, 10), (2, 10), (3, 11), (10, 20), (11, 20), (4, 12)], "parent")
        + "\n"
        + "\n".join(f"person({n}) ." for n in (1, 2, 3, 4, 10, 11, 12, 20)),
        "answer(?x, ?n) :- size(?x, ?n), NOT only(?x) .",
        "parent(12, 20) . person(5) .",
        "parent(2, 10) .",
        options={"engine": "spark"},
    ),
    "spark-triples": Recipe(
        """@prefix : <http://e/> .
[?x, ?q, ?y] :- [?p, rdfs:subPropertyOf, ?q], [?x, ?p, ?y] .
[?x, :part, ?z] :- [?x, :part, ?y], [?y, :part, ?z] .
""",
        """rdfs:subPropertyOf(<http://e/wheel>, <http://e/part>) .
<http://e/wheel>(<http://e/car>, <http://e/w1>) .
<http://e/part>(<http://e/w1>, <http://e/tyre>) .
""",
        "answer(?x) :- <http://e/part>(<http://e/car>, ?x) .",
        "<http://e/wheel>(<http://e/tyre>, <http://e/air>) .",
        "<http://e/wheel>(<http://e/car>, <http://e/w1>) .",
        options={"engine": "spark"},
        given_as="ntriples",
    ),
    "spark-updated": Recipe(  # layers of several versions, written by updates on Spark
        """same(?x, ?y) :- parent(?x, ?z), parent(?y, ?z) .
same(?x, ?y) :- parent(?x, ?u), same(?u, ?v), parent(?y, ?v) .
only(?x) :- person(?x), NOT (same(?x, ?y), FILTER(?y != ?x)) .
size(?x, ?n) :- AGGREGATE(same(?x, ?y) ON ?x BIND COUNT(?y) AS ?n) .
older(?x, ?y) :- person(?x), person(?y), FILTER(?x = ?y + 1) ; parent(?y, ?x) .
""",
        links([(1, 10), (2, 10), (3, 11), (10, 20), (11, 20), (4, 12)], "parent")
        + "\n".join(f"person({n}) ." for n in (1, 2, 3, 4, 10, 11, 12, 20)),
        "answer(?x, ?n) :- size(?x, ?n), NOT only(?x) .",
        "parent(12, 20) . person(5) .",
        "parent(2, 10) .",
        [
            Step("parent(5, 12) . person(21) .", "parent(3, 11) ."),
            Step("parent(3, 12) .", "person(21) . parent(4, 12) ."),
        ],
        options={"engine": "spark"},
    ),
    "stream": Recipe(
        REACH,
        links([(1, 2), (2, 3)]),
        "answer(?x) :- path(2, ?x) .",
        links([(4, 5)]),
        links([(2, 3)]),
        [
            Step(links([(3, 4)]), by="stream"),
            Step(links([(9, 1)]), links([(1, 2)])),
        ],
    ),
    "stream-packed": Recipe(  # batches before and after an update, of a store that packs files
        REACH,
        links([(1, 2), (2, 3)]),
        "answer(?x) :- path(2, ?x) .",
        links([(4, 5)]),
        links([(2, 3)]),
        [
            Step(links([(3, 4)]), by="stream"),
            Step(links([(9, 1)]), links([(1, 2)])),
        ],
    ),
    "spark-closures": Recipe(
        LINEAR + SEVERAL,
        links(EDGES)
        + links([(3, 9), (6, 5)], "from")
        + links(EDGES[:3], "over")
        + links([(5, 4)], "under"),
        "answer(?x, ?y) :- right(?x, ?y), left(?x, ?z), NOT below(1, ?z) .",
        links([(6, 8)]) + links([(5, 1)], "over"),
        links([(3, 4)]) + links([(5, 4)], "under"),
        [Step(links([(4, 5)]) + links([(4, 3)], "under"), links([(1, 2)]))],
        options={"engine": "spark"},
    ),
    "spark-modules": Recipe(
        REFLEXIVE + SYMMETRIC + MODULES,
        links(EDGES)
        + links([(1, 2)], "link")
        + links([(2, 4)], "alias")
        + links([(1, 2), (2, 3), (4, 1)], "has")
        + links([(3, 5), (5, 4)], "origin"),
        "answer(?x, ?y) :- part(?x, ?y), both(?x, ?y), NOT same(?x, ?y) .",
        links([(5, 6)], "has") + links([(4, 5)], "link"),
        links([(4, 1)], "has") + links([(8, 1)]),
        [Step(links([(6, 1)], "has") + links([(6, 6)], "link"), links([(3, 5)], "origin"))],
        options={"engine": "spark"},
    ),
}
