"""A thousand mutated stores; `python -m tests.fuzz.long_run --stores 10000` runs many more."""

import pytest

from tests.fuzz.long_run import in_process

MORE = [(80, 120), (200, 800)]


@pytest.mark.parametrize(
    ("first", "count"), [(0, 80), *(pytest.param(*some, marks=pytest.mark.slow) for some in MORE)]
)
def test_mutated_stores_are_refused_with_a_code_or_give_facts_that_are_well_formed(first, count):
    became = in_process("stores", first, count)
    assert sum(became.values()) == count
    assert became["T103"] > count / 4  # many are seen to be wrong
    assert became["None"] > count / 8  # and many are not wrong: opened, used and compared
