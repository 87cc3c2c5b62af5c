"""Rule modules keep the facts and both counts of the judge, whatever else derives their relations.

The layers of `updates` say of two relations that they are transitive, of one that it is symmetric,
and have other rules that derive and consume them in the same recursion.
"""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from tests import updates
from tests.oracle import histories
from tests.oracle.test_maintenance import follow

ALGORITHMS = ["dred-c", "bf-c", "dred", "rematerialise", histories.MIXED]


@pytest.mark.parametrize("modules", ["auto", "paper"])
@given(made=updates.of_modules())
def test_modules_among_other_rules_are_maintained(engine: str, modules: str, made: updates.Random):
    follow(made, engine, ALGORITHMS, modules=modules)


@given(made=updates.of_random_programs())
@settings(max_examples=max(1, settings().max_examples // 4))
def test_random_programs_with_modules_are_maintained(engine: str, made: updates.Random):
    follow(made, engine, ALGORITHMS, modules="auto")
