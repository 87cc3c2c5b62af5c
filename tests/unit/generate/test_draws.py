"""Random numbers: in their ranges, different where promised, and the same for ever."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stratalog_bench.generate.draws import Draws

BELOW = [636, 269, 40, 16, 813, 912]
SHUFFLED = [2, 4, 7, 3, 5, 1, 0, 6]
FRACTIONS = [0.6369616873214543, 0.2697867137638703]


def test_a_stream_is_the_same_everywhere_and_for_ever():
    assert Draws(0).below(1000, 6).tolist() == BELOW
    assert Draws(7, 3).shuffled(8).tolist() == SHUFFLED
    assert Draws(0).fractions(2).tolist() == FRACTIONS


def test_streams_of_different_keys_differ():
    streams = {tuple(Draws(0, key).words(4).tolist()) for key in range(50)}
    assert len(streams) == 50


def test_numbers_between_two_others_include_both_and_are_uniform():
    numbers = Draws(1).between(3, 6, 40_000)
    counts = np.bincount(numbers, minlength=7)
    assert counts[:3].tolist() == [0, 0, 0]
    assert (np.abs(counts[3:] - 10_000) < 500).all()


@given(seed=st.integers(0, 2**64), bounds=st.lists(st.integers(1, 2**32 - 1), max_size=20))
def test_each_number_is_below_its_own_bound(seed, bounds):
    numbers = Draws(seed).below(np.array(bounds, np.int64), len(bounds))
    assert all(0 <= number < bound for number, bound in zip(numbers, bounds, strict=True))


@given(data=st.data(), seed=st.integers(0, 1000))
def test_a_sample_has_different_numbers_below_its_bound(data, seed):
    amounts = data.draw(st.lists(st.integers(0, 5), max_size=12))
    bounds = [amount + data.draw(st.integers(0, 4)) for amount in amounts]
    rows, numbers = Draws(seed).samples(np.array(bounds, np.int64), np.array(amounts, np.int64))
    for place, (bound, amount) in enumerate(zip(bounds, amounts, strict=True)):
        found = numbers[rows == place].tolist()
        assert len(set(found)) == len(found) == amount
        assert all(0 <= number < bound for number in found)


def test_every_sample_is_as_likely_as_another():
    size = 60_000
    rows, numbers = Draws(2).samples(np.full(size, 4), np.full(size, 2))
    assert (np.bincount(rows) == 2).all()
    pairs = np.sort(numbers.reshape(-1, 2), axis=1)
    counts = np.unique(pairs, axis=0, return_counts=True)[1]
    assert len(counts) == 6
    assert (np.abs(counts - 10_000) < 500).all()


def test_groups_are_shuffled_apart():
    groups = np.array([0, 0, 0, 1, 1, 2, 2, 2, 2])
    order = Draws(5).shuffled_within(groups)
    assert groups[order].tolist() == groups.tolist()
    assert sorted(order.tolist()) == list(range(9))
