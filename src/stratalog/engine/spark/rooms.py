"""How much of a closure a process may hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stratalog.closure.closure import BUDGET_BYTES
from stratalog.spark.settings import bytes_of

if TYPE_CHECKING:
    from stratalog.engine.spark.session import Work

SETTING = "spark.stratalog.closure.memory"  # bytes that a worker may give to one closure
SHARE = 2  # of the memory of an executor's task, one in so many bytes may be a closure's
PER_EDGE = 64  # bytes of an edge: as it is sent, and in the lists of both its ends


def closure_budget(work: Work) -> int:
    """Return the bytes that a closure may take, in the driver and in each worker."""
    given = work.setting(SETTING)
    if given is not None:
        return bytes_of(given, BUDGET_BYTES)
    conf = work.context.getConf()
    if work.is_local:
        memory, tasks = conf.get("spark.driver.memory", "1g"), work.context.defaultParallelism
    else:
        memory = conf.get("spark.executor.memory", "1g")
        tasks = int(conf.get("spark.executor.cores", "1") or 1)
    return min(BUDGET_BYTES, bytes_of(memory, 1 << 30) // (SHARE * tasks))


def most_edges(work: Work) -> int:
    """Return how many edges a process may hold."""
    return closure_budget(work) // PER_EDGE
