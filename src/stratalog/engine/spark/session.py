"""The session that rounds run in: a child of the user's, with its own settings and views."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import count
from threading import Timer
from typing import TYPE_CHECKING

from stratalog.engine.columnar.relation import too_many_derivations
from stratalog.errors import EngineError, StratalogError
from stratalog.facts.engine import BudgetSpentError
from stratalog.kernels.sizes import sized
from stratalog.runtime.limits import Limits
from stratalog.spark import internals
from stratalog.spark.arrow import from_arrow
from stratalog.spark.failures import translate

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

ROWS_PER_PARTITION = sized(2_000_000, 16)  # what one task can aggregate in the memory it has
MOST_PARTITIONS = sized(4096, 3)
COMPILED = 100_000  # facts from which compiled statements are faster
COLLECTED = 64  # actions after which the JVM looks for what nobody uses
DESCRIPTION = "spark.job.description"

RULES = "org.apache.spark.sql.catalyst.optimizer"
SETTINGS = {
    "spark.sql.adaptive.enabled": "false",  # it plans every stage again, which rounds cannot pay
    "spark.sql.autoBroadcastJoinThreshold": "-1",  # statements say what is sent to all
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    "spark.sql.ansi.enabled": "true",  # a count that 64 bits cannot hold is an error
    "spark.sql.broadcastTimeout": "36000",  # a broadcast waits for all its input
    "spark.sql.constraintPropagation.enabled": "false",  # plans of unions take long otherwise
    # Facts are divided by all columns; Spark would leave out those that a statement writes itself,
    # and then divide anew whenever such facts meet others.
    "spark.sql.optimizer.excludedRules": f"{RULES}.FoldablePropagation",
}

_tags = count(1)


class Work:
    """Spark, as the engine uses it: statements in, columns out, errors with a code."""

    def __init__(self, spark: SparkSession, limits: Limits | None = None) -> None:
        self._users = spark
        self.limits = limits or Limits()
        self._tag: str | None = None
        self.spark = spark.newSession()
        self.context = spark.sparkContext
        self.is_local = re.match(r"local(\[|$)", str(self.context.master)) is not None
        self.can_pack = internals.is_allowed(spark)
        self.partitions = 0
        self._is_compiled: bool | None = None
        self.actions = 0
        self.doing = "reasoning"
        for key, value in SETTINGS.items():
            self.spark.conf.set(key, value)
        if not self.can_pack:  # a child has none of the settings that its parent was given
            self.spark.conf.set(internals.SETTING, "off")
        self.expect(0)

    def setting(self, name: str) -> str | None:
        """Return what the user's session says of a setting."""
        return self._users.conf.get(name, None)

    def expect(self, rows: int) -> None:
        """Choose the number of partitions, for so many facts; it stays as it is from then on."""
        cores = int(self.context.defaultParallelism)
        wanted = -(-rows // ROWS_PER_PARTITION)
        self.partitions = min(max(cores, -(-wanted // cores) * cores), MOST_PARTITIONS)
        self.spark.conf.set("spark.sql.shuffle.partitions", str(self.partitions))

    def tune(self, rows: int) -> None:
        """Let statements over many facts be compiled: over few, they are done before that."""
        is_compiled = rows >= COMPILED
        if is_compiled != self._is_compiled:
            self._is_compiled = is_compiled
            self.spark.conf.set("spark.sql.codegen.wholeStage", str(is_compiled).lower())

    @contextmanager
    def described(self, text: str) -> Iterator[None]:
        """Name the jobs that run meanwhile, and give those of the user their name back."""
        self._check_alive(text)
        before = None
        self.doing = text
        try:
            before = self.context.getLocalProperty(DESCRIPTION)
            self.context.setJobDescription(text)
            with self._stoppable():
                yield
        except (StratalogError, BudgetSpentError, MemoryError):
            raise
        except Exception as error:
            if not _is_sparks(error):
                raise
            self.limits.check_time(text)  # a job that was cancelled for it says only that it was
            if "ARITHMETIC_OVERFLOW" in str(error):
                raise too_many_derivations(text) from error
            raise translate(error, text) from error
        finally:
            self._describe_as_before(before)

    def _check_alive(self, text: str) -> None:
        """Raise if the session that has the facts was stopped, or replaced by another."""
        if internals.has_ended(self.context):
            raise EngineError(
                "E204",
                f"the Spark session that has the facts has ended, while {text}",
                help="materialise or open again; see docs/spark.md#what-may-be-lost",
            )

    @contextmanager
    def _stoppable(self) -> Iterator[None]:
        """Cancel jobs when time is up, or when somebody has pressed Ctrl-C."""
        if self._tag is not None:  # within another statement
            yield
            return
        self._tag = f"stratalog-{next(_tags)}"
        left = self.limits.seconds_left()
        timer = None if left is None else Timer(left, self._cancel, [self._tag])
        self.context.addJobTag(self._tag)
        try:
            if timer is not None:
                timer.daemon = True
                timer.start()
            yield
        except KeyboardInterrupt:
            self._cancel(self._tag)
            raise
        finally:
            if timer is not None:
                timer.cancel()
            with suppress(Exception):  # of a JVM that is gone
                self.context.removeJobTag(self._tag)
            self._tag = None

    def _cancel(self, tag: str) -> None:
        with suppress(Exception):
            self.context.cancelJobsWithTag(tag)

    def _describe_as_before(self, description: str | None) -> None:
        try:
            self.context.setLocalProperty(DESCRIPTION, description)  # type: ignore[arg-type]
        except Exception as error:  # a JVM that is gone needs no description
            if not (_is_sparks(error) or internals.has_ended(self.context)):
                raise

    def sql(self, text: str) -> DataFrame:
        """Return the DataFrame of a statement."""
        return self.spark.sql(text)

    def count_action(self) -> None:
        """Count an action; now and then let the JVM find shuffle files that nobody needs."""
        self.actions += 1
        if self.actions % COLLECTED == 0:
            internals.collect_garbage(self.spark)

    def fetched(self, frame: DataFrame) -> pa.Table:
        """Return all rows: one action."""
        self.count_action()
        return frame.toArrow()

    def given(self, table: pa.Table) -> DataFrame:
        """Return a small table as a DataFrame."""
        return from_arrow(self.spark, table)


def _is_sparks(error: Exception) -> bool:
    """Return whether an error came from Spark or from the connection to it."""
    module = type(error).__module__
    return module.startswith(("pyspark", "py4j")) or isinstance(error, ConnectionError)
