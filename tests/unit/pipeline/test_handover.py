"""Tables to Spark and back: the same rows, by every way."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from stratalog.errors import EngineError
from stratalog.pipeline import handover
from stratalog.pipeline.tables import TYPE_KEY
from stratalog.spark.settings import bytes_of

pytestmark = pytest.mark.spark

ROWS = {
    "n": pa.array([1, -(2**62), 3]),
    "amount": pa.array([Decimal("1.25"), Decimal(-7), Decimal(0)], pa.decimal128(38, 2)),
    "text": pa.array(["a", "", "é\t\n"]),
    "x": pa.array([1.5, float("inf"), -0.0]),
    "ok": pa.array([True, False, True]),
    "day": pa.array([date(2020, 1, 2), date(1500, 1, 1), date(9999, 12, 31)]),
    "at": pa.array([datetime(2020, 1, 2, 3, 4, 5, 6, UTC)] * 3, pa.timestamp("us", "UTC")),
    "then": pa.array([datetime(1600, 1, 2, 3, 4, 5, 6)] * 3, pa.timestamp("us")),  # noqa: DTZ001
}


@pytest.fixture(params=["shared folder", "through the JVM"])
def way(request, monkeypatch):
    if request.param == "through the JVM":
        monkeypatch.setattr(handover, "spool_folder", lambda _spark: None)
    return request.param


@pytest.mark.usefixtures("way")
def test_a_table_comes_back_as_it_went(spark):
    table = pa.table(ROWS)
    back = handover.from_spark(handover.to_spark(spark, table))
    assert back.to_pydict() == table.to_pydict()
    assert [str(f.type) for f in back.schema] == [str(f.type) for f in table.schema]


@pytest.mark.usefixtures("way")
def test_empty_tables_and_tables_without_columns(spark):
    empty = handover.to_spark(spark, pa.table(ROWS).slice(0, 0))
    assert (empty.columns, empty.count()) == (list(ROWS), 0)
    none = pa.Table.from_batches([pa.RecordBatch.from_struct_array(pa.array([{}], pa.struct([])))])
    assert handover.to_spark(spark, none).collect()[0].asDict() == {"holds": True}


@pytest.mark.usefixtures("way")
def test_the_type_of_terms_travels_with_the_column(spark):
    field = pa.field("who", pa.string(), metadata={TYPE_KEY: b"iri"})
    table = pa.table([pa.array(["http://e/a"])], schema=pa.schema([field]))
    frame = handover.to_spark(spark, table).where("who like 'http%'").select("who")
    assert handover.from_spark(frame).schema.field("who").metadata == {TYPE_KEY: b"iri"}


def test_types_that_spark_has_not_become_others(spark):
    table = pa.table({"u": pa.array([2**32 - 1], pa.uint32()), "v": pa.array([1], pa.uint64())})
    frame = handover.to_spark(spark, table)
    assert dict(frame.dtypes) == {"u": "bigint", "v": "decimal(20,0)"}
    assert frame.collect()[0].u == 2**32 - 1


def test_a_large_result_comes_as_parquet_with_the_same_rows(spark, monkeypatch):
    frame = handover.to_spark(spark, pa.table(ROWS)).withColumnsRenamed({"x": "n"})
    small = handover.from_spark(frame)
    monkeypatch.setattr(handover, "SHARE_OF_RESULT", 0.0)
    large = handover.from_spark(frame)
    assert large.schema.names == small.schema.names == ["n", "amount", "text", "n", *list(ROWS)[4:]]
    assert large.equals(small.cast(large.schema))
    folder = handover.spool_folder(spark)
    assert folder is not None
    frame.count()  # what to_spark wrote is still there


def test_nested_columns_come_through_the_jvm(spark, monkeypatch):
    monkeypatch.setattr(handover, "SHARE_OF_RESULT", 0.0)
    frame = spark.sql("SELECT struct(1 AS id) AS buyer")
    assert handover.from_spark(frame).to_pylist() == [{"buyer": {"id": 1}}]


def test_many_rows_keep_their_order(spark, monkeypatch):
    monkeypatch.setattr(handover, "ROWS_PER_FILE", 1000)
    table = pa.table({"n": range(10_500)})
    frame = handover.to_spark(spark, table)
    assert handover.from_spark(frame.orderBy("n")).column("n").to_pylist() == list(range(10_500))
    assert frame.count() == 10_500


def test_a_failing_job_is_a_coded_error(spark):
    frame = spark.sql("SELECT raise_error('no such luck')")
    with pytest.raises(EngineError, match="E204") as caught:
        handover.from_spark(frame)
    assert "no such luck" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "size"), [("1g", 1 << 30), ("512m", 512 << 20), ("0", 0), ("12", 12), ("?", 1 << 30)]
)
def test_sizes_in_settings(text, size):
    assert bytes_of(text, 1 << 30) == size
