"""Programs of the golden folder have the same facts and counts on Spark; `--engines spark` for all.

A sample stands for the others: a round of Spark takes as long as a program of the columnar engine.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.golden.test_golden import HERE, expected, materialise, relations

SAMPLE = ("aggregates", "arities", "exact_sums", "negation_existential", "triple_atoms")


@pytest.mark.parametrize("name", SAMPLE)
def test_facts_and_counts_are_those_of_the_columnar_engine(spark: Any, name: str):
    path = HERE / f"{name}.dlog"
    kb = materialise(path, "spark", spark=spark)
    assert relations(kb) == expected(path.with_suffix("") / "expected")
    other = materialise(path, "columnar")
    assert kb._counts() == other._counts()
    assert kb.stats["derivations"] == other.stats["derivations"]
