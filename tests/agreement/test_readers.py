"""The reader on Spark and the local one: the same facts, numbers, reports and errors."""

from __future__ import annotations

import gzip
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stratalog
from stratalog.errors import DataError
from stratalog.lang.syntax import Column, Declaration, Predicate
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.local import ReadOptions, read_paths
from stratalog.pipeline.spark_read import read_spark
from tests.readers import read_both

pytestmark = pytest.mark.spark

DATA = [
    "debian",
    "kg",
    "lubm/lubm-1-seed0.nt.gz",
    "lubm/lubm-5-seed0.nt.gz",
    "museum",
    "obo",
    "sameas",
    "skos",
    "uobm",
    "wordnet",
]
PARTS = (1, 2, 7)


@pytest.mark.parametrize("name", DATA)
def test_real_data_as_it_is(spark, shared_data, name):
    read_both(spark, [str(shared_data / name)], 32 << 20)


@pytest.mark.parametrize("parts", PARTS)
def test_real_triples_in_parts(spark, shared_data, tmp_path, parts):
    """Literals of many types and escapes: what is interned late must not be numbered late."""
    plain = tmp_path / "stw.nt"
    plain.write_bytes(gzip.decompress((shared_data / "skos" / "stw-9.06.nt.gz").read_bytes()))
    read_both(spark, [str(plain)], plain.stat().st_size // parts + 1)


@pytest.mark.parametrize("parts", PARTS)
def test_real_tables_in_parts(spark, shared_data, tmp_path, parts):
    for name in ("depends", "package", "section"):
        packed = shared_data / "debian" / f"{name}.tsv.gz"
        (tmp_path / f"{name}.tsv").write_bytes(gzip.decompress(packed.read_bytes()))
    largest = max(path.stat().st_size for path in tmp_path.iterdir())
    read_both(spark, [str(tmp_path)], largest // parts + 1)


def test_stores_from_both_readers_hold_the_same_bytes_of_facts(spark, shared_data, tmp_path):
    rules = shared_data / "rules" / "LUBM_L.dlog"
    data = [shared_data / "lubm" / "lubm-1-seed0.nt.gz"]
    written = []
    for reader in ("local", "spark"):
        stratalog.materialise(rules, data, reader=reader, store=tmp_path / reader, spark=spark)
        opened = stratalog.open(tmp_path / reader)
        opened.write_triples(tmp_path / f"{reader}.nt", in_order=True)
        written.append((tmp_path / f"{reader}.nt").read_bytes())
    assert written[0] == written[1]
    assert written[0].count(b"\n") == 137_931


CELLS = st.text(st.sampled_from('ab"\n\r, é'), max_size=4)
PLAIN = st.text(st.sampled_from("ab é\\<>"), max_size=4)
BROKEN = st.sampled_from(['x"y,z', '"', "a,b,c", "\ufeff", "", "(,"])


@st.composite
def csv_texts(draw) -> tuple[str, str]:
    rows = draw(st.lists(st.tuples(CELLS, CELLS), max_size=12))
    quoted = ["{},{}".format(*('"{}"'.format(c.replace('"', '""')) for c in row)) for row in rows]
    lines = quoted + draw(st.lists(BROKEN, max_size=2))
    return "csv", draw(st.sampled_from(["\n", "\r\n"])).join(draw(st.permutations(lines)))


@st.composite
def tsv_texts(draw) -> tuple[str, str]:
    rows = draw(st.lists(st.lists(PLAIN, min_size=2, max_size=2), max_size=12))
    return "tsv", "\n".join("\t".join(row) for row in rows)


@st.composite
def json_texts(draw) -> tuple[str, str]:
    value = st.one_of(st.integers(), st.booleans(), PLAIN, st.floats(allow_nan=False), st.none())
    rows = draw(st.lists(st.lists(value, min_size=1, max_size=2), max_size=12))
    lines = [json.dumps(row) for row in rows] + draw(st.lists(st.sampled_from(["[", "", "1"])))
    return "jsonl", "\n".join(draw(st.permutations(lines)))


TERMS = st.one_of(
    st.sampled_from(["<http://e/a>", "<http://e/b>", "_:b", "<http://e/\\u0061>"]),
    st.builds(
        lambda text, mark: json.dumps(text, ensure_ascii=False) + mark,
        st.sampled_from(["1", "01", "1.0", "a", "é", "2026-01-31"]),
        st.sampled_from(["", "@EN", "@en", *(f"^^<http://www.w3.org/2001/XMLSchema#{t}>" for t in
            ("integer", "decimal", "byte", "date", "string"))]),
    ),
)  # fmt: skip


@st.composite
def triple_texts(draw) -> tuple[str, str]:
    iris = st.sampled_from(["<http://e/a>", "<http://e/p>", "<http://e/\\u0070>"])
    lines = draw(st.lists(st.tuples(TERMS, iris, TERMS).map(" ".join), max_size=20))
    bad = draw(st.lists(st.sampled_from(["# comment .", "bad", ""]), max_size=2))
    return "nt", " .\n".join(draw(st.permutations(lines + bad)))


FILES = st.lists(
    st.one_of(csv_texts(), tsv_texts(), json_texts(), triple_texts()), min_size=10, max_size=40
)


@settings(max_examples=8)
@given(files=FILES, size=st.integers(1, 60))
def test_random_files_in_parts(spark, tmp_path_factory, files, size):
    """Many files in one job: those that are read without errors, then all with errors skipped."""
    folder = tmp_path_factory.mktemp("files")
    paths = []
    for number, (suffix, text) in enumerate(files):
        path = folder / f"f{number}.{suffix}"
        with path.open("w", encoding="utf-8", newline="") as file:
            file.write(text)
        paths.append(str(path))
    good = [path for path in paths if local_error(path) is None]
    bad = [path for path in paths if path not in good]
    read_both(spark, good, size)
    read_both(spark, paths, size, options=ReadOptions(on_bad_input="skip"))
    for path in bad[:3]:
        with pytest.raises(DataError) as caught:
            read_spark(spark, [*good, path, *bad], dictionary=Dictionary(), range_size=size)
        assert str(caught.value) == str(local_error(path))


VALUES = {
    "integer": st.integers(-(2**63), 2**63 - 1),
    "double": st.floats(allow_nan=False),
    "decimal": st.decimals(-(10**6), 10**6, places=2),
    "string": st.text(max_size=5),
    "boolean": st.booleans(),
    "date": st.dates(),
    "dateTime": st.datetimes(timezones=st.none()),
    "iri": st.sampled_from(["http://e/a", "urn:é"]),
}
ARROW = {
    "integer": pa.int64(),
    "double": pa.float64(),
    "decimal": pa.decimal128(10, 2),
    "string": pa.string(),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "dateTime": pa.timestamp("us"),
    "iri": pa.string(),
}


@st.composite
def typed_tables(draw) -> tuple[list[Column], pa.Table]:
    """A table with declared columns, some of which may be null."""
    types = draw(st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4))
    columns = [Column(f"c{i}", kind, draw(st.booleans())) for i, kind in enumerate(types)]
    size = draw(st.integers(0, 6))
    arrays = []
    for column in columns:
        value = VALUES[column.type]
        cells = st.one_of(value, st.none()) if column.nullable else value
        drawn = draw(st.lists(cells, min_size=size, max_size=size))
        arrays.append(pa.array(drawn, ARROW[column.type]))
    return columns, pa.table(arrays, names=[column.name for column in columns])


@settings(max_examples=8)
@given(tables=st.lists(typed_tables(), min_size=5, max_size=15))
def test_random_typed_tables(spark, tmp_path_factory, tables):
    """Many tables in one job: types, nulls, Unicode."""
    folder = tmp_path_factory.mktemp("tables")
    declared = []
    for number, (columns, table) in enumerate(tables):
        pq.write_table(table, folder / f"t{number}.parquet")
        declared.append(Declaration(Predicate(f"t{number}", len(columns)), tuple(columns)))
    paths = sorted(str(path) for path in folder.iterdir())
    read_both(spark, paths, 100, declarations=declared)


def local_error(path: str) -> DataError | None:
    try:
        read_paths([path], dictionary=Dictionary())
    except DataError as error:
        return error
    return None
