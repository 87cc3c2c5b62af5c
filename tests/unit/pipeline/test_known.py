"""Small tables of known constants are read together, and as if each had been read alone."""

import pyarrow as pa
import pytest

from stratalog.lang.parse import parse_program
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.facts import EncodedFacts
from stratalog.pipeline.files import ReadReport
from stratalog.pipeline.known import FEW, encode_known
from stratalog.pipeline.objects import encode_facts
from stratalog.pipeline.tables import Vocabulary

DECLARED = parse_program(
    "@declare knows(who iri, whom iri) . @declare age(who iri, years integer) ."
).declarations
KNOWS = pa.table({"who": ["urn:a", "urn:b", "urn:a"], "whom": ["urn:c", "urn:a", "urn:c"]})
AGE = pa.table({"who": ["urn:b"], "years": ["42"]})
NAME = pa.table({"c0": ["Ada", "Bob"], "c1": ["urn:a", "Ada"]})
FACTS = {"knows": KNOWS, "age": AGE, "name": NAME}


def read(facts, dictionary):
    found = EncodedFacts(ReadReport())
    is_read = encode_known(facts, found, Vocabulary(DECLARED), dictionary)
    return found if is_read else None


@pytest.fixture
def dictionary():
    dictionary = Dictionary()
    encode_facts(FACTS, declarations=DECLARED, dictionary=dictionary)
    return dictionary


def as_lists(found):
    return {predicate: [column.tolist() for column in columns] for predicate, columns, _ in found}


def test_they_have_the_numbers_that_reading_each_alone_gives(dictionary):
    alone = encode_facts(FACTS, declarations=DECLARED, dictionary=dictionary)
    together = read(FACTS, dictionary)
    assert as_lists(together) == as_lists(alone)
    assert together.report.rows == 6


def test_coded_columns_are_read_too(dictionary):
    coded = {"knows": KNOWS.set_column(0, "who", KNOWS["who"].dictionary_encode())}
    alone = encode_facts({"knows": KNOWS}, declarations=DECLARED, dictionary=dictionary)
    assert as_lists(read(coded, dictionary)) == as_lists(alone)


@pytest.mark.parametrize("target", [None, "integer", "decimal", "double", "string", "term"])
@pytest.mark.parametrize("kind", [pa.int8(), pa.int64(), pa.uint64()])
def test_a_few_integers_have_the_numbers_that_their_type_gives(kind, target):
    declared = parse_program(f"@declare p(a {target}) .").declarations if target else ()
    facts = {"p": pa.table({"a": pa.array([127, 0, 7, 7][:FEW], kind)})}
    dictionary = Dictionary()
    assert read(facts, dictionary) is None
    alone = encode_facts(facts, declarations=declared, dictionary=dictionary)
    known = len(dictionary)
    found = EncodedFacts(ReadReport())
    assert encode_known(facts, found, Vocabulary(declared), dictionary)
    assert as_lists(found) == as_lists(alone)
    assert len(dictionary) == known


def test_integers_of_many_rows_are_left_to_the_usual_way():
    facts = {"p": pa.table({"a": [1, 2] * FEW})}
    dictionary = Dictionary()
    encode_facts(facts, dictionary=dictionary)
    assert read(facts, dictionary) is None


@pytest.mark.parametrize(
    "other",
    [
        pa.table({"who": ["urn:a"], "whom": ["urn:new"]}),
        pa.table({"who": ["urn:a"], "whom": ["not an IRI"]}),
        pa.table({"who": ["urn:a"], "whom": pa.array([None], pa.string())}),
        pa.table({"who": [1], "whom": [2]}),
        pa.table({"who": [1.5], "whom": [2.5]}),
        [("urn:a", "urn:b")],
    ],
)
def test_new_bad_missing_and_other_values_are_left_to_the_usual_way(dictionary, other):
    known = len(dictionary)
    assert read({"age": AGE, "knows": other}, dictionary) is None
    assert len(dictionary) == known
