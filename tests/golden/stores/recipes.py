"""What the stores of this folder are made of, and what tests ask of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

REACH = "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), path(?y, ?z) .\n"


@dataclass(frozen=True)
class Step:
    """A version after the first: facts as text, and the rules that hold from then on."""

    insert: str = ""
    delete: str = ""
    rules: str | None = None  # all of them, if they are edited
    by: str = "update"  # or "stream"


@dataclass(frozen=True)
class Recipe:
    """How a store is made, what is asked of it, and the update that tests apply."""

    rules: str
    facts: str
    query: str
    insert: str
    delete: str
    steps: Sequence[Step] = ()
    options: dict[str, Any] = field(default_factory=dict)
    given_as: str = "tables"  # or "program", "ntriples", "turtle", "csv"
    drops: Sequence[int] = ()  # versions that are dropped at last


def links(pairs: Iterable[tuple[int, int]], name: str = "edge") -> str:
    """Return the facts of a relation of numbers as text."""
    return "".join(f"{name}({x}, {y}) .\n" for x, y in pairs)


RECIPES = {
    "triples": Recipe(
        """@prefix : <http://e/> .
[?x, ?q, ?y] :- [?p, rdfs:subPropertyOf, ?q], [?x, ?p, ?y] .
[?x, a, :Parent] :- [?x, :hasChild, ?y] .
named(?x, ?n) :- [?x, :name, ?n] .
""",
        """rdfs:subPropertyOf(<http://e/hasSon>, <http://e/hasChild>) .
<http://e/hasSon>(<http://e/ann>, <http://e/bob>) .
<http://e/hasSon>(<http://e/bob>, _:c) .
<http://e/name>(<http://e/ann>, "Ann"@en) .
<http://e/name>(<http://e/bob>, "Bob") .
<http://e/Person>(<http://e/ann>) .
""",
        "answer(?x, ?n) :- <http://e/Parent>(?x), named(?x, ?n) .",
        """<http://e/hasSon>(<http://e/eve>, <http://e/ann>) .
<http://e/name>(<http://e/eve>, "Eve"^^<http://e/type>) .""",
        "<http://e/hasSon>(<http://e/bob>, _:c) .",
        [Step(insert="<http://e/hasSon>(<http://e/dan>, <http://e/eve>) .")],
        given_as="ntriples",
    ),
    "rdf": Recipe(
        """@prefix : <http://e/> .
:Staff(?x) :- :worksFor(?x, ?y) .
:colleague(?x, ?y) :- :worksFor(?x, ?z), :worksFor(?y, ?z) .
""",
        """<http://e/worksFor>(<http://e/ann>, <http://e/lab>) .
<http://e/worksFor>(<http://e/bob>, <http://e/lab>) .
<http://e/worksFor>(_:x, <http://e/office>) .
<http://e/age>(<http://e/ann>, 41) .
<http://e/age>(<http://e/bob>, 4.5) .
<http://e/Staff>(<http://e/zoe>) .
""",
        "answer(?x, ?y) :- <http://e/colleague>(?x, ?y), <http://e/Staff>(?y) .",
        "<http://e/worksFor>(<http://e/zoe>, <http://e/office>) .",
        "<http://e/worksFor>(<http://e/bob>, <http://e/lab>) .",
        given_as="ntriples",
    ),
    "closure-held": Recipe(
        REACH + "far(?x) :- path(1, ?x), NOT edge(1, ?x) .\n",
        links([(1, 2), (2, 3), (3, 4), (4, 2), (5, 6), (6, 7), (4, 8)]),
        "answer(?x) :- path(?x, ?x) .",
        links([(7, 5), (8, 9)]),
        links([(3, 4), (1, 2)]),
        [Step(links([(8, 1)]), links([(5, 6)]))],
    ),
    "closure-spelled-out": Recipe(
        REACH,
        links([(1, 2), (2, 3), (3, 4), (4, 2), (5, 6)]),
        "answer(?x, ?y) :- path(?x, ?y), edge(?y, ?x) .",
        links([(4, 5), (6, 6)]),
        links([(2, 3)]),
        [Step(links([(6, 1)]))],
        options={"modules": "paper"},
    ),
    "closure-spelled-out-by-edit": Recipe(
        REACH,
        links([(1, 2), (2, 3), (3, 1), (4, 5)]) + "\nskip(3, 4) .",
        "answer(?x) :- path(?x, 5) .",
        links([(5, 6)]) + "\nskip(6, 1) .",
        links([(3, 1)]),
        [
            Step(rules=REACH + "path(?x, ?y) :- skip(?x, ?y), path(?y, ?z) .\n"),
            Step(links([(5, 5)]), links([(1, 2)])),
        ],
    ),
    "closure-symmetric": Recipe(
        "same(?x, ?y) :- link(?x, ?y) .\nsame(?y, ?x) :- same(?x, ?y) .\n"
        "same(?x, ?z) :- same(?x, ?y), same(?y, ?z) .\n",
        links([(1, 2), (2, 3), (5, 6), (7, 7)], "link"),
        "answer(?x) :- same(1, ?x) .",
        links([(3, 5), (8, 9)], "link"),
        links([(1, 2)], "link"),
        [Step(links([(6, 7)], "link"), links([(2, 3)], "link"))],
    ),
    "modules": Recipe(
        """part(?x, ?z) :- part(?x, ?y), part(?y, ?z) .
part(?x, ?y) :- has(?x, ?y) .
part(?x, ?y) :- made(?x, ?z), part(?z, ?y) .
made(?x, ?y) :- part(?x, ?z), origin(?z, ?y) .
alone(?x) :- item(?x), NOT part(?x, ?y) .
""",
        links([(1, 2), (2, 3), (4, 1)], "has")
        + "\n"
        + links([(3, 5), (5, 4)], "origin")
        + "\n"
        + "\n".join(f"item({n}) ." for n in range(1, 7)),
        "answer(?x, ?y) :- part(?x, ?z), made(?z, ?y) .",
        links([(5, 6)], "has"),
        links([(4, 1)], "has"),
    ),
    "negation": Recipe(
        """reach(?x) :- start(?x) .
reach(?y) :- reach(?x), edge(?x, ?y), NOT closed(?y) .
missed(?x) :- node(?x), NOT reach(?x) .
end(?x) :- reach(?x), NOT edge(?x, ?y) .
""",
        links([(1, 2), (2, 3), (3, 4), (4, 5), (5, 2)])
        + "\nclosed(4) . start(1) .\n"
        + "\n".join(f"node({n}) ." for n in range(1, 7)),
        "answer(?x) :- missed(?x), NOT closed(?x) .",
        "closed(2) . edge(1, 6) . start(5) .",
        "closed(4) . edge(5, 2) .",
    ),
    "aggregates": Recipe(
        """total(?b, ?s) :- AGGREGATE(sale(?i, ?b, ?a) ON ?b BIND SUM(?a) AS ?s) .
count(?b, ?n) :- AGGREGATE(sale(?i, ?b, ?a) ON ?b BIND COUNT(?i) AS ?n) .
most(?m) :- AGGREGATE(total(?b, ?s) BIND MAX(?s) AS ?m) .
best(?b) :- total(?b, ?s), most(?s) .
twice(?b, ?t) :- total(?b, ?s), BIND(?s * 2 AS ?t), FILTER(?t > 10) .
""",
        """sale(1, "ann", 2.5) . sale(2, "ann", 4) . sale(3, "bob", 1.5e0) .
sale(4, "bob", 3) . sale(5, "eve", 6.5) .""",
        "answer(?b, ?n) :- best(?b), count(?b, ?n) .",
        'sale(6, "eve", 1) . sale(7, "dan", 100) .',
        'sale(3, "bob", 1.5e0) . sale(2, "ann", 4) .',
    ),
    "versions": Recipe(  # of relations long enough to get deltas
        """reach(?x) :- start(?x) .
reach(?y) :- reach(?x), edge(?x, ?y, ?n) .
f(?x) :- n(?x), NOT reach(?x) .
""",
        "flag() . start(1) . edge(1, 2, 0) . edge(2, 3, 0) . edge(3, 1, 1) . edge(4, 5, 1) .\n"
        + "\n".join(f"n({n}) ." for n in range(1, 1011)),
        "answer(?x, ?n) :- reach(?x), edge(?x, ?y, ?n) .",
        'edge(5, "new", 7) . start(20) . n("new") . n(2) .',
        "edge(3, 4, 0) . start(1) . n(77) .",
        [
            Step("edge(3, 4, 0) . n(2000) ."),
            Step('edge(5, "six", 2.5) .', "edge(1, 2, 0) . n(2) . n(30) ."),
            Step("edge(1, 2, 0) . start(<http://e/x>) . n(30) ."),
            Step(
                "",
                "edge(4, 5, 1) .",
                rules="""reach(?x) :- start(?x) .
f(?x) :- n(?x), NOT reach(?x) .
reach(?y) :- reach(?x), edge(?x, ?y, ?n), FILTER(?n < 2) .
""",
            ),
        ],
        drops=[3],
    ),
    "constants": Recipe(
        """same(?x, ?y) :- value(?x, ?v), value(?y, ?v), FILTER(?x < ?y) .
known(?v) :- value(?x, ?v) .
none(?x, ?y, ?z) :- value(?x, ?y), other(?z) .
""",
        r"""value(1, 1) . value(2, 1.0) . value(3, 1e0) . value(4, "1") . value(5, true) .
value(6, <1>) . value(7, "a\n\"b\" \u00e9\u4e2d") . value(8, "x"@en) . value(9, "x"@de) .
value(10, "2024-02-29"^^xsd:date) .
value(11, "2024-02-29T12:00:00Z"^^xsd:dateTime) .
value(12, "odd"^^<http://e/type>) . value(13, _:b) . value(14, 123456789012345678901234567890) .
value(15, -0.125) . value(16, "") . value(17, "INF"^^xsd:double) .
value(18, 01) . value(19, 1.50) . value(20, 1.5) . value(21, "abc"^^xsd:integer) .
""",
        "answer(?v) :- same(?x, ?y), value(?x, ?v) .",
        'value(22, "INF"^^xsd:double) . other("new") .',
        "value(18, 1) . value(20, 1.5) .",
        given_as="program",
    ),
    "declared": Recipe(
        "@declare sale(id string, buyer string, amount decimal, sold boolean) .\n"
        "large(?i) :- sale(?i, ?b, ?a, true), FILTER(?a >= 2) .\n",
        """sale("2048", "ann", 2.50, true) . sale("7", "bob", 10.0, false) .
sale("8", "", 3.0, true) .""",
        'answer(?b) :- sale("2048", ?b, ?a, ?s) .',
        'sale("9", "eve", 99.25, true) .',
        'sale("8", "", 3.0, true) .',
        given_as="csv",
    ),
    "equality-filters": Recipe(  # before such filters were join keys
        """meets(?x, ?y) :- level(?x), hour(?y), FILTER(?y = ?x + 1) .
alone(?x) :- level(?x), NOT (hour(?y), FILTER(?y = ?x + 1)) .
climbs(?y) :- meets(?z, ?x), hour(?y), FILTER(?x = ?y) .
""",
        "level(1) .\nlevel(2) .\nlevel(2.5) .\nhour(2) .\nhour(3.0) .\nhour(7) .",
        "answer(?x, ?y) :- meets(?x, ?y), NOT alone(?y) .",
        "hour(3) .\nlevel(6) .",
        "hour(2) .\nlevel(2) .",
        [
            Step("hour(3.5) .", "level(1) ."),
            Step(
                "level(1) .",
                rules="""meets(?x, ?y) :- level(?x), hour(?y), FILTER(?y = ?x + 1) .
alone(?x) :- level(?x), NOT (hour(?y), FILTER(?y = ?x + 1)) .
late(?x) :- hour(?x), meets(?y, ?z), FILTER(?x = ?z + ?y) .
""",
            ),
        ],
    ),
    "value-keys": Recipe(  # equality filters as join keys, in negations, recursion and groups, too
        """meets(?x, ?y) :- level(?x), hour(?y), FILTER(?y = ?x + 1) .
alone(?x) :- level(?x), NOT (hour(?y), FILTER(?y = ?x + 1)) .
climbs(?y) :- start(?y) .
climbs(?y) :- climbs(?x), hour(?y), ?y = ?x + 1 .
many(?x, ?n) :- AGGREGATE(level(?x), hour(?y), ?y = ?x ON ?x BIND COUNT(?y) AS ?n) .
""",
        "level(1) . level(2) . level(2.5) . start(2) .\nhour(2) . hour(3.0) . hour(3) . hour(7) .",
        "answer(?x, ?y) :- meets(?x, ?y), level(?z), FILTER(?z = ?y) .",
        "hour(4) . level(6) . level(3.0) .",
        "hour(2) . level(2) .",
        [
            Step("hour(3.5) . start(6) .", "level(1) . hour(3) ."),
            Step(
                "level(1) .",
                rules="""meets(?x, ?y) :- level(?x), hour(?y), FILTER(?y = ?x + 1) .
climbs(?y) :- start(?y) .
climbs(?y) :- climbs(?x), hour(?y), ?y = ?x + 1 .
many(?x, ?n) :- AGGREGATE(level(?x), hour(?y), ?y = ?x ON ?x BIND COUNT(?y) AS ?n) .
late(?x) :- hour(?x), meets(?y, ?z), FILTER(?x = ?z + ?y) .
""",
            ),
        ],
    ),
    "spellings": Recipe(  # alternatives, anonymous variables, expressions in atoms, equations
        """either(?x) :- a(?x) ; b(?x, _) .
nested(?x, ?y) :- (a(?x) ; b(?x, _)), (b(_, ?y), (?y > 2 ; ?y < 2)) .
neither(?x) :- n(?x), NOT (a(?x) ; b(?x, _)) .
gap(?x) :- n(?x), NOT n(?x + 1) .
next(?x, ?x + 1) :- n(?x) .
twice(?x, ?y) :- n(?x), ?y = ?x * 2 .
path(?x, ?y) :- b(?x, ?y) ; path(?x, ?z), b(?z, ?y) .
""",
        "a(1) . a(2) . b(2, 3) . b(3, 1) . b(1, 4) . n(1) . n(2) . n(4) . n(5) .",
        "answer(?x, ?y) :- path(?x, ?y), (either(?y) ; n(?x), b(_, ?x)), n(?x + 1) .",
        "a(4) . b(4, 2) . n(6) .",
        "a(1) . b(2, 3) . n(2) .",
        [
            Step("b(5, 5) .", "n(1) ."),
            Step(
                "",
                "a(2) .",
                rules="""either(?x) :- a(?x) ; b(_, ?x) ; n(?x), ?x > 4 .
path(?x, ?y) :- b(?x, ?y) ; path(?x, ?z), b(?z, ?y) .
""",
            ),
        ],
    ),
    "prefixes": Recipe(  # of the program, and of data
        "@prefix : <http://e/> .\n:knows(?y, ?x) :- :knows(?x, ?y) .\n"
        ":Friend(?x) :- :knows(?x, ?y), :Person(?y) .\n",
        """<http://e/knows>(<http://e/ann>, <http://d/bob>) .
<http://d/name>(<http://d/bob>, "Bob"@en) .
<http://e/Person>(<http://d/bob>) .
""",
        "answer(?x) :- <http://e/Friend>(?x) .",
        "<http://e/knows>(<http://d/bob>, <http://d/eve>) .",
        "<http://e/knows>(<http://e/ann>, <http://d/bob>) .",
        [Step("<http://e/Person>(<http://e/ann>) .")],
        given_as="turtle",
    ),
    "options": Recipe(  # all that a store remembers
        "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), path(?y, ?z) .\n"
        "far(?x) :- path(1, ?x), NOT edge(1, ?x) .\n",
        links([(1, 2), (2, 3), (3, 4), (4, 2)]),
        "answer(?x) :- far(?x) .",
        links([(4, 5), (123456789012345678901234, 1)]),
        links([(2, 3)]),
        [Step(links([(5, 1)])), Step("", links([(1, 2)])), Step(links([(1, 3)]))],
        options={"maintenance": "bf-c", "modules": "off", "keep": 2, "max_digits": 30},
        drops=[1, 2],
    ),
    "triples-updated": Recipe(  # properties that data says are closures
        """@prefix : <http://e/> .
[?x, ?q, ?y] :- [?p, rdfs:subPropertyOf, ?q], [?x, ?p, ?y] .
[?x, ?p, ?z] :- [?p, a, :Transitive], [?x, ?p, ?y], [?y, ?p, ?z] .
[?x, :whole, ?y] :- [?y, :part, ?x] .
root(?x) :- [?x, :part, ?y], NOT [?x, :whole, ?z] .
""",
        """rdfs:subPropertyOf(<http://e/wheel>, <http://e/part>) .
<http://e/Transitive>(<http://e/part>) .
<http://e/wheel>(<http://e/car>, <http://e/w1>) .
<http://e/part>(<http://e/w1>, <http://e/tyre>) .
""",
        "answer(?x) :- root(?r), <http://e/part>(?r, ?x) .",
        "<http://e/wheel>(<http://e/tyre>, <http://e/air>) .",
        "<http://e/Transitive>(<http://e/part>) .",
        [
            Step("<http://e/part>(<http://e/van>, <http://e/car>) ."),
            Step(
                "<http://e/Transitive>(<http://e/near>) . <http://e/near>(1, 2) .\n"
                "<http://e/near>(2, 3) .",
                "<http://e/wheel>(<http://e/car>, <http://e/w1>) .",
            ),
        ],
        given_as="ntriples",
    ),
    "constants-updated": Recipe(  # constants of each kind, in two versions
        "same(?x, ?y) :- value(?x, ?v), value(?y, ?v), FILTER(?x < ?y) .\n"
        "equal(?x, ?y) :- value(?x, ?v), value(?y, ?w), FILTER(?v = ?w && ?x < ?y) .\n",
        r"""value(1, 1) . value(2, 1.0) . value(3, 1e0) . value(4, "1") . value(5, true) .
value(6, <1>) . value(7, "a\n\"b\" \u00e9\u4e2d") . value(8, "x"@en) .
value(9, "2024-02-29"^^xsd:date) . value(10, "odd"^^<http://e/type>) . value(11, _:b) .
""",
        "answer(?v) :- same(?x, ?y), value(?x, ?v) .",
        'value(30, "x"@en) . value(31, "") . value(32, 1.00) .',
        'value(4, "1") . value(23, "odd"^^<http://e/type>) .',
        [
            Step(
                'value(20, 1) . value(21, "x"@de) . value(22, 123456789012345678901234567890) .\n'
                'value(23, "odd"^^<http://e/type>) . value(24, 2.50) .\n'
                'value(25, "2024-02-29T12:00:00Z"^^xsd:dateTime) . value(26, -0.125) .',
                "value(3, 1e0) .",
            )
        ],
        given_as="program",
    ),
    "schemes-plain": Recipe(
        REACH,
        links([(1, 2), (2, 3), (3, 1), (3, 4)]),
        "answer(?x) :- path(4, ?x) .",
        links([(4, 1)]),
        links([(1, 2)]),
        [Step(links([(4, 5)]), links([(2, 3)]))],
        options={"schemes": "plain"},
    ),
}
