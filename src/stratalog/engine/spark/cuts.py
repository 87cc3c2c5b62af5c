"""Rows that Spark has written down: a plan begins anew from them, and they are freed by name.

Rows are packed into columns in the action that derives and counts them. Columns take a sixth of the
memory of rows, and a statement passes over blocks that have none of its predicates. A local
checkpoint cuts what they were made from. On a cluster each block is kept on two executors, so that
losing one loses no fact.
"""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any

from stratalog.errors import EngineError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from stratalog.engine.spark.session import Work

_numbers = count(1)


class Written:
    """Rows that are written once, under the name of a view."""

    def __init__(self, work: Work, frame: DataFrame) -> None:
        self.view = f"stratalog_written_{next(_numbers)}"
        self.rows = 0
        self._work = work
        relation = _relation(work, frame, self.view)
        self._builder: Any = relation.cacheBuilder()
        self._blocks: Any = self._builder.cachedColumnBuffers()
        self._blocks.localCheckpoint()
        _cut(work, self._builder)
        _frame_of(work, _renamed(work, relation, self.view)).createOrReplaceTempView(self.view)

    def summarised(self, text: str) -> pa.Table:
        """Return the answer of a statement that reads all rows, and thereby writes them."""
        found = self._work.fetched(self._work.sql(text))
        self.rows = int(self._builder.materializedRowCount())
        return found

    def fill(self) -> None:
        """Write all rows: one action of one stage."""
        self._work.count_action()
        self._blocks.count()
        self.rows = int(self._builder.materializedRowCount())

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
        context: Any = self._work.context._jsc.sc()  # noqa: SLF001  # the RDD's own method warns
        context.unpersistRDD(self._blocks.id(), False)


def _relation(work: Work, frame: DataFrame, name: str) -> Any:  # noqa: ANN401  # of the JVM
    """Return what Spark makes of a persistent DataFrame, which only we know of."""
    jvm: Any = work.context._jvm  # noqa: SLF001  # no public way
    kind = jvm.org.apache.spark.sql.execution.columnar
    execution = frame._jdf.queryExecution()  # noqa: SLF001
    made: Any = getattr(kind, "InMemoryRelation$")
    return getattr(made, "MODULE$").apply(_level(work), execution, jvm.scala.Option.apply(name))


def _renamed(work: Work, relation: Any, name: str) -> Any:  # noqa: ANN401  # of the JVM
    """Return a relation whose columns are called as statements call them.

    Spark keeps a union divided as its parts are if they speak of their columns by one name, down to
    the table's. A statement that reads rows by way of a subquery calls that by the view's name too.
    """
    jvm: Any = work.context._jvm  # noqa: SLF001
    utils = jvm.org.apache.spark.api.python.PythonUtils
    qualifier, output = utils.toSeq([name]), relation.output()
    return relation.withOutput(
        utils.toSeq([output.apply(i).withQualifier(qualifier) for i in range(output.size())])
    )


def _cut(work: Work, builder: Any) -> None:  # noqa: ANN401  # of the JVM
    """Let columns forget the plan that they are made by, but for its columns and its division.

    Otherwise each round would hold on to the files and broadcasts of all rounds before it.
    """
    jvm: Any = work.context._jvm  # noqa: SLF001
    plan = builder.cachedPlan()
    nothing = work.context._jsc.sc().emptyRDD(_class_tag(jvm))  # noqa: SLF001
    scan = jvm.org.apache.spark.sql.execution.RDDScanExec(
        plan.output(),
        nothing,
        "written",
        plan.outputPartitioning(),
        plan.outputOrdering(),
        jvm.scala.Option.empty(),
    )
    empty = jvm.org.apache.spark.sql.catalyst.plans.logical.OneRowRelation()
    for name, value in (("cachedPlan", scan), ("logicalPlan", empty)):
        field = builder.getClass().getDeclaredField(name)
        field.setAccessible(True)
        field.set(builder, value)


def _class_tag(jvm: Any) -> Any:  # noqa: ANN401  # of the JVM
    return getattr(getattr(jvm.scala.reflect, "ClassTag$"), "MODULE$").AnyRef()


def _frame_of(work: Work, plan: Any) -> DataFrame:  # noqa: ANN401  # of the JVM
    from pyspark.sql import DataFrame

    session: Any = work.spark
    made = session._jvm.org.apache.spark.sql.classic.Dataset.ofRows(session._jsparkSession, plan)  # noqa: SLF001
    return DataFrame(made, session)


def _level(work: Work) -> Any:  # noqa: ANN401  # of the JVM
    """Return where blocks are kept."""
    from pyspark import StorageLevel

    level = StorageLevel.MEMORY_AND_DISK if work.is_local else StorageLevel.MEMORY_AND_DISK_2
    return work.context._getJavaStorageLevel(level)  # noqa: SLF001
