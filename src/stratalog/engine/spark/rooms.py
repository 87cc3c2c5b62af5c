"""How much of a closure a process may hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stratalog.engine.columnar.closures.closure import BUDGET

if TYPE_CHECKING:
    from stratalog.engine.spark.session import Work

SETTING = "spark.stratalog.closure.memory"  # bytes that a worker may give to one closure
SHARE = 2  # of the memory of an executor's task, one in so many bytes may be a closure's
PER_EDGE = 64  # bytes of an edge: as it is sent, and in the lists of both its ends


def closure_budget(work: Work) -> int:
    """Return the bytes that a closure may take, in the driver and in each worker."""
    given = work.setting(SETTING)
    if given is not None:
        return _as_bytes(work, given)
    conf = work.context.getConf()
    if work.is_local:
        memory, tasks = conf.get("spark.driver.memory", "1g"), work.context.defaultParallelism
    else:
        memory = conf.get("spark.executor.memory", "1g")
        tasks = int(conf.get("spark.executor.cores", "1") or 1)
    return min(BUDGET, _as_bytes(work, memory or "1g") // (SHARE * tasks))


def most_edges(work: Work) -> int:
    """Return how many edges a process may hold."""
    return closure_budget(work) // PER_EDGE


def _as_bytes(work: Work, text: str) -> int:
    """Return what Spark understands by `512m`."""
    jvm: Any = work.context._jvm  # noqa: SLF001  # no public way
    return int(jvm.org.apache.spark.network.util.JavaUtils.byteStringAsBytes(text))
