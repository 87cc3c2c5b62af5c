"""Batches of a stream: each becomes one version of the store, once, however often it is played.

The manifest of a version says, in the link that makes it exist, which batch of the stream it ends
with. So a batch that Spark plays again after a crash is passed over if its version exists, and done
if not. Every batch makes a version, also one that changes nothing: then a batch that is neither the
last one nor the next shows that store and checkpoint do not belong together (T115).
"""

# ruff: noqa: SLF001  # this module and base.py are one

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stratalog.errors import DataError, StoreError
from stratalog.knowledge.changes import ChangedFacts, Changes
from stratalog.knowledge.moving import move_on
from stratalog.knowledge.stored.checks import checked_stream
from stratalog.knowledge.update import apply as updating
from stratalog.knowledge.update.request import UpdateRequest
from stratalog.lang.syntax import Predicate
from stratalog.pipeline.decode import decode_table
from stratalog.pipeline.feed import Feed, Net, blamed, check_shapes, fitted, net
from stratalog.pipeline.feed_output import Changed, Output
from stratalog.pipeline.feed_output import opened as opened_output
from stratalog.pipeline.manifest import JSON
from stratalog.pipeline.tables import Vocabulary
from stratalog.plan.triples import is_triple_shaped

if TYPE_CHECKING:
    import pyarrow as pa

    from stratalog.knowledge.base import KnowledgeBase
    from stratalog.pipeline.store import Store

ATTEMPTS = 10  # at a batch, while other processes commit first
WRONG_FACTS = ("D2", "D3")  # codes of what a row may be blamed for

Read = Callable[[Vocabulary], Sequence[Feed]]


@dataclass(frozen=True, slots=True)
class Batch:
    """What became of a batch: the version that it made, or had made before it was played again."""

    number: int
    version: int
    rows: int = 0
    added: int = 0
    removed: int = 0
    not_explicit: int = 0
    seconds: float = 0.0
    is_replayed: bool = False


