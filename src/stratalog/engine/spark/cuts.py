"""Rows that Spark has written down: a plan begins anew from them, and they are freed by name.

A local checkpoint is the quickest cut. Many rows are then packed into columns: these take a sixth
of the memory, and a statement passes over blocks that have none of its predicates. On a cluster
each block is kept on two executors, so that losing one loses no fact.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from stratalog.errors import EngineError
from stratalog.kernels.sizes import sized

if TYPE_CHECKING:
    from pyspark import StorageLevel
    from pyspark.sql import DataFrame

    from stratalog.engine.spark.session import Work

_numbers = count(1)

PACKED = sized(300_000, 6)  # rows from which columns are worth their making


class Written:
    """Rows that were written once, under the name of a view."""

    def __init__(self, work: Work, frame: DataFrame, rows: int) -> None:
        self.frame = frame
        self.rows = rows
        self.view = f"stratalog_written_{next(_numbers)}"
        self._work = work
        self._is_packed = False
        frame.createOrReplaceTempView(self.view)

    def pack(self) -> None:
        """Let the next statement that reads all rows make columns of them, if they are many."""
        if self.rows >= PACKED and not self._is_packed:
            self.frame.persist(_level(self._work))
            _columns(self._work, self.frame).createOrReplaceTempView(self.view)
            self._is_packed = True

    def end_packing(self) -> None:
        """Give back the rows, once they are columns."""
        if self._is_packed and self._work.is_local:
            self._free_rows()

    def check(self, rows: int) -> None:
        """Raise unless what is read back is what was written."""
        if rows != self.rows:
            raise EngineError(
                "E204",
                f"Spark wrote {self.rows:,} rows and read {rows:,}, while {self._work.doing}",
                help="an executor may have been lost; run it again",
            )

    def free(self) -> None:
        """Give back memory and disk."""
        self._work.spark.catalog.dropTempView(self.view)
        if self._is_packed:
            self.frame.unpersist()
        self._free_rows()

    def _free_rows(self) -> None:
        plan: Any = self.frame._jdf.queryExecution().logical()  # noqa: SLF001  # no public way
        context: Any = self._work.context._jsc.sc()  # noqa: SLF001
        context.unpersistRDD(plan.rdd().id(), False)


def written(work: Work, frame: DataFrame) -> Written:
    """Write the rows of a DataFrame down: one action, which also counts them."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as f

    observed = Observation()
    counted = frame.observe(observed, f.count(f.lit(1)).alias("rows"))
    work.count_action()
    kept = counted.localCheckpoint(eager=True, storageLevel=_level(work))
    return Written(work, _without_estimate(work, kept), int(observed.get["rows"]))


def _without_estimate(work: Work, frame: DataFrame) -> DataFrame:
    """Return a checkpoint that has forgotten how large Spark thinks it is.

    Spark keeps the estimate of the plan that was cut, and takes the product of both sides for a
    join. After twenty rounds it is a number that takes longer to multiply than the round.
    """
    session: Any = work.spark
    jvm = session._jvm  # noqa: SLF001  # no public way
    plan: Any = frame._jdf.queryExecution().logical()  # noqa: SLF001
    others = plan.otherCopyArgs()  # the session, the estimate, and what follows from the plan
    given = [plan.productElement(i) for i in range(plan.productArity())]
    given += [others.apply(i) for i in range(others.size())]
    given[plan.productArity() + 1] = jvm.scala.Option.empty()
    gateway: Any = work.context._gateway  # noqa: SLF001
    array = gateway.new_array(jvm.java.lang.Object, len(given))
    for place, each in enumerate(given):
        array[place] = each
    made = plan.getClass().getConstructors()[0].newInstance(array)
    return _frame_of(work, made)


def _columns(work: Work, frame: DataFrame) -> DataFrame:
    """Return a DataFrame that reads the columns of a persistent one, however often it is used.

    Spark itself finds them only for the first use in a statement: it gives other names to columns
    of the second, and then takes it for something else.
    """
    return _frame_of(work, frame._jdf.queryExecution().withCachedData())  # noqa: SLF001  # no public way


def _frame_of(work: Work, plan: Any) -> DataFrame:  # noqa: ANN401  # an object of the JVM
    from pyspark.sql import DataFrame

    session: Any = work.spark
    made = session._jvm.org.apache.spark.sql.classic.Dataset.ofRows(session._jsparkSession, plan)  # noqa: SLF001
    return DataFrame(made, session)


def _level(work: Work) -> StorageLevel:
    """Return where blocks are kept."""
    from pyspark import StorageLevel

    return StorageLevel.MEMORY_AND_DISK if work.is_local else StorageLevel.MEMORY_AND_DISK_2
