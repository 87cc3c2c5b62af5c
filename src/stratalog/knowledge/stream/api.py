"""Streams: a change feed comes in by Structured Streaming, and the store follows batch by batch.

What is public here is a method of KnowledgeBase, kept in a file of its own; `run.py` does it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from stratalog.knowledge.base import KnowledgeBase
    from stratalog.knowledge.stream.batches import Batch
    from stratalog.knowledge.stream.run import Stream


def stream(  # noqa: PLR0913  # what a stream is made of
    self: KnowledgeBase,
    source: Any,  # noqa: ANN401  # paths, frames, or several
    predicate: str | None = None,
    *,
    output: str | os.PathLike[str] | None = None,
    emit: Sequence[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    once: bool = False,
    interval: float = 1.0,
    max_files: int | None = None,
    keep: int | None = None,
    maintenance: str | None = None,
    on_batch: Callable[[Batch], object] | None = None,
    spark: SparkSession | None = None,
) -> Stream:
    """Start to apply a change feed to the store, exactly once, and return the running stream.

    `source` is a streaming DataFrame with the columns of `predicate` and `_change_type`; a dict of
    such DataFrames by predicate; a folder with a folder of files per predicate; `name=DIR`; or a
    list of these two. Derived changes are appended to `output`: those of the predicates in `emit`,
    by default of all that rules derive. The position is kept in `checkpoint`, by default a folder
    in the store that belongs to this source; started again, the stream goes on where it was.

    With `once` the stream ends when it has read what is there now; otherwise it looks for more
    every `interval` seconds. A batch has at most `max_files` files of each folder. `keep` is how
    many versions of the store stay. `on_batch` is called after each batch, in another thread.
    """
    from stratalog.knowledge.stream.run import Wanted, start

    return start(
        self,
        Wanted(
            source, predicate, output, emit, checkpoint, once, interval, max_files, keep,
            maintenance, on_batch, spark,
        ),
    )  # fmt: skip
