"""`apply` of the columnar engine against the definition of Π[Iᵖ, Iⁿ : Δᵖ, Δⁿ], which the reference
engine spells out.

Results alone cannot see an instance that is considered twice: the counts of heads must be equal
too.
"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stratalog.engine.columnar.batch import ColumnarBatch
from stratalog.engine.columnar.engine import ColumnarEngine
from stratalog.engine.reference import FactBatch, ReferenceEngine
from stratalog.facts.engine import Count
from stratalog.facts.labels import D, I
from stratalog.lang.parse import parse_program
from stratalog.lang.syntax import Predicate
from stratalog.lang.values.terms import term_of
from stratalog.pipeline.dictionary import Dictionary
from stratalog.plan.program import plan_program

P, Q, R, S = Predicate("p", 2), Predicate("q", 2), Predicate("r", 1), Predicate("s", 3)
VARIABLES = ["?x", "?y", "?z", "?w"]

arguments = st.sampled_from([*VARIABLES, *VARIABLES, "0", "1"])
predicates = st.sampled_from([P, Q, R, S])


@st.composite
def atoms(draw, names=arguments):
    predicate = draw(predicates)
    args = draw(st.lists(names, min_size=predicate.arity, max_size=predicate.arity))
    return f"{predicate.name}({', '.join(args)})"


@st.composite
def rules(draw):
    body = draw(st.lists(atoms(), min_size=1, max_size=4))
    bound = sorted({v for v in VARIABLES if any(v in atom for atom in body)})
    names = st.sampled_from([*bound, "0", "1"])
    negated = draw(st.lists(atoms(names), max_size=2))
    head = draw(st.lists(names, min_size=2, max_size=2))
    filters = draw(st.sampled_from(["", f", {bound[0]} < 2"])) if bound else ""
    literals = ", ".join([*body, *(f"NOT {atom}" for atom in negated)])
    return f"h({', '.join(head)}) :- {literals}{filters} ."


constants = st.integers(0, 2)


@st.composite
def fact_lists(draw, size=12):
    found = draw(
        st.lists(st.tuples(predicates, st.tuples(constants, constants, constants)), max_size=size)
    )
    return sorted({(predicate, args[: predicate.arity]) for predicate, args in found})


def encode(args):
    return tuple(term_of(a) for a in args)


def columnar(facts, dictionary):
    engine = ColumnarEngine(dictionary)
    for predicate, args in facts:
        ids = dictionary.encode(list(encode(args)))
        engine.load(predicate, [ids[i : i + 1] for i in range(predicate.arity)], 1)
    return engine


def reference(facts, dictionary):
    engine = ReferenceEngine(dictionary)
    for predicate, args in facts:
        engine.load(predicate, [encode(args)])
    return engine


def batch(engine, facts):
    """The facts as a batch of the engine, whatever engine it is."""
    if isinstance(engine, ReferenceEngine):
        return FactBatch((p, encode(args)) for p, args in facts)
    rows = {}
    for predicate, args in facts:
        relation = engine.relation(predicate)
        ids = engine.terms.encode(list(encode(args)))
        found = relation.find([ids[i : i + 1] for i in range(predicate.arity)], 1)
        rows.setdefault(relation.number, []).append(int(found[0]))
    return ColumnarBatch({n: np.array(r, np.uint32) for n, r in rows.items()})


def derived(engine, program, pos, neg, pos_delta, neg_delta):
    """Head facts with their multiplicities."""
    engine.mark(batch(engine, pos), I)
    engine.mark(batch(engine, neg), D)
    deltas = [None if d is None else batch(engine, d) for d in (pos_delta, neg_delta)]
    found = engine.apply(program.rules, I, D, *deltas, count=Count.RECURSIVE)
    if isinstance(engine, ReferenceEngine):
        counts = {a: e.counts[1] for a, e in engine.stored[Predicate("h", 2)].items()}
    else:
        relation = engine.relation(Predicate("h", 2))
        columns = [engine.terms.decode(c[: relation.rows]) for c in relation.columns]
        counts = dict(zip(zip(*columns, strict=True), relation.counts[1].tolist(), strict=False))
    counts = {args: n for args, n in counts.items() if n}
    assert len(found) == len(counts)
    return counts


@given(st.lists(rules(), min_size=1, max_size=2), fact_lists(), st.data())
def test_every_instance_that_meets_a_delta_is_considered_exactly_once(texts, facts, data):
    program = plan_program(parse_program(" ".join(texts)))
    pos = [f for f in facts if data.draw(st.booleans())]
    neg = [f for f in facts if data.draw(st.booleans())]
    pos_delta = [f for f in pos if data.draw(st.booleans())]
    neg_delta = [f for f in facts if f not in neg and data.draw(st.booleans())]
    dictionary = Dictionary()
    arguments = program, pos, neg, pos_delta, neg_delta
    expected = derived(reference(facts, dictionary), *arguments)
    assert derived(columnar(facts, dictionary), *arguments) == expected


@given(st.lists(rules(), min_size=1, max_size=2), fact_lists(), st.data())
def test_without_deltas_every_instance_is_considered(texts, facts, data):
    program = plan_program(parse_program(" ".join(texts)))
    pos = [f for f in facts if data.draw(st.booleans())]
    neg = [f for f in facts if data.draw(st.booleans())]
    dictionary = Dictionary()
    expected = derived(reference(facts, dictionary), program, pos, neg, None, None)
    assert derived(columnar(facts, dictionary), program, pos, neg, None, None) == expected
