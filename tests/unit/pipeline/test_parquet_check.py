"""Small files that ask for much are refused by their headers, before they are unpacked."""

import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stratalog.errors import StoreError
from stratalog.pipeline import parquet_check, parts
from stratalog.pipeline.manifest import FilePart
from stratalog.pipeline.page_headers import _any_header, _header, pages
from stratalog.pipeline.snapshot import DICTIONARY_SCHEMA, relation_schema

ROWS = 3_000


@pytest.fixture
def root(tmp_path):
    (tmp_path / "data").mkdir()
    return tmp_path


def stored(root, table, **settings):
    path = root / "data" / "x.parquet"
    if settings:
        pq.write_table(table, path, store_schema=False, **settings)
    else:
        parts.write_table(path, table)
    return parts.describe(root, path, table.num_rows)


def relation(rows=ROWS):
    numbers = np.arange(rows)
    ones = np.ones(rows, np.int32)
    columns = [pa.array(numbers), pa.array(numbers[::-1].copy()), *(pa.array(ones),) * 3]
    return pa.table(columns, schema=relation_schema(2))


def constants(texts):
    return pa.table(
        [pa.array(np.zeros(len(texts), np.int32)), pa.array(texts, pa.large_string())],
        schema=DICTIONARY_SCHEMA,
    )


def refused(action):
    with pytest.raises(StoreError) as caught:
        action()
    assert caught.value.code == "T103"
    return caught.value.message


def read(root, part):
    return parts.read_relation(root, 2, (part,))


def test_what_we_write_is_read(root):
    assert read(root, stored(root, relation())).equals(relation())
    part = stored(root, constants([f"t{i}" for i in range(ROWS)]))
    assert parts.read_dictionary(root, (part,)).num_rows == ROWS


def test_quick_and_thorough_readers_of_headers_agree(root):
    for table in (relation(70_000), constants([f"t{i}" for i in range(50_000)])):
        part = stored(root, table)
        content = (root / part.path).read_bytes()
        metadata = pq.ParquetFile(root / part.path).metadata
        for place in range(metadata.num_columns):
            column = metadata.row_group(0).column(place)
            start = column.dictionary_page_offset or column.data_page_offset
            end = start + column.total_compressed_size
            unpacked = sum(page.unpacked for page in pages(content[start:end]))
            assert unpacked <= column.total_uncompressed_size  # which counts the headers too
            while start < end:
                page, body = _header(content, start)
                assert (page, body) == _any_header(content, start)
                start = body + page.packed


def test_a_text_that_a_dictionary_repeats_is_refused(root):
    repeated = pa.DictionaryArray.from_arrays(np.zeros(ROWS, np.int32), ["x" * 1_000_000])
    kinds = pa.array(np.zeros(ROWS, np.int32))
    table = pa.table({"kind": kinds, "text": repeated})
    part = stored(root, table, use_dictionary=True, compression="zstd")
    assert part.bytes < 100_000  # for three gigabytes
    assert "encoded" in refused(lambda: parts.read_dictionary(root, (part,)))


def test_texts_that_are_packed_too_well_are_refused(root, monkeypatch):
    monkeypatch.setattr(parquet_check, "_LEAST_TEXT", 1 << 20)
    part = stored(root, constants(["x" * 1_000_000] * 8), use_dictionary=False, compression="zstd")
    assert "size" in refused(lambda: parts.read_dictionary(root, (part,)))


def test_a_page_that_claims_to_be_large_is_refused(root):
    part = stored(root, relation(100))
    content = bytearray((root / part.path).read_bytes())
    column = pq.ParquetFile(root / part.path).metadata.row_group(0).column(0)
    page, body = _header(content, column.data_page_offset)
    assert bytes(content[column.data_page_offset :][:3]) == b"\x15\x00\x15"
    at = column.data_page_offset + 3
    while content[at] >= 128:  # the size unpacked becomes the largest of as many bytes
        content[at] = 255
        at += 1
    content[at] = 126
    told = _header(content, column.data_page_offset)[0]
    assert told.unpacked >= page.unpacked
    assert body == _header(content, column.data_page_offset)[1]
    large = parquet_check._VALUE * 100 + parquet_check._SLACK + 1
    with pytest.raises(parquet_check.OddDocumentError, match="larger"):
        parquet_check._check_numbers(iter([told._replace(unpacked=large)]), 100)


def test_rows_that_are_not_there_are_refused(root):
    part = stored(root, relation())
    more = FilePart(part.path, part.bytes, part.crc32, 10**9)
    assert "rows" in refused(lambda: read(root, more))


def test_groups_larger_than_ours_are_refused(root, monkeypatch):
    part = stored(root, relation())
    monkeypatch.setattr(parquet_check, "ROWS_PER_GROUP", ROWS - 1)
    assert "group" in refused(lambda: read(root, part))


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.drop_columns(["c1"]),
        lambda table: table.append_column("more", table["c1"]),
        lambda table: table.set_column(0, "c0", table["c0"].cast(pa.string())),
        lambda table: table.set_column(0, "c0", pa.array([[1]] * ROWS)),
        lambda table: table.set_column(2, "label", table["label"].cast(pa.int64())),
        lambda table: table.set_column(0, "c0", pa.nulls(ROWS, pa.int64())),
    ],
)
def test_other_columns_and_types_and_empty_cells_are_refused(root, change):
    part = stored(root, change(relation()), compression="zstd")
    refused(lambda: read(root, part))


def test_a_way_of_packing_that_arrow_has_not_is_refused(root):
    """Asked for its name, Arrow would end the process."""
    part = stored(root, relation(10))
    content = (root / part.path).read_bytes()
    for at in range(len(content) - 400, len(content) - 8):
        odd = bytearray(content)
        odd[at] = 0x13
        (root / part.path).write_bytes(odd)
        changed = FilePart(part.path, len(odd), zlib.crc32(odd), 10)
        try:
            read(root, changed)
        except StoreError as error:
            assert error.code == "T103"  # noqa: PT017  # it may also be read


def test_any_bytes_are_refused(root):
    path = root / "data" / "x.parquet"
    for content in (b"", b"PAR1", b"PAR1" + b"\xff" * 40 + b"PAR1", b"x" * 100):
        path.write_bytes(content)
        part = FilePart("data/x.parquet", len(content), zlib.crc32(content), 10)
        refused(lambda part=part: read(root, part))
