"""What Python and Numba spell differently means the same to both."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stratalog.kernels.closure.bits import lowest, ones
from stratalog.kernels.compiled import COMPILED
from stratalog.kernels.forms import PRIMITIVES
from stratalog.kernels.jit import INTERPRETED, kernel
from stratalog.kernels.memory import add_at_once, i32, i64, u16, u32
from stratalog.kernels.terms.intern import fold_product, load_word, prefetch_word
from stratalog.kernels.wrapping import difference, product, total

WORDS = st.integers(0, 2**64 - 1).map(np.uint64)
NUMBERS = st.integers(-(2**63), 2**63 - 1).map(np.int64)


@kernel
def count_and_place(word):
    return ones(word), lowest(word)


@kernel
def both_halves(left, right):
    return fold_product(left, right)


@kernel
def wrapped(left, right):
    return product(left, right), difference(left, right)


@kernel
def added(left, right):
    return total(left, right)


@kernel
def word_at(data, index):
    prefetch_word(data, index)
    return load_word(data, index)


@kernel
def read_all(address, size):
    return (
        u16(address, size)[0],
        u32(address, size)[1],
        i32(address, size)[0],
        i64(address, size)[1],
    )


@kernel
def add_twice(d):
    first = add_at_once(d, 1, 5)
    return first, add_at_once(d, 1, -2), d[1]


def in_both_forms(source, *arguments):
    place = source.__module__, source.__name__
    return INTERPRETED.kernel(place)(*arguments), COMPILED.kernel(place)(*arguments)


@given(WORDS)
def test_bits_of_a_word(word):
    python, compiled = in_both_forms(count_and_place, word)
    assert tuple(map(int, python)) == tuple(map(int, compiled))


@given(WORDS, WORDS)
def test_both_halves_of_a_product(left, right):
    python, compiled = in_both_forms(both_halves, left, right)
    assert int(python) == int(compiled)


@given(WORDS, WORDS)
def test_arithmetic_that_wraps(left, right):
    python, compiled = in_both_forms(wrapped, left, right)
    assert tuple(map(int, python)) == tuple(map(int, compiled))


@given(NUMBERS, NUMBERS)
def test_sums_that_are_too_large_are_negative(left, right):
    python, compiled = in_both_forms(added, left, right)
    assert int(python) == int(compiled)


@given(st.binary(min_size=8, max_size=40), st.data())
def test_eight_bytes_at_any_place(data, draw):
    index = np.uint64(draw.draw(st.integers(0, len(data) - 8)))
    python, compiled = in_both_forms(word_at, np.frombuffer(data, np.uint8).copy(), index)
    assert int(python) == int(compiled) == int.from_bytes(data[index : int(index) + 8], "little")


def test_arrays_by_address():
    cells = np.array([2**63 - 3, -(2**40) + 7], np.int64)
    python, compiled = in_both_forms(read_all, cells.ctypes.data, np.int64(2))
    assert tuple(map(int, python)) == tuple(map(int, compiled))


def test_an_address_of_nothing_is_an_empty_array():
    assert PRIMITIVES["stratalog.kernels.memory", "u32"](0, 7).size == 0


def test_addition_returns_what_was_there():
    place = add_twice.__module__, add_twice.__name__
    for form in (INTERPRETED, COMPILED):
        assert tuple(map(int, form.kernel(place)(np.array([0, 10])))) == (10, 15, 13)


def test_every_primitive_has_a_form_for_numba():
    from stratalog.kernels import intrinsics
    from stratalog.kernels.every import import_all

    import_all()
    assert [name for _, name in PRIMITIVES if not hasattr(intrinsics, name)] == []


@pytest.mark.parametrize("name", ["u16", "u32", "i32", "i64"])
def test_writing_through_an_address_changes_the_array(name):
    cells = np.zeros(4, np.int64)
    PRIMITIVES["stratalog.kernels.memory", name](cells.ctypes.data, 1)[0] = 7
    assert cells.tolist() == [7, 0, 0, 0]
