"""The dictionary gives each constant one number, finds it again and can take numbers back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stratalog.errors import DataError, EngineError, StoreError
from stratalog.lang.terms import BNODE_KIND, INTEGER, IRI_KIND, STRING, Term
from stratalog.pipeline import dictionary as module
from stratalog.pipeline.dictionary import FIRST_KINDS, Dictionary

terms = st.lists(
    st.builds(
        Term,
        st.sampled_from([IRI_KIND, BNODE_KIND, STRING, INTEGER, "@en", "http://a#t"]),
        st.text(alphabet="abé\U0001f600\0", max_size=40),
    ),
    max_size=200,
)


@settings(max_examples=40, deadline=None)
@given(terms, terms)
def test_it_is_a_python_dict_from_term_to_position(first, second):
    dictionary, expected = Dictionary(), {}
    for batch in (first, second, first):
        numbers = [expected.setdefault(term, len(expected)) for term in batch]
        assert dictionary.encode(batch).tolist() == numbers
        assert dictionary.find(batch).tolist() == numbers
    assert len(dictionary) == len(expected)
    assert dictionary.decode(range(len(expected))) == list(expected)


@settings(max_examples=40, deadline=None)
@given(terms, terms, terms)
def test_truncate_is_as_if_the_later_terms_had_never_been(first, second, third):
    dictionary, fresh = Dictionary(), Dictionary()
    dictionary.encode(first)
    fresh.encode(first)
    size = dictionary.checkpoint()
    dictionary.encode(second)
    dictionary.truncate(size)
    assert len(dictionary) == size
    assert dictionary.find(second).tolist() == fresh.find(second).tolist()
    assert dictionary.encode(third).tolist() == fresh.encode(third).tolist()


def test_truncate_leaves_no_gap_in_a_large_table():
    many = [Term(IRI_KIND, f"http://x/{i}") for i in range(20_000)]
    dictionary = Dictionary()
    dictionary.encode(many)
    dictionary.truncate(7_001)
    found = dictionary.find(many)
    assert found[:7_001].tolist() == list(range(7_001))
    assert (found[7_001:] == -1).all()
    assert dictionary.encode(many).tolist() == list(range(20_000))


def test_equal_texts_of_different_kinds_are_different_terms():
    dictionary = Dictionary()
    kinds = [IRI_KIND, BNODE_KIND, STRING, INTEGER, "@en", "@de", "http://a"]
    assert dictionary.encode([Term(kind, "1") for kind in kinds]).tolist() == list(range(7))
    assert dictionary.kinds == [*FIRST_KINDS, "@en", "@de", "http://a"]
    assert [dictionary.kinds[kind] for kind in dictionary.kind_ids] == kinds


def test_find_adds_neither_terms_nor_kinds():
    dictionary = Dictionary()
    assert dictionary.find([Term("@fr", "x"), Term(IRI_KIND, "")]).tolist() == [-1, -1]
    assert len(dictionary) == 0
    assert dictionary.kinds == list(FIRST_KINDS)


def test_texts_that_differ_in_one_byte_anywhere_are_told_apart():
    texts = ["x" * size for size in range(40)]
    texts += [t[:i] + "y" + t[i + 1 :] for t in texts for i in range(len(t))]
    dictionary = Dictionary()
    ids = dictionary.encode([Term(IRI_KIND, text) for text in texts])
    assert len(set(ids.tolist())) == len(set(texts)) == len(dictionary)


@pytest.mark.parametrize(
    "kind_of_array",
    [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int8(), pa.string()),
    ],
    ids=str,
)
def test_all_string_columns_are_read_with_their_offsets(kind_of_array):
    texts = ["never", "é", "", "b", "é", "also never"]
    column = pa.array(texts).cast(kind_of_array)[1:5]
    dictionary = Dictionary()
    ids = dictionary.intern(STRING, column)
    assert dictionary.texts(ids).to_pylist() == texts[1:5]
    assert dictionary.intern(STRING, pa.chunked_array([column, column])).tolist() == [*ids, *ids]
    assert dictionary.intern(STRING, pa.chunked_array([], kind_of_array)).size == 0
    assert dictionary.intern(STRING, column[:0]).size == 0


def test_nulls_are_refused():
    for column in (pa.array(["a", None]), pa.array(["a", None]).dictionary_encode()):
        with pytest.raises(ValueError, match="nulls"):
            Dictionary().intern(STRING, column)


def test_half_a_surrogate_pair_is_a_data_error():
    with pytest.raises(DataError, match="D102"):
        Dictionary().encode([Term(STRING, "\ud800")])


def test_a_number_that_was_never_given_is_an_index_error():
    with pytest.raises(IndexError):
        Dictionary().decode([0])


def test_saved_and_loaded_it_is_the_same_and_can_grow():
    some = [Term("@en", f"text {i}") for i in range(500)] + [Term(IRI_KIND, "http://a")]
    dictionary = Dictionary()
    dictionary.encode(some)
    saved = pa.concat_tables([dictionary.to_table().slice(0, 200), dictionary.to_table(200)])
    loaded = Dictionary.from_table(dictionary.kinds, saved)
    assert loaded.kinds == dictionary.kinds
    assert loaded.find(some).tolist() == list(range(501))
    more = [*some, *(Term(STRING, str(i)) for i in range(2_000))]
    assert loaded.encode(more).tolist() == list(range(2_501))


def test_an_empty_dictionary_that_was_saved_takes_terms():
    loaded = Dictionary.from_table(list(FIRST_KINDS), Dictionary().to_table())
    assert len(loaded) == 0
    some = [Term(STRING, str(i)) for i in range(100)]
    assert loaded.encode(some).tolist() == list(range(100))
    assert loaded.decode(range(100)) == some


@pytest.mark.parametrize(
    ("kinds", "rows"),
    [
        (FIRST_KINDS, {"kind": [0, 0], "text": ["a", "a"]}),
        (FIRST_KINDS, {"kind": [0, 9], "text": ["a", "b"]}),
        (FIRST_KINDS, {"kind": [0, None], "text": ["a", "b"]}),
        (["bnode", "iri"], {"kind": [0, 1], "text": ["a", "b"]}),
    ],
    ids=["a term twice", "unknown kind", "null", "kinds in another order"],
)
def test_a_damaged_table_is_refused(kinds, rows):
    with pytest.raises(StoreError, match="T103"):
        Dictionary.from_table(kinds, pa.table(rows))


def table_of_bytes(data, offsets):
    buffers = [None, pa.py_buffer(np.array(offsets, np.int64)), pa.py_buffer(data)]
    texts = pa.LargeStringArray.from_buffers(len(offsets) - 1, *buffers[1:])
    return pa.table({"kind": np.zeros(len(offsets) - 1, np.int32), "text": texts})


@pytest.mark.parametrize(
    ("data", "offsets"),
    [
        (b"a\xff", [0, 1, 2]),
        ("é".encode(), [0, 1, 2]),
        (b"abcd", [0, 3, 1, 4]),
    ],
    ids=["no UTF-8", "a character cut in two", "backwards"],
)
def test_texts_that_are_no_unicode_are_refused(data, offsets):
    with pytest.raises(StoreError, match="T103"):
        Dictionary.from_table(FIRST_KINDS, table_of_bytes(data, offsets))


@pytest.mark.parametrize("data", [b"abc", "aé".encode()])
def test_texts_of_unicode_are_taken(data):
    loaded = Dictionary.from_table(FIRST_KINDS, table_of_bytes(data, [0, 1, 3]))
    assert [term.text.encode() for term in loaded.decode([0, 1])] == [data[:1], data[1:]]


def test_too_many_terms_is_an_engine_error(monkeypatch):
    monkeypatch.setattr(module, "MOST_TERMS", 3)
    dictionary = Dictionary()
    with pytest.raises(EngineError, match="E110"):
        dictionary.encode([Term(STRING, str(i)) for i in range(4)])
    assert len(dictionary) == 3


def test_an_empty_dictionary_is_small():
    assert Dictionary().nbytes < 2_000


def test_large_batches_are_cut_into_several_calls(monkeypatch):
    monkeypatch.setattr(module, "SPANS_PER_CALL", 7)
    dictionary = Dictionary()
    column = pa.array([str(i % 13) for i in range(100)])
    assert dictionary.intern(STRING, column).tolist() == [i % 13 for i in range(100)]
    assert np.array_equal(dictionary.kind_ids, np.full(13, 2))
