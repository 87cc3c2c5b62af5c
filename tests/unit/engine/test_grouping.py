from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratalog.engine.columnar import grouping as grouping_module
from stratalog.engine.columnar.expressions import Evaluator
from stratalog.engine.columnar.grouping import reduce_groups
from stratalog.lang.builtins import ExpressionError, evaluate
from stratalog.lang.reductions import reduce_terms
from stratalog.lang.syntax import Call, Reduction, Variable
from stratalog.lang.values import IRI, term_of
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
mixed = st.one_of(integers, doubles, st.sampled_from(["a", "b", Decimal("0.1"), IRI("a"), True]))
columns_of_values = st.one_of(
    *(
        st.lists(st.tuples(keys, keys, kind.map(term_of)), max_size=15)
        for kind in (integers, doubles, mixed)
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


@settings(deadline=None)
@given(
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
def test_groups_give_what_single_groups_give(group, parts, rows):
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
    rows = [(term_of(i % 70), term_of(i), term_of(Decimal(i))) for i in range(140)]
    grouping = Grouping((G,), (Reduction("MAX", False, X, N),))
    found = actual_rows(grouping, rows)
    assert found == {(term_of(i), term_of(Decimal(i + 70))) for i in range(70)}
