"""Tables between this process and Spark: by Parquet on a disk that both see, or through the JVM.

Parquet without compression or dictionaries is the fastest way to Spark, several times faster than
handing batches to the JVM. It needs a folder that driver and executors share: there is one in
local mode, and on a cluster if spark.stratalog.spool names one.
"""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import pyarrow as pa

from stratalog.errors import EngineError, StratalogError
from stratalog.pipeline.portable import portable
from stratalog.pipeline.tables import TYPE_KEY
from stratalog.runtime.private_folder import fresh_folder
from stratalog.spark.internals import expected_bytes
from stratalog.spark.settings import bytes_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SPOOL = "spark.stratalog.spool"
"""The setting that names a folder which driver and executors share."""

ROW_GROUP = 1 << 20  # rows of a slice: row groups for all cores, few enough to be read at speed
ROWS_PER_FILE = 1 << 21  # files of equal size, several per core
SHARE_OF_RESULT = 0.25  # of what the driver may receive: copies pass through the same heap
_DEFAULT = 1 << 30  # Spark's own default of both limits

_spools: WeakKeyDictionary[Any, Path] = WeakKeyDictionary()


def to_spark(spark: SparkSession, table: pa.Table) -> DataFrame:
    """Return a table as a DataFrame, in types that Spark has."""
    ready = portable(table)
    slices = (ready.slice(first, ROW_GROUP) for first in range(0, ready.num_rows, ROW_GROUP))
    return slices_to_spark(spark, ready.schema, slices)


def slices_to_spark(
    spark: SparkSession, schema: pa.Schema, slices: Iterable[pa.Table]
) -> DataFrame:
    """Return the rows of all slices, which are in portable types, as one DataFrame."""
    folder = spool_folder(spark)
    with _translated("handing over a table"):
        if folder is None:
            from stratalog.spark import from_arrow

            whole = pa.concat_tables([schema.empty_table(), *slices])
            return from_arrow(spark, whole).to(_spark_schema(schema))
        place = folder / secrets.token_hex(8)
        _write_spool(place, schema, slices)
        return spark.read.schema(_spark_schema(schema)).parquet(place.as_uri())


def _write_spool(place: Path, schema: pa.Schema, slices: Iterable[pa.Table]) -> None:
    try:
        place.mkdir(parents=True)
        writer, rows, files = _spool_writer(place, schema, 0), 0, 1
        for each in slices:
            if rows >= ROWS_PER_FILE:
                writer.close()
                writer, rows, files = _spool_writer(place, schema, files), 0, files + 1
            writer.write_table(each)
            rows += each.num_rows
        writer.close()
    except OSError as error:
        shutil.rmtree(place, ignore_errors=True)
        raise EngineError(
            "E204",
            f"a table cannot be handed to Spark: {error.strerror or error}",
            path=str(place.parent),
            help=f"free some space, or set TMPDIR or {SPOOL} to a folder with more",
        ) from None


def _spool_writer(place: Path, schema: pa.Schema, number: int) -> Any:  # noqa: ANN401  # untyped
    import pyarrow.parquet as pq

    return pq.ParquetWriter(
        place / f"part-{number:05d}.parquet",
        schema,
        compression="none",  # it is read once, from the page cache
        use_dictionary=False,  # building one costs more than it saves here
        write_statistics=False,  # nothing is skipped
        store_schema=False,  # the reader is told
    )


def _spark_schema(schema: Any) -> Any:  # noqa: ANN401  # Arrow has no types
    """Return Spark's schema: told, it need not look at files; our types go into the metadata."""
    from pyspark.sql.pandas.types import from_arrow_schema

    found = from_arrow_schema(schema, prefer_timestamp_ntz=True)
    for ours, theirs in zip(schema, found.fields, strict=True):
        if kind := (ours.metadata or {}).get(TYPE_KEY):
            theirs.metadata = {TYPE_KEY.decode(): kind.decode()}
    return found


def from_spark(frame: DataFrame) -> pa.Table:
    """Return all rows of a DataFrame as a table; a large one travels as Parquet."""
    folder = spool_folder(frame.sparkSession)
    with _translated("reading a DataFrame"):
        if folder is None or _fits(frame) or not _is_flat(frame):
            table = frame.toArrow()
        else:
            table = _through_parquet(frame, folder)
    return _typed(table, frame.schema.fields)


