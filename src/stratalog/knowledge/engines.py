"""Which engine reasons: in this process as long as the facts fit, in Spark otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from stratalog.errors import EngineError, StratalogError
from stratalog.facts.labels import E
from stratalog.knowledge.adapters import ColumnarHost, Host
from stratalog.knowledge.options import Options, available_memory, usual_threads
from stratalog.knowledge.reader import open_session
from stratalog.pipeline.dictionary import Dictionary
from stratalog.runtime.limits import Limits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHARE_OF_MEMORY = 0.8
"""Of the memory that is free, this much may go to relations if no limit is given."""

BYTES_PER_FACT = 48
GROWTH = 3
"""Facts after reasoning per explicit fact, as far as one can tell before."""

FITTING = 0.6
"""Of the memory that is free, what explicit facts and their consequences may be thought to need."""

FULL = "E101"


class Choice(NamedTuple):
    """An engine, and why it was chosen."""

    engine: str
    why: str


def make_host(options: Options, dictionary: Dictionary, facts: int = 0) -> Host:
    """Return an empty engine of the chosen kind, or of the kind that so many facts ask for."""
    choice = choose(options, dictionary, facts)
    memory, available = options.memory, available_memory()
    if memory is None and available is not None:
        memory = int(SHARE_OF_MEMORY * available) + dictionary.nbytes
    limits = Limits(memory, options.max_facts, options.timeout)
    watch_constants(dictionary, limits, "a rule that makes constants")
    if choice.engine == "reference":
        from stratalog.knowledge.reference_host import ReferenceHost

        host: Host = ReferenceHost(dictionary, limits)
    elif choice.engine == "spark":
        host = spark_host(options, dictionary, limits)
    else:
        columnar = ColumnarHost(dictionary, limits, options.threads or usual_threads())
        dictionary.watch = columnar.engine.check_room
        host = columnar
    host.why = choice.why
    return host


def watch_constants(dictionary: Dictionary, limits: Limits, doing: str) -> None:
    """Let a dictionary ask for room before it grows."""
    dictionary.watch = lambda more: limits.check_memory(dictionary.nbytes + more, doing)


def choose(options: Options, dictionary: Dictionary, facts: int) -> Choice:
    """Return the engine that was asked for; of `auto` the one that the facts fit into."""
    if options.engine != "auto":
        return Choice(options.engine, "asked for")
    if options.memory is not None and options.spill is None:
        return Choice("columnar", "a limit of memory is given")
    available = _free_memory() if options.memory is None else options.memory
    needed = estimated_bytes(facts, dictionary)
    if available is None or needed <= FITTING * available:
        return Choice("columnar", "the facts fit into memory")
    told = f"{needed >> 20:,} MiB may be needed, {available >> 20:,} MiB are free"
    if not has_spark():
        return Choice("columnar", f"{told}, but PySpark 4 is not installed")
    return Choice("spark", told)


def estimated_bytes(facts: int, dictionary: Dictionary) -> int:
    """Return what explicit facts, their consequences and constants are thought to take."""
    return facts * BYTES_PER_FACT * GROWTH + dictionary.nbytes


def modules_for(options: Options, dictionary: Dictionary, facts: int) -> str:
    """Return how rules are planned that special algorithms know.

    Spark follows closures; the paper's algorithms it follows only in updates of a store.
    """
    is_spark = choose(options, dictionary, facts).engine == "spark"
    if is_spark and options.modules == "paper":
        raise EngineError(
            "E121",
            f"modules={options.modules!r} is not supported on Spark",
            help='modules="auto" closes relations there too; or choose engine="columnar"',
        )
    return options.modules


def has_spark() -> bool:
    """Return whether there is a Spark to start."""
    from stratalog.spark.versions import has_supported

    return has_supported()


def _free_memory() -> int | None:
    """Return the bytes that this process may take, without those that a JVM may still take."""
    from stratalog import spark
    from stratalog.spark.internals import memory_of_jvm

    available = available_memory()
    try:
        session = spark.active()
    except StratalogError:  # one that Stratalog cannot use has its memory elsewhere
        session = None
    if available is None or session is None or not spark.is_local(session):
        return available
    memory = memory_of_jvm(session)
    return available if memory is None else max(0, available - memory.most + memory.taken)


def spark_host(options: Options, dictionary: Dictionary, limits: Limits) -> Host:
    """Return an empty Spark engine, in the given session, the active one or a new one."""
    session: SparkSession = open_session(options)  # says what is missing, before it is imported
    from stratalog.knowledge.spark_host import SparkHost

    return SparkHost(session, dictionary, limits)


def can_restart(host: Host, options: Options, error: Exception) -> bool:
    """Return whether a run that ended for want of memory can begin again on Spark."""
    is_full = isinstance(error, MemoryError) or (
        isinstance(error, StratalogError) and error.code == FULL
    )
    is_free = options.engine == "auto" and options.memory is None
    may_go = (is_free or options.spill == "spark") and options.modules != "paper"
    return is_full and may_go and host.name == "columnar" and has_spark()


def restarted(host: Host, options: Options, dictionary: Dictionary) -> Host:
    """Return a Spark engine with the explicit facts of another, which has grown too large."""
    dictionary.watch = None
    other = spark_host(options, dictionary, Limits(None, options.max_facts, options.timeout))
    other.why = "the columnar engine has reached its memory limit"
    for predicate in host.predicates():
        other.load(predicate, *host.read(predicate, E))
    return other
