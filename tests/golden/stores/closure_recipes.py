"""What the stores of closures are made of: each kind, and each base."""

from __future__ import annotations

from tests.golden.stores.recipes import Recipe, Step, links

LINEAR = """left(?x, ?y) :- edge(?x, ?y) .
left(?x, ?z) :- left(?x, ?y), edge(?y, ?z) .
right(?x, ?y) :- from(?x, ?y) .
right(?x, ?z) :- edge(?x, ?y), right(?y, ?z) .
back(?x, ?y) :- from(?x, ?y) .
back(?x, ?z) :- edge(?y, ?x), back(?y, ?z) .
"""
REFLEXIVE = """start(?x, ?y) :- edge(?x, ?y) .
start(?x, ?x) :- start(?x, ?y) .
start(?x, ?z) :- start(?x, ?y), start(?y, ?z) .
end(?x, ?y) :- edge(?x, ?y) .
end(?y, ?y) :- end(?x, ?y) .
end(?x, ?z) :- end(?x, ?y), end(?y, ?z) .
both(?x, ?y) :- edge(?x, ?y) .
both(?x, ?x) :- both(?x, ?y) .
both(?y, ?y) :- both(?x, ?y) .
both(?x, ?z) :- both(?x, ?y), both(?y, ?z) .
"""
SEVERAL = """above(?x, ?y) :- over(?x, ?y) .
below(?x, ?y) :- under(?x, ?y) .
above(?x, ?y) :- below(?y, ?x) .
below(?x, ?y) :- above(?y, ?x) .
above(?x, ?z) :- above(?x, ?y), above(?y, ?z) .
"""
SYMMETRIC = """same(?x, ?y) :- link(?x, ?y) .
equal(?x, ?y) :- alias(?x, ?y) .
equal(?x, ?y) :- same(?x, ?y) .
same(?x, ?y) :- equal(?y, ?x) .
same(?x, ?y) :- equal(?x, ?y) .
same(?x, ?z) :- same(?x, ?y), same(?y, ?z) .
"""
MODULES = """part(?x, ?z) :- part(?x, ?y), part(?y, ?z) .
part(?x, ?y) :- has(?x, ?y) .
part(?x, ?y) :- made(?x, ?z), part(?z, ?y) .
made(?x, ?y) :- part(?x, ?z), origin(?z, ?y) .
"""
EDGES = [(1, 2), (2, 3), (3, 4), (4, 2), (5, 6), (8, 1)]

CLOSURES = {
    "closure-linear": Recipe(
        LINEAR,
        links(EDGES) + links([(3, 9), (6, 5), (7, 7)], "from"),
        "answer(?x, ?y) :- left(8, ?x), right(?x, ?y), NOT back(?x, ?y) .",
        links([(6, 8), (9, 9)]) + links([(9, 1)], "from"),
        links([(3, 4), (8, 1)]) + links([(6, 5)], "from"),
        [Step(links([(4, 5)]), links([(1, 2)])), Step(links([(1, 3)]), links([(3, 9)], "from"))],
    ),
    "closure-reflexive": Recipe(
        REFLEXIVE,
        links(EDGES),
        "answer(?x) :- start(?x, ?x), NOT end(?x, ?x) .",
        links([(6, 8), (9, 9)]),
        links([(3, 4), (5, 6)]),
        [Step(links([(4, 7)]), links([(1, 2)]))],
    ),
    "closure-several": Recipe(
        SEVERAL + SYMMETRIC,
        links(EDGES[:3], "over")
        + links([(5, 4), (4, 3)], "under")
        + links([(1, 2), (3, 3)], "link")
        + links([(2, 4), (6, 5)], "alias"),
        "answer(?x, ?y) :- above(1, ?x), below(?x, ?y), equal(?x, ?y) .",
        links([(5, 1)], "over") + links([(5, 1)], "link"),
        links([(3, 4)], "over") + links([(4, 3)], "under") + links([(2, 4)], "alias"),
        [Step(links([(7, 1)], "under") + links([(4, 6)], "link"), links([(5, 4)], "under"))],
    ),
    "closure-of-closure": Recipe(  # steps that are a closure themselves; one read by a negation
        "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), path(?y, ?z) .\n"
        "reach(?x, ?y) :- from(?x, ?y) .\nreach(?x, ?z) :- reach(?x, ?y), path(?y, ?z) .\n"
        "apart(?x, ?y) :- node(?x), node(?y), NOT reach(?x, ?y), NOT path(?x, ?y) .\n",
        links(EDGES) + links([(7, 8), (4, 5)], "from") + "\nnode(1) . node(5) . node(7) .",
        "answer(?x) :- apart(?x, 1) .",
        links([(6, 7)]) + "\nnode(6) .",
        links([(2, 3)]) + links([(7, 8)], "from"),
        [Step(links([(7, 5)]), links([(8, 1)]))],
    ),
    "closure-explicit": Recipe(  # explicit facts of the closure, that rules derive or do not
        "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), path(?y, ?z) .\n",
        links(EDGES[:3]) + links([(1, 3), (4, 5), (5, 4)], "path"),
        "answer(?x) :- path(?x, 5) .",
        links([(1, 4), (2, 3)], "path") + links([(5, 1)]),
        links([(1, 3), (5, 4)], "path") + links([(2, 3)]),
        [Step(links([(3, 4), (6, 6)], "path"), links([(3, 4)]))],
    ),
    "closure-long": Recipe(  # of so many pairs that an update writes their difference
        "path(?x, ?y) :- edge(?x, ?y) .\npath(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .\n",
        links((n, n + 1) for n in range(1, 47)),
        "answer(?x) :- path(?x, 3) .",
        links([(50, 46)]),
        links([(2, 3)]),
        [Step(links([(60, 46)]), ""), Step("", links([(46, 47)]))],
    ),
    "modules-updated": Recipe(  # a closure beside other recursive rules, updated and edited
        MODULES,
        links([(1, 2), (2, 3), (4, 1)], "has") + links([(3, 5), (5, 4)], "origin"),
        "answer(?x, ?y) :- part(?x, ?z), made(?z, ?y) .",
        links([(5, 6)], "has"),
        links([(4, 1)], "has"),
        [
            Step(links([(6, 1), (2, 2)], "has"), links([(3, 5)], "origin")),
            Step(links([(3, 6)], "origin"), rules=MODULES + "lone(?x) :- part(?x, ?x) .\n"),
        ],
    ),
    "modules-paper": Recipe(
        SYMMETRIC + LINEAR + MODULES,
        links(EDGES)
        + links([(3, 9)], "from")
        + links([(1, 2)], "link")
        + links([(2, 4)], "alias")
        + links([(1, 2), (2, 3)], "has")
        + links([(3, 1)], "origin"),
        "answer(?x, ?y) :- left(?x, ?y), part(?z, ?x), NOT equal(?x, ?y) .",
        links([(6, 8)]) + links([(4, 9)], "link") + links([(3, 3)], "has"),
        links([(3, 4)]) + links([(1, 2)], "link") + links([(1, 2)], "has"),
        [Step(links([(9, 1)]) + links([(9, 1)], "link"), links([(2, 3)], "has"))],
        options={"modules": "paper"},
    ),
}
