from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratalog.engine.values import group_rows
from stratalog.engine.values import grouping as grouping_module
from stratalog.engine.values.expressions import Evaluator
from stratalog.engine.values.grouping import reduce_groups
from stratalog.lang.builtins.functions import ExpressionError, evaluate
from stratalog.lang.reductions import reduce_terms
from stratalog.lang.syntax import Call, Reduction, Variable
from stratalog.lang.terms import XSD
from stratalog.lang.values.terms import IRI, BNode, Literal, term_of
from stratalog.pipeline.dictionary import Dictionary
from stratalog.plan.rules import Grouping

G, H, X, N = (Variable(name) for name in "ghxn")
keys = st.sampled_from([1, 2, "a", IRI("a")]).map(term_of)
integers = st.one_of(
    st.integers(-3, 3), st.sampled_from([2**62, 2**62 + 1, -(2**62), 10**17, 10**20])
)
doubles = st.sampled_from(
    [0.0, -0.0, 0.1, 0.2, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan]
)
decimals = st.one_of(
    st.decimals(-100, 100, places=2),
    st.integers(-3, 3),
    st.sampled_from(
        [Decimal(text) for text in ("0.1", "1.000000001", "0.0000000001", "123456789012345678.5")]
    ),
)
names = st.sampled_from(
    [IRI("a"), IRI("b"), BNode("z"), "", "a", "b", "\uffff", "\U0001f600", "\u00e9"]
)
odd = st.sampled_from(
    [
        *(Literal(text, datatype=XSD + "integer") for text in ("5.0", "x", "1")),
        *(Literal(text, datatype=XSD + "decimal") for text in ("1.2.3", "7.0", "x")),
        *(Literal(text, datatype=XSD + "float") for text in ("0.1", "2.5")),
        Literal("3", datatype=XSD + "int"),
        Literal("a", lang="en"),
        Decimal("0.5"),
        1,
        0.5,
        True,
    ]
)
mixed = st.one_of(integers, doubles, st.sampled_from(["a", "b", Decimal("0.1"), IRI("a"), True]))
columns_of_values = st.one_of(
    *(
        st.lists(st.tuples(keys, keys, kind.map(term_of)), max_size=15)
        for kind in (integers, doubles, decimals, names, odd, mixed)
    )
)
expressions = st.sampled_from([X, Call("+", (X, X)), term_of(1), None])


def expected_rows(grouping, rows):
    groups = {}
    for row in rows:
        binding = dict(zip((G, H, X), row, strict=True))
        groups.setdefault(tuple(binding[v] for v in grouping.group), []).append(binding)
    found = set()
    for key, bindings in groups.items():
        try:
            found.add(
                key + tuple(one_value(reduction, bindings) for reduction in grouping.reductions)
            )
        except ExpressionError:
            continue
    return found


def one_value(reduction, bindings):
    if reduction.expression is None:
        return reduce_terms("COUNT", distinct=False, terms=[term_of(0)] * len(bindings))
    terms = [evaluate(reduction.expression, binding) for binding in bindings]
    return reduce_terms(reduction.function, distinct=reduction.distinct, terms=terms)


def actual_rows(grouping, rows):
    dictionary = Dictionary()
    columns = {
        variable: dictionary.encode([row[place] for row in rows])
        for place, variable in enumerate((G, H, X))
    }
    heads = reduce_groups(dictionary, Evaluator(dictionary), grouping, columns, len(rows))
    assert all(head.dtype == np.uint32 for head in heads)
    found = list(zip(*(dictionary.decode(head) for head in heads), strict=True))
    assert len(found) == len(set(found))
    return set(found)


groups_and_parts = (
    st.sampled_from([(), (G,), (G, H)]),
    st.lists(
        st.tuples(
            st.sampled_from(["COUNT", "SUM", "MIN", "MAX", "AVG"]), st.booleans(), expressions
        ),
        min_size=1,
        max_size=3,
    ),
    columns_of_values,
)


@settings(deadline=None)
@given(*groups_and_parts)
def test_groups_give_what_single_groups_give(group, parts, rows):
    check(group, parts, rows)


@settings(deadline=None)
@given(*groups_and_parts)
def test_many_groups_give_what_single_groups_give(group, parts, rows):
    with pytest.MonkeyPatch.context() as patch:  # what is done with more groups and rows than here
        patch.setattr(grouping_module, "_FEW", 0)
        patch.setattr(group_rows, "ROWS", 4)
        patch.setattr(group_rows, "TABLE_PER_ROW", -(10**9))
        patch.setattr(group_rows, "BITS_PER_ROW", -(10**9))
        check(group, parts, rows)


def check(group, parts, rows):
    reductions = tuple(
        Reduction("COUNT" if expression is None else function, distinct, expression, N)
        for function, distinct, expression in parts
    )
    grouping = Grouping(group, reductions)
    assert actual_rows(grouping, rows) == expected_rows(grouping, rows)


@pytest.mark.parametrize("group", [(), (G,)])
def test_no_rows_give_no_groups(group):
    grouping = Grouping(group, (Reduction("COUNT", False, None, N),))
    assert actual_rows(grouping, []) == set()


def test_a_group_with_an_error_gives_no_fact():
    grouping = Grouping((G,), (Reduction("SUM", False, X, N), Reduction("COUNT", False, X, H)))
    rows = [tuple(map(term_of, row)) for row in [(1, 0, 5), (1, 1, "a"), (2, 0, 7)]]
    assert actual_rows(grouping, rows) == {tuple(map(term_of, (2, 7, 1)))}


def test_many_slow_groups_are_read_in_parts(monkeypatch):
    monkeypatch.setattr(grouping_module, "_CHUNK", 3)
    floats = [term_of(Literal(str(i), datatype=XSD + "float")) for i in range(140)]
    rows = [(term_of(i % 70), term_of(i), floats[i]) for i in range(140)]
    check((G,), [(function, False, X) for function in ("MAX", "SUM")], rows)


def test_sums_that_pairs_cannot_hold_are_added_again(monkeypatch):
    monkeypatch.setattr(grouping_module, "_FEW", 0)
    values = [1e300, 1.0, 1e-300, -1e300, 3, 2**53 + 1]
    rows = [(term_of(g), term_of(i), term_of(v)) for g in (1, 2) for i, v in enumerate(values[g:])]
    for function in ("SUM", "AVG"):
        check((G,), [(function, False, X)], rows)


def test_sums_beyond_64_bits_are_exact():
    rows = [(term_of(i % 2), term_of(i), term_of(-(10**18) + 1 + i % 3)) for i in range(60)]
    for function in ("SUM", "AVG"):
        check((G,), [(function, False, X)], rows)


def test_carries_of_limbs_are_moved_in_time(monkeypatch):
    monkeypatch.setattr(group_rows, "ROWS", 4)
    monkeypatch.setattr(grouping_module, "ROWS", 4)
    monkeypatch.setattr(grouping_module.sums, "SETTLE_AFTER", 8)
    rows = [(term_of(1), term_of(i), term_of(-0.1 * i)) for i in range(50)]
    check((G,), [("SUM", False, X)], rows)


def test_many_different_sums_get_their_ids():
    rows = [
        (term_of(i % 3000), term_of(i), term_of(i * 10**9 + 0.25 * (i % 2))) for i in range(6000)
    ]
    whole = [(g, i, term_of(int(float(x.text)))) for g, i, x in rows]
    for given_rows in (rows, whole):
        parts = [(function, False, X) for function in ("SUM", "AVG", "MIN", "MAX")]
        check((G,), parts, given_rows)
