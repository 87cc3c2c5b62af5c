"""Which reader reads what: files in this process or by Spark, tables and rows as they come."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from stratalog.errors import EngineError, StratalogWarning
from stratalog.knowledge.options import Options
from stratalog.lang.names import split_arity, table_name
from stratalog.lang.syntax import Declaration
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.facts import EncodedFacts
from stratalog.pipeline.files import COMPRESSIONS, FORMATS, ReadOptions, ReadReport
from stratalog.pipeline.known import encode_known
from stratalog.pipeline.objects import encode_facts
from stratalog.pipeline.paths import Finder, is_remote
from stratalog.pipeline.tables import Vocabulary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from stratalog.pipeline.local import Item

_SUFFIXES = "|".join(suffix[1:] for suffix in (*FORMATS, *COMPRESSIONS))
_TABLE = re.compile(rf"[^\W\d]\w*(?:\.(?!(?:{_SUFFIXES})$)[^\W\d]\w*){{0,2}}")
_PARTS_OF_TABLE = 3  # catalogue, database, table

LARGEST_LOCAL = 64 << 20
"""Bytes of files up to which the start of Spark takes longer than reading them here."""


@dataclass(frozen=True, slots=True)
class Context:
    """What readers need besides the facts."""

    declarations: Sequence[Declaration]
    arities: Mapping[str, set[int]]
    prefixes: Sequence[tuple[str, str]]
    dictionary: Dictionary
    options: ReadOptions
    report: ReadReport = field(default_factory=ReadReport)

    def arguments(self) -> dict[str, Any]:
        """Return what every reader is given."""
        return {
            "declarations": self.declarations,
            "arities": self.arities,
            "prefixes": self.prefixes,
            "dictionary": self.dictionary,
            "options": self.options,
            "report": self.report,
        }

    def encode_known(self, facts: Mapping[object, object], found: EncodedFacts) -> bool:
        """Add small tables of known constants; return False, and add none, if they are not such."""
        vocabulary = Vocabulary(self.declarations, self.arities, self.prefixes)
        return encode_known(facts, found, vocabulary, self.dictionary)


@dataclass(frozen=True, slots=True)
class Choice:
    """Whether Spark reads the files, and what to say about it."""

    by_spark: bool = False
    warnings: tuple[StratalogWarning, ...] = ()


class _AnyFormat(Finder):
    """Finds files for either reader."""

    formats = frozenset(FORMATS.values())


def choose_reader(
    facts: object, options: Options, prefixes: Sequence[tuple[str, str]] = ()
) -> Choice:
    """Return who reads the files; local ones that are not there are an error at once."""
    items = [part for part in parts(facts, prefixes) if isinstance(part, tuple)]
    if options.reader == "local" or not items:
        return Choice()
    finder = _AnyFormat(prefixes, [])
    here = [item for item in items if not _is_elsewhere(item, finder, options)]
    files = [file for item in here for file in finder.find(*item)]
    is_local = len(here) == len(items) and all(file.format in Finder.formats for file in files)
    if options.reader == "spark" or not is_local:
        return Choice(by_spark=True)
    size = sum(Path(file.path).stat().st_size for file in files)
    if size <= LARGEST_LOCAL:
        return Choice()
    if any(file.layout is not None and file.layout.has_deletes for file in files):
        told = (
            f"{size >> 20:,} MB are read by one process, because some rows of a table are deleted"
        )
        advice = "rewrite the table's files without them"
        return Choice(warnings=(StratalogWarning("W323", told, help=advice),))
    from stratalog.spark.versions import has_supported

    if not has_supported():
        told = f"{size >> 20:,} MB are read by one process, because PySpark 4 is not installed"
        advice = 'pip install "stratalog[spark]"'
        return Choice(warnings=(StratalogWarning("W322", told, help=advice),))
    return Choice(by_spark=True)


def _is_elsewhere(item: Item, finder: Finder, options: Options) -> bool:
    """Tell whether an item is on another file system, or a table of Spark's catalogue.

    Without a word about Spark only `catalogue.database.table` is one: most names of files that are
    not there look like `database.table`, and Spark takes seconds to start.
    """
    name, given = item
    path = finder.split(given)[1] if name is None and isinstance(given, str) else os.fspath(given)
    if is_remote(path):
        return True
    if not _TABLE.fullmatch(path) or Path(path).exists():
        return False
    is_meant = options.reader == "spark" or options.spark or options.master
    return bool(is_meant or path.count(".") == _PARTS_OF_TABLE - 1)


def open_session(options: Options) -> SparkSession:
    """Return the session that was given, the active one, or a new one."""
    from stratalog import spark

    if options.spark is not None:
        return spark.checked(options.spark)
    return spark.session(options.master, options.conf)


def read_all(facts: object, context: Context, spark: SparkSession | None) -> EncodedFacts:
    """Return all facts, numbered in the order given; files by Spark if there is a session."""
    found = EncodedFacts(context.report)
    if isinstance(facts, Mapping) and spark is None and context.encode_known(facts, found):
        return found
    waiting: list[Item] = []
    for part in parts(facts, context.prefixes):
        if spark is not None and isinstance(part, tuple):
            waiting.append(part)
            continue
        _read_by_spark(waiting, found, context, spark)
        waiting.clear()
        _read_here(part, found, context)
    _read_by_spark(waiting, found, context, spark)
    return found


def _read_by_spark(
    items: Sequence[tuple[Any, Any]],
    found: EncodedFacts,
    context: Context,
    spark: Any,  # noqa: ANN401
) -> None:
    if not items:
        return
    from stratalog.pipeline.spark_read import read_spark

    try:
        found.extend(read_spark(spark, list(items), **context.arguments()))
    except ImportError as error:  # pandas, which PySpark needs and does not bring
        raise EngineError(
            "E202",
            f"PySpark lacks a package: {error}",
            help='pip install "stratalog[spark]"',
        ) from error


def _read_here(part: object, found: EncodedFacts, context: Context) -> None:
    """Add a file or rows; a DataFrame is fetched, or encoded by Spark if it is large."""
    if isinstance(part, tuple):
        part = {part[0]: part[1]} if part[0] else part[1]
    if isinstance(part, Mapping):
        ((key, rows),) = part.items()
        if _is_of_connect(rows):
            from stratalog.pipeline.handover import from_connect

            part = {key: from_connect(rows)}
        elif _is_frame(rows):
            from stratalog.pipeline.handover import from_spark, is_large

            if is_large(rows, LARGEST_LOCAL):
                _read_by_spark([(key, rows)], found, context, rows.sparkSession)
                return
            part = {key: from_spark(rows)}
    found.extend(encode_facts(part, **context.arguments()))


def _is_of_connect(rows: object) -> bool:
    """Tell whether rows are a DataFrame of Spark Connect, which can be fetched."""
    kind = type(rows)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.sql.connect.")


def _is_frame(rows: Any) -> TypeGuard[DataFrame]:  # noqa: ANN401
    """Tell whether rows are a Spark DataFrame; one that cannot be used is refused."""
    kind = type(rows)
    if kind.__module__.partition(".")[0] != "pyspark" or not hasattr(rows, "sparkSession"):
        return False
    from stratalog.spark import checked

    checked(rows.sparkSession)
    return True


def parts(facts: object, prefixes: Sequence[tuple[str, str]]) -> Iterator[object]:
    """Yield what was given, in order: files as (predicate or None, path), the rest as it is."""
    if isinstance(facts, str | os.PathLike):
        yield None, facts
    elif isinstance(facts, Mapping):
        for key, rows in facts.items():
            is_path = isinstance(key, str) and isinstance(rows, str | os.PathLike)
            yield (table_name(key, prefixes), rows) if is_path else {key: rows}
    elif isinstance(facts, list | tuple):
        for each in facts:
            yield from parts(each, prefixes)
    else:
        yield facts


def names_given(facts: object, prefixes: Sequence[tuple[str, str]]) -> set[str]:
    """Return the names of predicates for which rows or files were given, whatever these hold."""
    named: set[str] = set()
    for part in parts(facts, prefixes):
        if isinstance(part, tuple):
            name, path = part
            if name is None and isinstance(path, str):
                name = Finder(prefixes, []).split(path)[0]
            named |= {name} if name else set()
        elif isinstance(part, Mapping):
            named |= {table_name(key, prefixes) for key in part}
    return {split_arity(name)[0] for name in named}