@dataclass(slots=True)
class Progress:
    """How far a stream has come, as manifests say it."""

    batch: int = -1
    output: str | None = None
    token: str | None = None
    schemas: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def load(cls, told: JSON) -> Progress:
        """Return what a manifest says; what is not known here is passed over, T103 if it is odd."""
        found = checked_stream({} if told is None else told)
        return cls(**{name: value for name, value in found.items() if name in cls.__slots__})

    def saved(self) -> dict[str, JSON]:
        """Return what a manifest says."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(slots=True)
class Batches:
    """Applies the batches of one stream to a knowledge base that has a store."""

    kb: KnowledgeBase
    output: Output | None = None
    emitted: Sequence[str] | None = None  # predicates in the output; None for all that are derived
    maintenance: str | None = None
    keep: int | None = None  # how many versions stay

    def recover(self) -> None:
        """Finish the output of versions that exist, of whichever stream."""
        known = {name: Progress.load(each) for name, each in self._store.streams().items()}
        own = None if self.output is None else str(self.output.root)
        if self.output is not None:
            self.output.finish({p.token for p in known.values() if p.token and p.output == own})
        for other in {p.output for p in known.values() if p.token and p.output}:
            if other != own:
                self._finish(other, {n: p for n, p in known.items() if p.output == other})

    def _finish(self, other: str, known: Mapping[str, Progress]) -> None:
        """Finish another output that needs it; nothing is touched that has no such files of ours.

        A store may come from a stranger, and name any folder as its output.
        """
        tokens = {progress.token for progress in known.values() if progress.token}
        if not Output(Path(other)).has_left(tokens, known):
            return
        with suppress(StoreError), opened_output(other, self._store.path) as left:
            left.finish(tokens)  # unless another stream has the folder now, and finishes it

    def apply(self, stream: str, number: int, read: Read) -> Batch:
        """Make the version of a batch, unless it was made before; show its output."""
        with self.kb._turns.writing("a batch of a stream"):
            return self._apply(stream, number, read)

    def _apply(self, stream: str, number: int, read: Read) -> Batch:
        for _ in range(ATTEMPTS):
            move_on(self.kb)
            progress = Progress.load(self._store.streams(self.kb.version).get(stream))
            if number <= progress.batch:
                self._show(stream, progress)
                self._drop_old()
                return Batch(number, self.kb.version, is_replayed=True)
            if number > progress.batch + 1:
                raise self._gap(number, progress)
            try:
                return self._make(stream, number, read, progress)
            except StoreError as error:
                if error.code != "T105":
                    raise
        raise StoreError(
            "T105",
            f"batch {number} was overtaken {ATTEMPTS} times by other processes",
            path=str(self._store.path),
            help="let one process write to a store, or start the stream again",
        )

    def _make(self, stream: str, number: int, read: Read, progress: Progress) -> Batch:
        begun = time.perf_counter()
        kb, vocabulary = self.kb, _vocabulary(self.kb)
        feeds = [fitted(feed, vocabulary) for feed in read(vocabulary)]
        schemas = check_shapes(feeds, vocabulary, progress.schemas)
        wanted = net(feeds, vocabulary)
        place = None if self.output is None else str(self.output.root)
        done = Progress(number, place, None, schemas)
        before = kb.version
        try:
            changes = updating.apply(kb, self._wish(wanted), self._mark(stream, done))
        except DataError as error:
            if not _is_of_rows(error):
                raise
            most = kb._options.max_digits
            raise blamed(feeds, vocabulary, error, most) from None
        finally:
            if self.output is not None and kb.version == before:
                self.output.forget(stream, done.token)
        self._show(stream, done)
        self._drop_old()
        stats = changes.stats
        return Batch(
            number, kb.version, wanted.rows, stats["added"], stats["removed"],
            stats["not_explicit"], time.perf_counter() - begun,
        )  # fmt: skip

    def _mark(self, stream: str, done: Progress) -> updating.Mark:
        """Return what writes the output aside, and tells the manifest how far the stream is."""

        def mark(changes: Changes) -> Mapping[str, JSON]:
            if self.output is not None:
                changed = self._changed(changes)
                done.token = self.output.prepare(changed, self.kb.version + 1, stream)
            return {stream: done.saved()}

        return mark

    def _wish(self, wanted: Net) -> UpdateRequest:
        algorithm = updating.algorithm(self.kb, self.maintenance)
        insert, delete = (_facts(tables) for tables in (wanted.insert, wanted.delete))
        return UpdateRequest(insert, delete, maintenance=algorithm)

    def _changed(self, changes: Changes) -> Iterator[Changed]:
        """Yield what goes to the output, decoded."""
        is_emitted = self._emitted()
        gone, new = changes.removed.facts, changes.added.facts
        for name in dict.fromkeys((*gone, *new)):
            predicate = self.kb._predicate(name)
            if is_emitted(predicate):
                parts = [facts[name] for facts in (gone, new) if name in facts]
                yield _decoded(predicate, parts, gone[name].size if name in gone else 0)

    def _emitted(self) -> Callable[[Predicate], bool]:
        """Return what tells whether a predicate is in the output: it is named, or derived."""
        kb, plan = self.kb, self.kb._plan
        if self.emitted is not None:
            chosen = {kb._predicate(name) for name in self.emitted if name in kb}
            return lambda predicate: predicate in chosen
        heads = {rule.head.predicate for rule in plan.rules}
        of_triples = plan.stored_as_triples
        return lambda p: p in heads or (of_triples and is_triple_shaped(p))

    def _show(self, stream: str, progress: Progress) -> None:
        if self.output is not None:
            self.output.finish({progress.token} if progress.token else set(), stream)

    def _drop_old(self) -> None:
        """Drop versions before those that stay; what cannot go now goes another time."""
        if self.keep is not None:
            with suppress(StoreError):
                self._store.drop_older(self.keep)

    @property
    def _store(self) -> Store:
        return self.kb._bound_store()

    def _gap(self, number: int, progress: Progress) -> StoreError:
        told = f"its last batch is {progress.batch}" if progress.batch >= 0 else "it has none"
        return StoreError(
            "T115",
            f"the stream is at batch {number}, but the store does not know it: {told}",
            path=str(self._store.path),
            help="use the checkpoint that belongs to this store, or a new one to begin anew",
        )


def _vocabulary(kb: KnowledgeBase) -> Vocabulary:
    arities: dict[str, set[int]] = defaultdict(set)
    for predicate in {*kb._mentioned, *kb.visible()}:
        arities[predicate.name].add(predicate.arity)
    return Vocabulary(kb._program.declarations, arities, kb._program.prefixes)


def _facts(tables: Iterable[tuple[str, pa.Table]]) -> object:
    """Return tables as an update takes them: by name, in a list where names come twice."""
    pairs = list(tables)
    by_name = dict(pairs)
    if not pairs:
        return None
    return by_name if len(by_name) == len(pairs) else [{name: table} for name, table in pairs]


def _is_of_rows(error: DataError) -> bool:
    return error.code.startswith(WRONG_FACTS) and error.code != "D310"


def _decoded(predicate: Predicate, parts: Sequence[ChangedFacts], removed: int) -> Changed:
    """Return facts that went and came as one table: a column's type depends on all constants."""
    first = parts[0]
    columns = [np.concatenate(ids) for ids in zip(*(part.columns for part in parts), strict=True)]
    size = sum(part.size for part in parts)
    table = decode_table(columns, size, first.dictionary, first.declaration, rdf=first.rdf)
    return Changed(predicate, table, removed)
