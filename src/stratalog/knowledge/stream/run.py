"""A stream that runs: Spark makes batches of a change feed, and the store follows them.

    Spark: which rows are in which batch (offsets and commits, in the checkpoint)
      -> foreachBatch: the batch as Arrow tables in this process
      -> update, output aside, manifest with the batch's number, output shown   (batches.py)

Spark plays a batch again until it has noted that the batch is done, and always with the same rows;
the store takes it once. Folders are streams of *file names*: Spark finds new files and remembers
them, and the readers of updates read what is in them, so that a feed means the same facts as a file
given to `update`, and a mistake is told with its file and row.
"""

# ruff: noqa: SLF001  # this module and base.py are one

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from stratalog.errors import DataError, EngineError, StoreError
from stratalog.knowledge.frames import _session
from stratalog.knowledge.options import check_options
from stratalog.knowledge.stream.batches import Batch, Batches
from stratalog.knowledge.stream.sources import Source, folders_source, frames_source
from stratalog.knowledge.turns import within
from stratalog.pipeline.durable import failures, lock_alone, make_folder
from stratalog.pipeline.feed_output import opened as opened_output
from stratalog.pipeline.ordinary import check_folder
from stratalog.pipeline.paths import is_remote
from stratalog.spark import translate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from stratalog.knowledge.base import KnowledgeBase

FOLDER = "stream"  # in a store, of checkpoints
LOCK = "stream.lock"
POLL_SECONDS = 0.5  # seconds between two looks at a stream that is waited for


class Stream:
    """A stream that runs in the background until it is stopped, fails, or has read all there is."""

    def __init__(
        self, batches: Batches, held: ExitStack, on_batch: Callable[[Batch], object] | None
    ) -> None:
        self._batches = batches
        self._held = held
        self._busy = threading.Lock()
        self._player: int | None = None  # the thread that plays batches
        self._error: Exception | None = None
        self._is_told = False  # whether somebody has seen the error
        self._is_begun = threading.Event()
        self.id = ""  # the same after a restart: it is in the checkpoint
        self.query: StreamingQuery | None = None
        self._on_batch = on_batch
        self.last: Batch | None = None
        self.batches = self.rows = self.added = self.removed = 0

    def begin(self, query: StreamingQuery) -> None:
        """Let batches be applied, now that it is known which stream they are of."""
        self.query, self.id = query, str(query.id)
        self._batches.kb._streams.add(self)
        self._is_begun.set()

    def _play(self, source: Source, frame: DataFrame, number: int) -> None:
        """Apply a batch: the function that Spark calls."""
        with self._busy:
            self._player = threading.get_ident()
            try:
                self._is_begun.wait()  # the first batch may come before the query is known here
                done = self._batches.apply(
                    self.id, number, lambda vocabulary: source.read(frame, vocabulary)
                )
            except Exception as error:
                self._error = translate(error, f"applying batch {number}")
                raise self._error from error
            try:
                self._note(done)
            except Exception as error:
                self._error = error  # of the user's own function
                raise

    def _note(self, done: Batch) -> None:
        self.last = done
        if not done.is_replayed:
            self.batches += 1
            self.rows += done.rows
            self.added += done.added
            self.removed += done.removed
        if self._on_batch is not None:
            self._on_batch(done)

    @property
    def is_active(self) -> bool:
        """Whether batches may still come."""
        try:
            is_active = self.query is not None and bool(self.query.isActive)
        except Exception:  # noqa: BLE001  # of a JVM that is gone, in all its kinds
            is_active = False
        if not is_active:
            self._held.close()  # the store and the output are free for another stream
        return is_active

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until the stream ends and return True; False if it still runs after the timeout.

        What ended a stream that failed is raised here.
        """
        self._refuse_within("wait")
        query = self.query
        if query is None:
            return True
        left = timeout
        try:
            while not _has_ended(
                query, POLL_SECONDS if left is None else min(POLL_SECONDS, max(left, 0.01))
            ):
                left = None if left is None else left - POLL_SECONDS
                if left is not None and left <= 0:
                    return False
        except Exception as error:
            self._held.close()
            self._is_told = True
            raise self._error or translate(error, "running a stream") from error
        self._held.close()
        return True

    def _refuse_within(self, doing: str) -> None:
        """Refuse to wait for a batch in a function that it calls, or that it waits for."""
        self._batches.kb._turns.refuse_within(doing)
        if self._player == threading.get_ident() and self._busy.locked():
            raise within(doing)

    def stop(self) -> None:
        """End the stream once the batch that is being applied is done."""
        self._refuse_within("stop")
        try:
            with self._busy:
                pass
            if self.query is not None:
                self.query.stop()
        except Exception as error:
            raise translate(error, "stopping a stream") from error
        finally:
            self._held.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        failed = None if self._is_told else self._error
        self.stop()
        if kind is None and failed is not None:
            raise failed

    def __repr__(self) -> str:
        state = "running" if self.is_active else "ended"
        told = f"{self.batches} batches, +{self.added:,} -{self.removed:,} facts"
        return f"<Stream: {state}, {told}, version {self._batches.kb.version}>"


def _has_ended(query: Any, seconds: float) -> bool:  # noqa: ANN401  # PySpark says int
    return bool(query.awaitTermination(seconds))


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a stream is asked to be; see `KnowledgeBase.stream`."""

    source: Any
    predicate: str | None
    output: str | os.PathLike[str] | None
    emit: Sequence[str] | None
    checkpoint: str | os.PathLike[str] | None
    once: bool
    interval: float
    max_files: int | None
    keep: int | None
    maintenance: str | None
    on_batch: Callable[[Batch], object] | None
    spark: SparkSession | None

    def check(self, kb: KnowledgeBase) -> None:
        """Refuse what cannot be before anything is opened."""
        _check_amount("interval", self.interval, (int, float), 0)
        for name, value in (("max_files", self.max_files), ("keep", self.keep)):
            if value is not None:
                _check_amount(name, value, (int,), 1)
        if self.maintenance is not None:
            check_options(maintenance=self.maintenance)
        for name in self.emit or ():
            kb._predicate(name)

    @property
    def trigger(self) -> dict[str, Any]:
        """When Spark looks for more."""
        if self.once:
            return {"availableNow": True}
        return {"processingTime": f"{int(self.interval * 1000)} milliseconds"}


