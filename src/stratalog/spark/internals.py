"""What PySpark keeps to itself, and what Stratalog does where it is missing.

No other file uses a private name of PySpark or an object of its Java process. Every function has a
public way beside it, and takes that one where the private one is missing, as in the Spark of a
vendor, or is not wanted: `spark.stratalog.internals=off`. The public way is slower, or knows less.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import RLock
from typing import IO, TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from pyspark import SparkConf, SparkContext, StorageLevel
    from pyspark.sql import DataFrame, SparkSession

SETTING = "spark.stratalog.internals"
_ACTIVE = RLock()
UNKNOWN_SIZE = 1 << 62
"""The bytes of a DataFrame of which nothing is known: too many for whatever is asked."""


class MissingError(Exception):
    """Something private that a Spark does not have, or that is not to be used."""


def is_allowed(spark: SparkSession) -> bool:
    """Return whether private names may be used with a session."""
    return str(spark.conf.get(SETTING, "on")).lower() != "off"


def _jvm(spark: SparkSession) -> Any:  # noqa: ANN401  # of Java
    """Return the names of the Java process if they may be used, or raise MissingError."""
    if not is_allowed(spark):
        raise MissingError
    return _names(spark)


def _names(spark: SparkSession) -> Any:  # noqa: ANN401  # of Java
    found = getattr(spark, "_jvm", None)
    if found is None:
        raise MissingError
    return found


def _java_context(context: SparkContext) -> Any:  # noqa: ANN401  # of Java
    """Return the context that Scala knows, or raise MissingError."""
    found = getattr(context, "_jsc", None)
    if found is None:
        raise MissingError
    return found.sc()


# -- the process and its session


def missing_package() -> str | None:
    """Return the name of a package that PySpark needs to start Java and that is not there."""
    try:
        import pyspark.java_gateway  # noqa: F401
    except ImportError as error:
        return error.name or "pyspark"
    return None


def running_context() -> SparkContext | None:
    """Return the context of this process, if there is one."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with suppress(AttributeError):
        return SparkContext._active_spark_context  # noqa: SLF001
    session = SparkSession.getActiveSession()
    return None if session is None else session.sparkContext


def has_ended(context: SparkContext) -> bool:
    """Return whether a context was stopped."""
    with suppress(AttributeError):
        return context._jsc is None  # noqa: SLF001
    try:
        return not context.applicationId
    except Exception:  # noqa: BLE001  # what a context without a JVM raises has no class of its own
        return True


def has_jvm() -> bool:
    """Return whether PySpark has a JVM that runs: it keeps that of a stopped session."""
    from pyspark import SparkContext

    gateway: Any = getattr(SparkContext, "_gateway", None)
    if gateway is None:
        return False
    process = getattr(gateway, "proc", None)
    return process is None or process.poll() is None


def started_jvm(conf: SparkConf, log: IO[bytes]) -> Any:  # noqa: ANN401  # a Popen
    """Return the process of a new JVM that writes to `log`; None if PySpark has to start it.

    Then it starts with the context, writes to stderr, and ends with this process.
    """
    from pyspark import SparkContext

    kind: Any = SparkContext
    if not hasattr(kind, "_gateway"):
        return None
    try:
        from pyspark.java_gateway import launch_gateway
    except ImportError:
        return None
    kind._gateway = None  # noqa: SLF001  # one that has crashed
    launch: Any = launch_gateway
    gateway = launch(conf, {"stdout": log, "stderr": log})
    kind._gateway, kind._jvm = gateway, gateway.jvm  # noqa: SLF001
    return gateway.proc


def taken_gateway() -> Any:  # noqa: ANN401  # py4j's
    """Return the connection to the JVM, which PySpark no longer has: its next one starts anew."""
    from pyspark import SparkContext

    kind: Any = SparkContext
    gateway = getattr(kind, "_gateway", None)
    if gateway is not None:
        kind._gateway = kind._jvm = None  # noqa: SLF001
    return gateway


def forget_session(session: SparkSession) -> None:
    """Let PySpark forget a session whose JVM has crashed."""
    kind: Any = type(session)
    for name in ("_instantiatedSession", "_activeSession"):
        if hasattr(kind, name):
            setattr(kind, name, None)


@contextmanager
def active_session_kept(spark: SparkSession) -> Iterator[None]:
    """Undo that PySpark makes `spark` active: users look for views in the session they had.

    What is active is one variable of all threads: they take turns, or one would take another's
    session for the one that was there before.
    """
    with _ACTIVE:
        yield from _active_kept(spark)


