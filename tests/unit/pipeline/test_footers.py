"""What our writer writes is read quickly, and never in another way than by the thorough reader."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

from stratalog.pipeline import parts
from stratalog.pipeline.documents import OddDocumentError
from stratalog.pipeline.footers import _any_footer, _usual_footer, read_footer
from stratalog.pipeline.snapshot import DICTIONARY_SCHEMA, relation_schema


def footer_of(table):
    content = parts.encode_table(table).to_pybytes()
    size = int.from_bytes(content[-8:-4], "little")
    return content[-8 - size : -8]


def relation(arity, rows):
    numbers = np.arange(rows) * 1_000_003
    columns = [*(pa.array(numbers),) * arity, *(pa.array(np.ones(rows, np.int32)),) * 3]
    return pa.table(columns, schema=relation_schema(arity))


def thorough(content):
    try:
        return _any_footer(content)
    except OddDocumentError:
        return None


@pytest.mark.parametrize("rows", [1, 20, 100_000])
@pytest.mark.parametrize("arity", [0, 1, 2, 3, 10])
def test_both_readers_agree_on_relations(arity, rows):
    content = footer_of(relation(arity, rows))
    found = _usual_footer(content)
    assert found is not None
    assert found == _any_footer(content)
    assert found.rows == found.groups[0].rows == rows
    assert len(found.groups[0].chunks) == arity + 3


def test_the_thorough_reader_takes_what_is_not_usual():
    constants = pa.table([pa.array([2, 2], pa.int32()), ["a", "b"]], schema=DICTIONARY_SCHEMA)
    for table in (relation(2, 0), relation(11, 3), relation(14, 3), constants):
        content = footer_of(table)
        assert _usual_footer(content) is None
        assert read_footer(content).rows == table.num_rows


def test_both_readers_agree_on_what_was_changed():
    content = footer_of(relation(1, 20))
    for at, byte in itertools.product(range(len(content)), (0, 1, 0x0C, 0x16, 0x80, 0xFF, None)):
        odd = bytearray(content)
        odd[at] = odd[at] + 16 & 255 if byte is None else byte  # one more in a list, or one later
        found = _usual_footer(bytes(odd))
        assert found is None or found == thorough(bytes(odd))


def test_both_readers_agree_on_what_lacks_or_repeats_a_part():
    content = footer_of(relation(1, 20))
    for first, size in itertools.product(range(len(content)), (1, 3, 9, 11, 15)):
        part = content[first : first + size]
        for odd in (
            content[:first] + part + content[first:],
            content[:first] + content[first:][size:],
        ):
            found = _usual_footer(odd)
            assert found is None or found == thorough(odd)