def _check_amount(name: str, value: Any, kinds: tuple[type, ...], least: int) -> None:  # noqa: ANN401  # that is checked
    is_one = isinstance(value, kinds) and not isinstance(value, bool)
    if not (is_one and least <= value < inf):
        told = "number" if float in kinds else "whole number"
        raise EngineError(
            "E120", f"{name}={value!r} is not possible", help=f"a {told} from {least} on"
        )


def start(kb: KnowledgeBase, wanted: Wanted) -> Stream:
    """Start a stream and return it; until it ends, store and output are its own."""
    store = kb._bound_store()
    wanted.check(kb)
    chosen = _source(kb, wanted)
    with ExitStack() as held:
        held.enter_context(_alone(store.path))
        folder = None
        if wanted.output is not None:
            _check_apart(wanted.output, chosen)
            prefixes = kb._program.prefixes
            folder = held.enter_context(opened_output(wanted.output, store.path, prefixes))
        batches = Batches(kb, folder, wanted.emit, wanted.maintenance, wanted.keep)
        batches.recover()
        place = _checkpoint(store.path, wanted.checkpoint, chosen)
        session = chosen.session or _session(kb, wanted.spark)
        started = Stream(batches, held, wanted.on_batch)
        held.callback(kb._streams.discard, started)
        started.begin(_query(started, chosen, session, place, wanted))
        started._held = held.pop_all()
    return started


def _query(
    started: Stream, chosen: Source, session: SparkSession, place: str, wanted: Wanted
) -> StreamingQuery:
    def play(frame: DataFrame, number: int) -> None:
        started._play(chosen, frame, number)

    try:
        writer = chosen.frame(session).writeStream.foreachBatch(play)
        return writer.option("checkpointLocation", place).trigger(**wanted.trigger).start()
    except Exception as error:
        raise translate(error, "starting a stream") from error


def _source(kb: KnowledgeBase, wanted: Wanted) -> Source:
    """Return what a stream reads from."""
    given, predicate = wanted.source, wanted.predicate
    prefixes = kb._program.prefixes
    if isinstance(given, str | os.PathLike):
        named = given if predicate is None else f"{predicate}={os.fspath(given)}"
        return folders_source([named], prefixes, kb.visible, wanted.max_files)
    if isinstance(given, list | tuple):
        return folders_source(list(given), prefixes, kb.visible, wanted.max_files)
    if not isinstance(given, Mapping):
        if predicate is None:
            raise DataError(
                "D332",
                "a DataFrame does not tell which predicate it feeds",
                help='kb.stream(frame, predicate="edge"), or kb.stream({"edge": frame})',
            )
        given = {predicate: given}
    return frames_source(given, prefixes)


def _check_apart(output: str | os.PathLike[str], chosen: Source) -> None:
    """Refuse to read what the stream itself writes."""
    target = Path(os.fspath(output)).resolve()
    for root in chosen.roots:
        place = Path(root).resolve()
        if target == place or target in place.parents or place in target.parents:
            raise StoreError(
                "T108",
                "the output would be read as input",
                path=str(output),
                help="name a folder for the output that lies beside the source",
            )


@contextmanager
def _alone(store: Path) -> Iterator[None]:
    with ExitStack() as stack:
        with failures(store, "start a stream"):
            is_ours = stack.enter_context(lock_alone(store / LOCK))
        if not is_ours:
            raise StoreError(
                "T114",
                "another stream runs on this store",
                path=str(store),
                help="stop it first; one stream may have several sources",
            )
        yield


def _checkpoint(store: Path, given: str | os.PathLike[str] | None, chosen: Source) -> str:
    """Return where Spark keeps the position, as a URI."""
    if given is not None and is_remote(os.fspath(given)):
        return os.fspath(given)
    name = hashlib.sha256(chosen.description.encode()).hexdigest()[:16]
    check_folder(store / FOLDER)
    check_folder(store / FOLDER / name)
    place = store / FOLDER / name if given is None else Path(os.fspath(given)).absolute()
    with failures(place, "make the checkpoint's folder"):
        make_folder(place)
    return f"file://{place}"