def _active_kept(spark: SparkSession) -> Iterator[None]:
    kind: Any = type(spark)
    try:
        java, active = _active_of_java(spark)
        before = kind._activeSession  # noqa: SLF001
    except (MissingError, AttributeError):
        java, before = None, kind.getActiveSession()
    try:
        yield
    finally:
        if java is None:
            _make_active(before)
        else:
            kind._activeSession = before  # noqa: SLF001
            if active.isDefined():
                java.setActiveSession(active.get())
            else:
                java.clearActiveSession()


def _active_of_java(spark: SparkSession) -> tuple[Any, Any]:
    """Return the class of sessions, and the active one as an option of Scala."""
    java = _named(_jvm(spark), "org.apache.spark.sql.classic.SparkSession")
    try:
        return java, java.getActiveSession()
    except Exception as error:
        raise MissingError from error


def _named(jvm: Any, name: str) -> Any:  # noqa: ANN401  # of Java
    """Return a class; py4j would ask Java for each part of a dotted name in turn."""
    return getattr(jvm, name)


def _make_active(session: SparkSession | None) -> None:
    if session is not None:
        session.createDataFrame([], "a INT")  # which makes the session active


@contextmanager
def pandas_not_asked_for() -> Iterator[None]:
    """Leave out PySpark's look at pandas: what needs none shares its code with what does."""
    import pyspark.sql.pandas.functions as asking

    module: Any = asking
    before = getattr(module, "require_minimum_pandas_version", None)
    if before is None:  # it looks elsewhere, or not at all
        yield
        return
    module.require_minimum_pandas_version = lambda: None
    try:
        yield
    finally:
        module.require_minimum_pandas_version = before


# -- what is known of memory and sizes


class Memory(NamedTuple):
    """The bytes that a Java process may take at most, and has taken so far."""

    most: int
    taken: int


def memory_of_jvm(spark: SparkSession) -> Memory | None:
    """Return the memory of the driver's Java process, None if it cannot be told."""
    try:
        runtime = _named(_jvm(spark), "java.lang.Runtime").getRuntime()
    except MissingError:
        return None
    return Memory(int(runtime.maxMemory()), int(runtime.totalMemory()))


def collect_garbage(spark: SparkSession) -> None:
    """Let Spark remove files that are no longer used; it does so by itself, but seldom."""
    with suppress(MissingError):
        _named(_jvm(spark), "java.lang.System").gc()


def expected_bytes(frame: DataFrame) -> int:
    """Return the bytes that Spark's planner expects of a DataFrame; too many if it cannot tell."""
    plan: Any = getattr(frame, "_jdf", None)
    if plan is None or not is_allowed(frame.sparkSession):
        return UNKNOWN_SIZE
    return int(str(plan.queryExecution().optimizedPlan().stats().sizeInBytes()))


class Job(NamedTuple):
    """A job that has run."""

    description: str
    stages: int


def jobs_with_stages(context: SparkContext) -> list[Job]:
    """Return the jobs that have a description; none if Spark does not tell them."""
    try:
        jobs = _java_context(context).statusStore().jobsList(None)
    except MissingError:
        return []
    found = (jobs.apply(place) for place in range(jobs.size()))
    return [
        Job(str(job.description().get()), int(job.stageIds().size()))
        for job in found
        if job.description().isDefined()
    ]


# -- files


def place_in_hadoop(spark: SparkSession, path: str) -> tuple[Any, Any]:
    """Return a path and its file system as Hadoop has them, or raise MissingError."""
    jvm = _jvm(spark)
    context: Any = getattr(spark.sparkContext, "_jsc", None)
    if context is None:
        raise MissingError
    place = _named(jvm, "org.apache.hadoop.fs.Path")(path)
    return place, place.getFileSystem(context.hadoopConfiguration())


# -- rows packed into columns


class Packed(NamedTuple):
    """Rows that Spark packs into columns when they are first read, and then has as such."""

    frame: DataFrame
    builder: Any
    blocks: Any


