"""Makes every kernel run that Python calls, in all its versions."""

from __future__ import annotations

from pathlib import Path

PROGRAM = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
loop(?x) :- path(?x, ?x) .
two(?x, ?z) :- pair(?x, ?y), pair(?y, ?z) .
end(?y) :- edge(?x, ?y), NOT edge(?y, ?z) .
both(?x, ?y, ?z) :- edge(?x, ?y), edge(?y, ?z), NOT edge(?z, ?x) .
degree(?x, ?n) :- AGGREGATE(edge(?x, ?y) ON ?x BIND COUNT(?y) AS ?n) .
next(?x, ?m) :- degree(?x, ?n), BIND(?n + 1 AS ?m), FILTER(?m < 9) .
[?x, ?p, ?y] :- [?p, <urn:inverse>, ?q], [?y, ?q, ?x] .
flag() :- edge("a", "b") .
"""

MODULES = """
same(?x, ?y) :- same(?y, ?x) .
same(?x, ?z) :- same(?x, ?y), same(?y, ?z) .
path(?x, ?z) :- path(?x, ?y), path(?y, ?z) .
way(?x, ?y) :- same(?x, ?y) .
way(?x, ?z) :- way(?x, ?y), path(?y, ?z) .
"""

LARGE = """
@declare value(group integer, number double, price decimal, name string) .
sums(?g, ?s, ?a, ?l) :- AGGREGATE(value(?g, ?v, ?p, ?n) ON ?g
  BIND SUM(?v) AS ?s BIND AVG(?v) AS ?a BIND MIN(?n) AS ?l) .
prices(?g, ?s, ?a) :- AGGREGATE(value(?g, ?v, ?p, ?n) ON ?g BIND SUM(?p) AS ?s BIND MAX(?p) AS ?a) .
names(?g, ?v, ?c) :- AGGREGATE(value(?g, ?v, ?p, ?n) ON ?g ?v BIND COUNT(DISTINCT ?n) AS ?c) .
all(?s, ?a, ?c) :- AGGREGATE(value(?g, ?v, ?p, ?n)
  BIND SUM(?v) AS ?s BIND AVG(?g) AS ?a BIND COUNT(DISTINCT ?g) AS ?c) .
two(?x, ?z) :- link(?x, ?y), link(?y, ?z) .
three(?x, ?y, ?z) :- link(?x, ?y), link(?y, ?z), link(?x, ?z) .
"""

TRIPLES = """<urn:a> <urn:p> <urn:b> .
<urn:p> <urn:inverse> <urn:q> .
_:n <urn:q> "text"@en .
<urn:a> <urn:q> "caf\\u00e9 \\"x\\"" .
<urn:a> <urn:q> "1"^^<http://www.w3.org/2001/XMLSchema#integer> .
"""


def exercise(folder: Path) -> None:
    """Make every kernel run, which compiles it: read, reason, ask, save, open and update."""
    import numpy as np

    from stratalog.knowledge.build import materialise
    from stratalog.knowledge.stored.open import open_store
    from stratalog.pipeline.dictionary import Dictionary

    (folder / "edge.csv").write_text("a,b\nb,c\nc,a\nc,d\n")
    (folder / "data.nt").write_text(TRIPLES)
    (folder / "quads.nq").write_text("<urn:a> <urn:p> <urn:b> <urn:g> .\n")
    ascending = np.arange(10_000, dtype=np.int64)
    many = {"pair": np.stack([ascending, ascending + 1], axis=1)}  # tables grow, joins in bulk
    data = [folder / "edge.csv", folder / "data.nt", folder / "quads.nq", many]
    materialise(PROGRAM, data, store=folder / "store", progress=False)
    kb = open_store(folder / "store")
    kb.facts("path")
    kb.query('path(?x, ?y), NOT path(?y, "d"), FILTER(?x != ?y)')
    assert ("a", "b") in kb["edge"]  # membership has kernels of its own
    for name in ("dred-c", "bf-c", "dred", "bf", "rematerialise"):
        kb.what_if({"edge": [("d", "e")]}, {"edge": [("b", "c")]}, maintenance=name)
    kb.update({"edge": [("d", "e")]}, {"edge": [("b", "c")]})
    dictionary = Dictionary()
    dictionary.encode([])
    dictionary.truncate(0)
    _exercise_modules()
    _exercise_large()


def _exercise_modules() -> None:
    """Run the kernels of rule modules, of closures of all kinds, and of the same without them."""
    import numpy as np

    from stratalog.closure.closure import ALL, Closure
    from stratalog.knowledge.build import materialise

    pairs = {"same": [(1, 2), (3, 4), (2, 3)], "path": [(1, 2), (2, 3)]}
    for modules in ("paper", "auto", "off"):
        kb = materialise(MODULES, pairs, modules=modules, progress=False)
        kb.update(delete={"same": [(2, 3)], "path": [(2, 3)]}, maintenance="dred-c")
    few = np.array([1, 2, 3, 3], np.uint32), np.array([2, 3, 1, 4], np.uint32)
    none = few[0][:0], few[0][:0]
    ends = few[0][:2], few[1][:2]
    for kind in ({}, {"linear": True}, {"symmetric": True}):
        closure = Closure(**kind)
        steps = (none, few) if "linear" in kind else (None, None)
        closure.change(none, few, *steps)
        closure.commit()
        closure.change(ends, none)
        closure.regions_of(*few)
        for listing in (closure.forward, closure.backward):
            listing(few[0], ALL)
        list(closure.pairs(ALL))
        closure.roll_back()
        chain = np.arange(100, 5_000, dtype=np.uint32)
        closure.change(none, (chain[:-1], chain[1:]))  # tables grow
        for link in chain[::500]:  # and old rows leave gaps
            closure.commit()
            closure.change((chain[:1] * 0 + link, chain[:1] * 0 + link + 1), none)


def _exercise_large() -> None:
    """Run the kernels for which much data is needed: of threads, aggregates and intersections."""
    import numpy as np
    import pyarrow as pa

    from stratalog.kernels.numbers import sums
    from stratalog.knowledge.build import materialise

    # after billions of rows
    sums.settle(np.zeros((1, sums.LIMBS), np.int64))  # type: ignore[no-untyped-call]
    rows = np.arange(9_000)
    value = pa.table(
        {
            "group": rows // 3,
            "number": np.choose(rows % 3, [1e300, 1.0, 1e-300]) * (rows + 1),
            "price": pa.array(rows).cast(pa.decimal128(21, 2)),
            "name": rows.astype(str),
        }
    )
    random = np.random.default_rng(0)
    links = random.integers(0, 400, (8_000, 2))
    scattered = random.integers(0, 100_000, (1_100_000, 2))
    nodes = np.arange(40_000)[:, None]
    hub = np.arange(500)[:, None] * [0, 1]
    keyed = np.concatenate([nodes * [1, 0], hub])
    facts = {"value": value, "link": links, "scattered": scattered, "node": nodes, "keyed": keyed}
    materialise(LARGE, facts, progress=False, threads=2)
