"""A knowledge base's facts for others: Spark DataFrames, views for SQL, published Parquet.

What is public here are methods of KnowledgeBase, kept in a file of their own.
"""

# ruff: noqa: SLF001  # this module and base.py are one

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from stratalog.errors import EngineError
from stratalog.facts.labels import I
from stratalog.kernels.sizes import sized
from stratalog.knowledge.reading import Reading, Taken, take
from stratalog.knowledge.values import check_names, check_path, check_text
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.naming import plain_names
from stratalog.runtime.interrupts import delivered
from stratalog.runtime.limits import full_memory_explained

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from stratalog.knowledge.base import KnowledgeBase
    from stratalog.pipeline.publish import Published, Relation


AT_ONCE = sized(1 << 19, 4)  # rows


def frame(self: KnowledgeBase, name: str, spark: SparkSession | None = None) -> DataFrame:
    """Return the facts of a predicate as a DataFrame of the given or the active session."""
    self._predicate(name)  # a wrong name is told before Spark starts
    session = _session(self, spark)
    with self._lock:
        taken = take(self, self._predicate(name), I)
    return _frame(taken, session)


def _frame(taken: Taken, spark: SparkSession) -> DataFrame:
    """Return facts as a DataFrame, decoded a slice at a time."""
    from stratalog.pipeline.columns import Decoder
    from stratalog.pipeline.handover import slices_to_spark

    size, dictionary = taken.size, taken.dictionary
    decoder = Decoder(taken.columns, dictionary, taken.declaration, rdf=taken.rdf)
    slices = (decoder.rows(i, min(i + AT_ONCE, size)) for i in range(0, size, AT_ONCE))
    return slices_to_spark(spark, decoder.schema, slices)


def views(
    self: KnowledgeBase, spark: SparkSession | None = None, prefix: str = ""
) -> dict[str, str]:
    """Register a temporary view per predicate; return the names of the views by predicate."""
    check_text("prefix", prefix)
    if prefix and not f"{prefix}x".isidentifier():
        raise EngineError(
            "E120", f"prefix={prefix!r} begins no name in SQL", help="letters, digits and _"
        )
    session = _session(self, spark)
    with self._lock:
        shown = self.names()
        names = plain_names(list(shown), self._program.prefixes)
        reading = Reading(self, names, I)
    for taken in reading:
        _frame(taken, session).createOrReplaceTempView(prefix + names[taken.predicate])
    return {shown[predicate]: prefix + name for predicate, name in names.items()}


def _session(kb: KnowledgeBase, spark: SparkSession | None) -> SparkSession:
    from stratalog import spark as sessions

    given = kb._options.spark if spark is None else spark
    if given is not None:
        return sessions.checked(given)
    return sessions.session(kb._options.master, kb._options.conf)


def publish(
    self: KnowledgeBase,
    directory: str | os.PathLike[str],
    predicates: Iterable[str] | None = None,
) -> Published:
    """Write facts as plain Parquet, `directory/<name>/version=N`, and say what was written.

    N is the store's version if there is a store, otherwise the next free number.
    """
    from stratalog.pipeline import publish as published

    check_path("directory", directory)
    if predicates is not None:
        check_names("predicates", predicates)
    with self._turns.writing("publish"), delivered(), full_memory_explained("publishing"):
        chosen = self.visible() if predicates is None else [self._predicate(n) for n in predicates]
        return published.publish(
            directory,
            _relations(self, chosen),
            self._dictionary,
            version=self.version or None,
            prefixes=self._program.prefixes,
        )


def _relations(kb: KnowledgeBase, predicates: Sequence[Predicate]) -> Iterator[Relation]:
    """Yield facts one relation after the other; others ask in between."""
    from stratalog.pipeline.publish import Relation

    for predicate in predicates:
        each = take(kb, predicate, I)
        yield Relation(predicate, each.columns, each.size, each.declaration, rdf=each.rdf)