def packed(frame: DataFrame, name: str, level: StorageLevel) -> Packed:
    """Return the rows of a DataFrame as Spark keeps persistent ones, or raise MissingError.

    Only we know of them, and what they were made from is forgotten once they are written.
    """
    spark: Any = frame.sparkSession
    jvm = _names(spark)
    try:
        relation = _relation(jvm, frame, name, level)
        builder = relation.cacheBuilder()
        blocks = builder.cachedColumnBuffers()
        blocks.localCheckpoint()
        _cut(jvm, _java_context(spark.sparkContext), builder)
        return Packed(_frame_of(jvm, spark, _renamed(jvm, relation, name)), builder, blocks)
    except Exception as error:
        if has_ended(spark.sparkContext) or isinstance(error, ConnectionError):
            raise
        raise MissingError from error


def _relation(jvm: Any, frame: DataFrame, name: str, level: StorageLevel) -> Any:  # noqa: ANN401  # of Java
    """Return what Spark makes of a persistent DataFrame."""
    plan = frame._jdf.queryExecution()  # noqa: SLF001
    where = frame.sparkSession.sparkContext._getJavaStorageLevel(level)  # noqa: SLF001
    return _inmemory(jvm).apply(where, plan, _named(jvm, "scala.Option").apply(name))


def _renamed(jvm: Any, relation: Any, name: str) -> Any:  # noqa: ANN401  # of Java
    """Return a relation whose columns are called as statements call them.

    Spark keeps a union divided as its parts are if they speak of their columns by one name, down to
    the table's. A statement that reads rows by way of a subquery calls that by the view's name too.
    How rows are sorted is left out: until 4.2.0 Spark does not rename the columns of that, and
    then fails to find them.
    """
    utils = _named(jvm, "org.apache.spark.api.python.PythonUtils")
    qualifier, output = utils.toSeq([name]), relation.output()
    named = [output.apply(i).withQualifier(qualifier) for i in range(output.size())]
    stats = relation.statsOfPlanToCache()
    unsorted = utils.toSeq([])
    return _inmemory(jvm).apply(utils.toSeq(named), relation.cacheBuilder(), unsorted, stats)


def _inmemory(jvm: Any) -> Any:  # noqa: ANN401  # of Java
    """Return what makes relations of packed rows."""
    kind = _named(jvm, "org.apache.spark.sql.execution.columnar.InMemoryRelation$")
    return getattr(kind, "MODULE$")


def _cut(jvm: Any, context: Any, builder: Any) -> None:  # noqa: ANN401  # of Java
    """Let columns forget the plan that they are made by, but for its columns and its division.

    Otherwise each round would hold on to the files and broadcasts of all rounds before it.
    """
    plan = builder.cachedPlan()
    nothing = context.emptyRDD(_class_tag(jvm))
    scan = _named(jvm, "org.apache.spark.sql.execution.RDDScanExec")(
        plan.output(),
        nothing,
        "written",
        plan.outputPartitioning(),
        plan.outputOrdering(),
        _named(jvm, "scala.Option").empty(),
    )
    empty = _named(jvm, "org.apache.spark.sql.catalyst.plans.logical.OneRowRelation")()
    for name, value in (("cachedPlan", scan), ("logicalPlan", empty)):
        field = builder.getClass().getDeclaredField(name)
        field.setAccessible(True)
        field.set(builder, value)


def _class_tag(jvm: Any) -> Any:  # noqa: ANN401  # of Java
    return getattr(_named(jvm, "scala.reflect.ClassTag$"), "MODULE$").AnyRef()


def _frame_of(jvm: Any, spark: Any, plan: Any) -> DataFrame:  # noqa: ANN401  # of Java
    from pyspark.sql import DataFrame

    kind = _named(jvm, "org.apache.spark.sql.classic.Dataset")
    return DataFrame(kind.ofRows(spark._jsparkSession, plan), spark)  # noqa: SLF001


class Count(NamedTuple):
    """How many rows were written; if not exact, a task that ran twice has counted twice."""

    rows: int
    is_exact: bool


def written_rows(kept: Packed) -> Count:
    """Return how many rows were packed, of which some or all were read by now."""
    from py4j.protocol import Py4JError

    try:
        return Count(int(kept.builder.materializedRowCount()), is_exact=True)
    except Py4JError:  # until 4.1
        return Count(int(kept.builder.rowCountStats().value()), is_exact=False)


def pack(kept: Packed) -> None:
    """Pack all rows: one action of one stage."""
    kept.blocks.count()


def free(kept: Packed) -> None:
    """Give back the memory and the disk of packed rows."""
    context = _java_context(kept.frame.sparkSession.sparkContext)
    context.unpersistRDD(kept.blocks.id(), False)  # the method of the rows themselves warns
