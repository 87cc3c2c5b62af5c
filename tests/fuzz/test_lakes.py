"""Tables of Delta Lake and Iceberg that were changed at random are refused with a code, or read."""

import pytest

from tests.fuzz.lake_cases import KINDS, run

CASES = 150  # of each kind


@pytest.mark.parametrize("kind", KINDS)
def test_tables_with_changed_bytes_are_refused_with_a_code_or_read(kind):
    ends = run(0, CASES, [kind])
    assert sum(ends.values()) == CASES
    assert {"read", "D134"} <= ends.keys()
