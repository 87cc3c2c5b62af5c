"""Comparing the reader on Spark with the local one: same facts, numbers, reports and errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from stratalog.errors import StratalogError
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.facts import EncodedFacts
from stratalog.pipeline.local import read_paths
from stratalog.pipeline.spark_read import read_spark


def assert_same(one: EncodedFacts, other: EncodedFacts) -> None:
    """Fail unless both hold the same rows under the same numbers, and tell the same."""
    assert set(one.predicates()) == set(other.predicates())
    for predicate in one.predicates():
        assert one.size(predicate) == other.size(predicate)
        assert one.origin(predicate) == other.origin(predicate)
        for left, right in zip(one.columns(predicate), other.columns(predicate), strict=True):
            assert np.array_equal(left, right), predicate
    assert one.report == other.report
    assert list(map(str, one.warnings)) == list(map(str, other.warnings))


def assert_same_terms(one: Dictionary, other: Dictionary) -> None:
    """Fail unless all numbers stand for the same terms."""
    assert one.decode(range(len(one))) == other.decode(range(len(other)))


def read_both(spark: Any, items: Sequence[Any], size: int, **options: Any) -> EncodedFacts:
    """Return the facts that both readers find, Spark's in parts of `size` bytes."""
    local, remote = Dictionary(), Dictionary()
    here = read_paths(items, dictionary=local, **options)
    there = read_spark(spark, items, dictionary=remote, range_size=size, **options)
    assert_same_terms(local, remote)
    assert_same(here, there)
    return there


def fail_both(spark: Any, items: Sequence[Any], size: int, **options: Any) -> StratalogError:
    """Return the error that both readers raise; Spark's leaves the dictionary as it was."""
    with pytest.raises(StratalogError) as here:
        read_paths(items, dictionary=Dictionary(), **options)
    dictionary = Dictionary()
    with pytest.raises(StratalogError) as there:
        read_spark(spark, items, dictionary=dictionary, range_size=size, **options)
    assert str(there.value) == str(here.value)
    assert (there.value.code, there.value.path, there.value.line) == (
        here.value.code,
        here.value.path,
        here.value.line,
    )
    assert not len(dictionary)
    return there.value
