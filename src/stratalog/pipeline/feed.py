"""A change feed: the columns of a predicate, and for each row what happened to its fact.

`_change_type` is insert, delete, update_preimage (the fact that an update took away) or
update_postimage (the one it put there). If there is a `_commit_version`, the last change of a fact
in a batch wins; without it, or within one version, a fact that is inserted and deleted is inserted.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from stratalog.errors import DataError
from stratalog.lang.names import split_arity
from stratalog.pipeline.decode import empty_rows
from stratalog.pipeline.dictionary import Dictionary
from stratalog.pipeline.files import ReadReport
from stratalog.pipeline.native import TYPE_OF_KIND, kind_of
from stratalog.pipeline.portable import HOLDS
from stratalog.pipeline.tables import (
    TYPE_KEY,
    Source,
    Vocabulary,
    _encode,
    block_of,
    choose_columns,
    encode_table,
)

CHANGE_TYPE = "_change_type"
COMMIT_VERSION = "_commit_version"
ACCOUNT = (CHANGE_TYPE, COMMIT_VERSION, "_commit_timestamp")
"""Columns that tell about changes; they are no columns of a predicate."""

INSERTS = ("insert", "update_postimage")
DELETES = ("delete", "update_preimage")
OURS = "stratalog"  # in place of a column's kind: its file tells the kind of every constant

Mask = npt.NDArray[np.bool_]
Shape = list[list[str]]
"""The columns that a predicate takes from a feed, each with its name and the kind of its values."""


@dataclass(frozen=True, slots=True)
class Feed:
    """Changes of one predicate, from one file or DataFrame."""

    name: str
    table: pa.Table  # of facts
    inserts: Mask  # rows that insert; all others delete
    versions: npt.NDArray[np.int64] | None
    path: str | None = None


@dataclass(slots=True)
class Net:
    """What a batch inserts and deletes: tables with the names of their predicates."""

    insert: list[tuple[str, pa.Table]] = field(default_factory=list)
    delete: list[tuple[str, pa.Table]] = field(default_factory=list)
    rows: int = 0


def feed_of(name: str, table: pa.Table, path: str | None = None) -> Feed:
    """Return a table of changes as a feed, or D330 where it says not what happened."""
    inserts = _inserts(name, table, path)
    versions = _versions(table, path)
    facts = table.drop_columns([each for each in ACCOUNT if each in table.column_names])
    return Feed(name, facts, inserts, versions, path)


def _inserts(name: str, table: pa.Table, path: str | None) -> Mask:
    if CHANGE_TYPE not in table.column_names:
        columns = ", ".join(table.column_names) or "none"
        raise _not_told(f"the feed of {name} has no column {CHANGE_TYPE}, only {columns}", path)
    told = table.column(CHANGE_TYPE)
    known = pc.fill_null(_is_in(told, INSERTS + DELETES), fill_value=False)
    first = pc.index(known, value=False).as_py()
    if first >= 0:
        found = told[first].as_py()
        raise _not_told(f"{CHANGE_TYPE} in row {first + 1} is {found!r}", path)
    inserts: Mask = _is_in(told, INSERTS).to_numpy()
    return inserts


def _is_in(told: Any, words: tuple[str, ...]) -> Any:  # noqa: ANN401  # Arrow has no types
    if not pa.types.is_string(told.type) and not pa.types.is_large_string(told.type):
        told = pc.cast(told, pa.string())
    return pc.is_in(told, pa.array(words, told.type))


def _versions(table: pa.Table, path: str | None) -> npt.NDArray[np.int64] | None:
    if COMMIT_VERSION not in table.column_names:
        return None
    column = table.column(COMMIT_VERSION)
    if column.null_count or not pa.types.is_integer(column.type):
        wrong = "null" if pa.types.is_integer(column.type) else str(column.type)
        raise _not_told(f"{COMMIT_VERSION} is {wrong}, which is no number of a version", path)
    versions: npt.NDArray[np.int64] = pc.cast(column, pa.int64()).to_numpy()
    return versions


def _not_told(message: str, path: str | None) -> DataError:
    words = ", ".join((*INSERTS, *DELETES))
    advice = f"{CHANGE_TYPE} is one of {words}; {COMMIT_VERSION} is an integer or left out"
    return DataError("D330", message, path=path, help=advice)


def fitted(feed: Feed, vocabulary: Vocabulary) -> Feed:
    """Return the feed of a predicate without arguments without the column that stands for none."""
    is_bare = feed.table.column_names in ([], [HOLDS])
    if not is_bare or vocabulary.widths(feed.name) not in (set(), {0}):
        return feed
    return Feed(feed.name, empty_rows(len(feed.inserts)), feed.inserts, feed.versions, feed.path)


# -- the schema, which must not change


def check_shapes(
    feeds: Iterable[Feed], vocabulary: Vocabulary, known: Mapping[str, Shape]
) -> dict[str, Shape]:
    """Return the shapes of all predicates, those of new feeds included; D331 if one has changed."""
    shapes = dict(known)
    for feed in feeds:
        found = _shape(feed, vocabulary)
        before = shapes.setdefault(_key(feed, vocabulary), found)
        if not _is_same(before, found):
            raise DataError(
                "D331",
                f"the schema of {feed.name}'s feed has changed in mid-stream:"
                f" it was {_shown(before)}, and is {_shown(found)}",
                path=feed.path,
                help="write the feed as before, or start another stream with a new checkpoint",
            )
    return shapes


def _shape(feed: Feed, vocabulary: Vocabulary) -> Shape:
    source = Source(feed.path)
    chosen, columns = choose_columns(block_of(feed.table), feed.name, vocabulary, source)
    is_ours = all(TYPE_KEY in (each.metadata or {}) for each in feed.table.schema)
    shape = [
        [column.source or column.name, OURS if is_ours else _kind(values.type)]
        for column, values in zip(chosen, columns, strict=True)
    ]
    return shape if feed.versions is None else [*shape, [COMMIT_VERSION, "integer"]]


def _key(feed: Feed, vocabulary: Vocabulary) -> str:
    return f"{split_arity(feed.name)[0]}/{_width(feed, vocabulary)}"


def _width(feed: Feed, vocabulary: Vocabulary) -> int:
    """Return the arity of the predicate that is fed: an IRI may have several."""
    block = block_of(feed.table)
    return len(choose_columns(block, feed.name, vocabulary, Source(feed.path))[0])


def _kind(arrow_type: Any) -> str:  # noqa: ANN401
    return TYPE_OF_KIND.get(kind_of(arrow_type) or "", str(arrow_type))


def _is_same(before: Shape, found: Shape) -> bool:
    if len(before) != len(found):
        return False
    pairs = zip(before, found, strict=True)
    return all(a == b or (a[0] == b[0] and OURS in (a[1], b[1])) for a, b in pairs)


def _shown(shape: Shape) -> str:
    words = [name if kind == OURS else f"{name} {kind}" for name, kind in shape]
    return f"({', '.join(words)})"


# -- what a batch comes to


def net(feeds: Sequence[Feed], vocabulary: Vocabulary) -> Net:
    """Return what remains to be inserted and deleted."""
    found = Net(rows=sum(len(feed.inserts) for feed in feeds))
    groups: dict[tuple[str, int], list[Feed]] = defaultdict(list)
    for feed in feeds:
        groups[split_arity(feed.name)[0], _width(feed, vocabulary)].append(feed)
    for group in groups.values():
        for feed, kept in zip(group, _last(group, vocabulary), strict=True):
            for target, mask in (
                (found.insert, feed.inserts & kept),
                (found.delete, ~feed.inserts & kept),
            ):
                if mask.any():
                    target.append((feed.name, _rows(feed.table, mask)))
    return found


def _rows(table: pa.Table, mask: Mask) -> pa.Table:
    if mask.all():
        return table
    if not table.num_columns:
        return empty_rows(int(mask.sum()))
    return table.filter(pa.array(mask))


def _last(feeds: Sequence[Feed], vocabulary: Vocabulary) -> list[Mask]:
    """Return which rows are of the last version that changes their fact."""
    everything = [np.ones(len(feed.inserts), np.bool_) for feed in feeds]
    versions = [feed.versions for feed in feeds if feed.versions is not None]
    if len(versions) < len(feeds):
        return everything
    inserts, numbers = np.concatenate([feed.inserts for feed in feeds]), np.concatenate(versions)
    if not inserts.size or inserts.all() or not inserts.any() or numbers.min() == numbers.max():
        return everything
    facts, is_fact = _numbered(feeds, vocabulary)
    last = np.full(int(facts.max()) + 1, numbers.min())
    np.maximum.at(last, facts[is_fact], numbers[is_fact])
    kept = (numbers == last[facts]) | ~is_fact
    return np.split(kept, np.cumsum([len(feed.inserts) for feed in feeds])[:-1])


def _numbered(feeds: Sequence[Feed], vocabulary: Vocabulary) -> tuple[npt.NDArray[np.int64], Mask]:
    """Return a number per row, equal where facts are, and which rows are facts at all."""
    scratch = Dictionary()  # equal facts may be spelled in two ways, or be of two types of Arrow
    parts, good = [], []
    for feed in feeds:
        source = Source(feed.path)
        chosen, columns = choose_columns(block_of(feed.table), feed.name, vocabulary, source)
        encoded = [_encode(v, c, scratch, source) for c, v in zip(chosen, columns, strict=True)]
        wrong = [m for each in encoded for m in (each.nulls, each.bad) if m is not None]
        size = len(feed.inserts)
        good.append(~np.logical_or.reduce([np.zeros(size, np.bool_), *wrong]))
        parts.append(np.stack([e.ids for e in encoded], 1) if encoded else np.zeros((size, 1)))
    _, numbers = np.unique(np.concatenate(parts), axis=0, return_inverse=True)
    return numbers.reshape(-1).astype(np.int64), np.concatenate(good)


def blamed(
    feeds: Iterable[Feed], vocabulary: Vocabulary, error: DataError, most: int | None = None
) -> DataError:
    """Return the error with the file and row that it is about, if one of the feeds is to blame."""
    scratch = Dictionary()
    scratch.max_digits = most  # of a number
    for feed in feeds:
        try:
            source = Source(feed.path)
            encode_table(feed.table, feed.name, vocabulary, scratch, ReadReport(), source)
        except DataError as found:
            return found
    return error