def from_connect(frame: Any) -> pa.Table:  # noqa: ANN401  # its package may not be there
    """Return all rows of a DataFrame of Spark Connect as a table."""
    with _translated("reading a DataFrame"):
        return _typed(frame.toArrow(), frame.schema.fields)


def _typed(table: pa.Table, fields: Sequence[Any]) -> pa.Table:
    """Return the table with our types, where the columns' metadata tells them, as terms are."""
    kinds = [(field.metadata or {}).get(TYPE_KEY.decode()) for field in fields]
    schema = [
        each.with_metadata({TYPE_KEY: kind.encode()}) if isinstance(kind, str) else each
        for each, kind in zip(table.schema, kinds, strict=True)
    ]
    return table.cast(pa.schema(schema))


def _through_parquet(frame: DataFrame, folder: Path) -> pa.Table:
    """Write by Spark, read by Arrow; instants travel as numbers, lest Spark write them as INT96."""
    import pyarrow.parquet as pq
    from pyspark.sql.functions import col, unix_micros
    from pyspark.sql.types import TimestampType

    place = folder / secrets.token_hex(8)
    instants = [i for i, f in enumerate(frame.schema) if isinstance(f.dataType, TimestampType)]
    names = frame.columns
    plain = frame.toDF(*(f"c{i}" for i in range(len(names))))  # Parquet wants names that differ
    chosen = [
        unix_micros(name).alias(name) if i in instants else col(name)
        for i, name in enumerate(plain.columns)
    ]
    try:
        plain.select(*chosen).write.parquet(place.as_uri(), compression="none")
        paths = sorted(place.glob("part-*.parquet"))  # in the order of partitions
        table = pa.concat_tables([pq.ParquetFile(path).read() for path in paths])
    finally:
        shutil.rmtree(place, ignore_errors=True)
    for i in instants:
        values = table.column(i).cast(pa.timestamp("us", "UTC"))
        table = table.set_column(i, table.field(i).with_type(values.type), values)
    return table.rename_columns(names)


def is_large(frame: DataFrame, limit: int) -> bool:
    """Tell whether Spark expects more bytes, in columns whose types Spark's own types tell."""
    is_typed = any(TYPE_KEY.decode() in (field.metadata or {}) for field in frame.schema)
    return not is_typed and expected_bytes(frame) > limit


def _fits(frame: DataFrame) -> bool:
    """Tell whether Spark expects a result that the driver may receive at once."""
    conf = frame.sparkSession.conf
    limits = [
        bytes_of(conf.get("spark.driver.maxResultSize", "1g"), _DEFAULT),
        bytes_of(conf.get("spark.driver.memory", "1g"), _DEFAULT),  # it passes through the JVM
    ]
    smallest = min((limit for limit in limits if limit), default=_DEFAULT)  # 0 is no limit
    return expected_bytes(frame) <= SHARE_OF_RESULT * smallest


def _is_flat(frame: DataFrame) -> bool:
    from pyspark.sql.types import ArrayType, MapType, StructType

    return not any(isinstance(f.dataType, ArrayType | MapType | StructType) for f in frame.schema)


def spool_folder(spark: SparkSession) -> Path | None:
    """Return a folder for tables on their way, gone at the end of this process; None if none."""
    if spark in _spools:
        return _spools[spark]
    from stratalog.spark import is_local

    named = spark.conf.get(SPOOL, None)
    if named is None and not is_local(spark):
        return None
    folder = fresh_folder("stratalog-spool-", _local_path(named))
    _spools[spark] = folder
    return folder


def _local_path(named: str | None) -> str | None:
    if named is None:
        return None
    path = named.removeprefix("file://")
    if not Path(path).is_dir():
        raise EngineError(
            "E206",
            f"{SPOOL} names no folder: {named}",
            help="name a folder that the driver and all executors can read and write",
        )
    return path


class _translated:  # noqa: N801  # used as a word
    """Turns what Spark raises into an error with a code."""

    def __init__(self, doing: str) -> None:
        self.doing = doing

    def __enter__(self) -> None:
        pass

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        from stratalog.spark import translate

        if isinstance(error, Exception) and not isinstance(error, StratalogError):
            raise translate(error, self.doing) from error
