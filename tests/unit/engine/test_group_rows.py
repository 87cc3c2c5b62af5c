from __future__ import annotations

import numpy as np
import pytest

from stratalog.engine.values import group_rows
from stratalog.engine.values.group_rows import Rows, first_rows, numbered, sizes_of


@pytest.fixture(params=["table", "hash"])
def pairs(request, monkeypatch):
    """Left and right ids, few and many distinct ones, with the way of numbering forced."""
    sign = 1 if request.param == "table" else -1
    monkeypatch.setattr(group_rows, "TABLE_PER_ROW", sign * 10**9)
    monkeypatch.setattr(group_rows, "BITS_PER_ROW", sign * 10**9)
    monkeypatch.setattr(group_rows, "ROWS", 7001)
    source = np.random.default_rng(0)
    drawn = [(source.integers(0, n, 20_000), source.integers(5, 5 + n, 20_000)) for n in (3, 300)]
    return [(left.astype(np.uint32), right.astype(np.uint32)) for left, right in drawn]


def test_pairs_get_dense_numbers_by_appearance(pairs):
    for left, right in pairs:
        firsts, numbers = numbered(left, 300, right)
        known = {}
        expected = [known.setdefault(p, len(known)) for p in zip(left, right, strict=True)]
        assert numbers.tolist() == expected
        assert firsts.tolist() == [expected.index(number) for number in range(len(known))]
        assert first_rows(left, 300, right).tolist() == firsts.tolist()
        assert sizes_of(numbers, len(known)).tolist() == np.bincount(expected).tolist()


def test_the_largest_ids_are_told_apart():
    left = np.array([0, 2**32 - 2, 2**32 - 2, 0], np.uint32)
    right = np.array([2**32 - 2, 2**32 - 2, 0, 2**32 - 2], np.uint32)
    assert numbered(left, 2**32 - 1, right)[1].tolist() == [0, 1, 2, 0]
    assert first_rows(left, 2**32 - 1, right).tolist() == [0, 1, 2]


def test_rows_of_some_groups():
    rows = Rows(
        *(np.array(c, np.uint32) for c in ([7, 8, 9, 7], [2, 0, 2, 1])), np.array([1, 1, 2])
    )
    chosen = rows.chosen(np.array([True, False, True]))
    assert (chosen.values.tolist(), chosen.group.tolist()) == ([7, 8, 9], [1, 0, 1])
    assert chosen.sorted().values.tolist() == [8, 7, 9]
    values, places = rows.dense()
    assert values[places.values].tolist() == [7, 8, 9, 7]
