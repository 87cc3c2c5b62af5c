"""The dictionary: every constant gets a dense number, once and for all.

Texts lie one after the other in a byte arena; a hash table (kernels/terms/intern.py) finds them.
Ids are dense from zero in the order of first appearance; only `truncate` takes them back.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from stratalog.errors import DataError, EngineError, StoreError
from stratalog.kernels.terms import intern as table
from stratalog.lang.terms import (
    BNODE_KIND,
    BOOLEAN,
    DATE,
    DATETIME,
    DECIMAL,
    DOUBLE,
    INTEGER,
    IRI_KIND,
    STRING,
    Term,
)
from stratalog.lang.values.numbers import NUMBER_KINDS, is_long, too_long
from stratalog.runtime.interrupts import held

Bytes = npt.NDArray[np.uint8]
Ids = npt.NDArray[np.uint32]
Offsets = npt.NDArray[np.int64]
KindIds = npt.NDArray[np.int32]

FIRST_KINDS = (
    IRI_KIND,
    BNODE_KIND,
    STRING,
    INTEGER,
    DECIMAL,
    DOUBLE,
    BOOLEAN,
    DATE,
    DATETIME,
)
IRI_INDEX, BNODE_INDEX, STRING_INDEX = 0, 1, 2
MOST_TERMS = 2**32 - 2
SPANS_PER_CALL = 1 << 20  # a kernel call stays short, so that Ctrl-C is heard
FIRST_SLOTS = 32
_ADDING = Lock()  # of kinds: few, and in all dictionaries together
NULLS = "a column of constants has nulls"

Watch = Callable[[int], None]


class Dictionary:
    """Constants by number and numbers by constant; append-only.

    `watch` is called with the bytes of an array before it is made, and raises if there is no room;
    numbers of more than `max_digits` digits are refused, unless it is None.
    """

    def __init__(self) -> None:
        self.watch: Watch | None = None
        self.max_digits: int | None = None
        self._refuses = True
        self.kinds: list[str] = list(FIRST_KINDS)
        self._kind_index = {kind: index for index, kind in enumerate(FIRST_KINDS)}
        self._count = 0
        self._arena: Bytes = np.empty(512, np.uint8)
        self._offsets: Offsets = np.zeros(FIRST_SLOTS, np.int64)
        self._term_kinds: KindIds = np.empty(FIRST_SLOTS - 1, np.int32)
        self._set_slots(np.zeros(FIRST_SLOTS, np.uint64))
        self._measure()

    def __len__(self) -> int:
        return self._count

    @property
    def kind_ids(self) -> KindIds:
        """The position in `kinds` of every term, by id (a view)."""
        return self._term_kinds[: self._count]

    @property
    def nbytes(self) -> int:
        """The memory held, in bytes."""
        return self._nbytes

    def _measure(self) -> None:
        arrays = (self._arena, self._offsets, self._term_kinds, self._slots)
        self._nbytes = sum(array.nbytes for array in arrays)

    def kind_index(self, kind: str) -> int:
        """Return the position of `kind` in `kinds`, adding it if it is new."""
        index = self._kind_index.get(kind)
        return self._add_kind(kind) if index is None else index

    def _add_kind(self, kind: str) -> int:
        with held(), _ADDING:  # one that decodes may add, whatever others do
            index = self._kind_index.get(kind)
            if index is None:
                self.kinds.append(kind)
                index = self._kind_index[kind] = len(self.kinds) - 1
            return index

    # Terms, one by one

    def encode(self, terms: Sequence[Term]) -> Ids:
        """Return the ids of `terms`, adding those that are new."""
        kinds = np.fromiter((self.kind_index(term.kind) for term in terms), np.int32, len(terms))
        data, starts, ends = _spans_of([term.text for term in terms])
        return self.intern_spans(data, starts, ends, kinds)

    def find(self, terms: Sequence[Term]) -> npt.NDArray[np.int64]:
        """Return the ids of `terms`, -1 for those that are unknown; nothing is added."""
        known = self._kind_index
        kinds = np.fromiter((known.get(term.kind, -1) for term in terms), np.int32, len(terms))
        data, starts, ends = _spans_of([term.text for term in terms])
        found = np.empty(len(terms), np.int64)
        table.find_terms(data, starts, ends, kinds, found, *self._state())
        return found

    def decode(self, ids: Iterable[int] | npt.NDArray[Any]) -> list[Term]:
        """Return the terms of `ids`."""
        numbers = _numbers(ids)
        texts = self.texts(numbers).to_pylist()
        kinds = self.kinds
        indices = self._term_kinds[numbers].tolist()
        return [Term(kinds[index], text) for index, text in zip(indices, texts, strict=True)]

    # Columns

    def texts(self, ids: Iterable[int] | npt.NDArray[Any]) -> pa.LargeStringArray:
        """Return the texts of `ids`, without their kinds."""
        numbers = _numbers(ids)
        if numbers.size and int(numbers.max()) >= self._count:
            raise IndexError(f"no term has the number {int(numbers.max())}")
        starts, ends = self._offsets[numbers], self._offsets[numbers + np.int64(1)]
        data = np.empty(int((ends - starts).sum()), np.uint8)
        offsets = np.empty(numbers.size + 1, np.int64)
        table.copy_spans(self._arena, starts, ends, data, offsets)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        return pa.LargeStringArray.from_buffers(numbers.size, *buffers[1:])

    def sizes(self, first: int) -> npt.NDArray[np.int64]:
        """Return the bytes of the text of each term from id `first` on."""
        return np.diff(self._offsets[first : self._count + 1])

    def intern(self, kind: str, texts: pa.Array | pa.ChunkedArray) -> Ids:
        """Return the ids of canonical `texts` of one kind (no nulls), adding those that are new."""
        if isinstance(texts, pa.ChunkedArray):
            parts = [self.intern(kind, chunk) for chunk in texts.chunks]
            return np.concatenate(parts) if parts else np.empty(0, np.uint32)
        if pa.types.is_dictionary(texts.type):
            if texts.null_count:
                raise ValueError(NULLS)
            ids = self.intern(kind, texts.dictionary)
            taken: Ids = ids[texts.indices.to_numpy(zero_copy_only=False)]
            return taken
        data, offsets = _text_buffers(texts)
        kinds = np.full(len(texts), self.kind_index(kind), np.int32)
        return self.intern_spans(data, offsets[:-1], offsets[1:], kinds)

    def intern_spans(self, data: Bytes, starts: Offsets, ends: Offsets, kind_ids: KindIds) -> Ids:
        """Return the ids of the texts data[starts[i]:ends[i]] (valid UTF-8), adding new ones."""
        ids = np.empty(starts.size, np.uint32)
        for first in range(0, starts.size, SPANS_PER_CALL):
            part = slice(first, first + SPANS_PER_CALL)
            with held():  # the table and how much of it is used change together
                known = self._count
                self._intern_part(data, starts[part], ends[part], kind_ids[part], ids[part])
                if self._refuses and self._count > known:
                    self._refuse_long_numbers(known)
        return ids

    def _refuse_long_numbers(self, first: int) -> None:
        """Raise if a term from id `first` on is a number of too many digits; forget these terms."""
        found = self.long_numbers(first)
        if found.size and self.max_digits is not None:
            text = self.texts(found[:1])[0].as_py()
            self.truncate(first)
            raise too_long(text, self.max_digits)

    def long_numbers(self, first: int) -> npt.NDArray[np.int64]:
        """Return the ids from `first` on of numbers of too many digits."""
        most, sizes = self.max_digits, self.sizes(first)
        if most is None or not sizes.size or int(sizes.max()) <= most:
            return np.empty(0, np.int64)
        ids = first + np.flatnonzero(sizes > most)
        numbers = [place for place, kind in enumerate(self.kinds) if kind in NUMBER_KINDS]
        ids = ids[np.isin(self._term_kinds[ids], numbers)]
        return ids[[is_long(term, most) for term in self.decode(ids)]]

    @contextmanager
    def taking_long_numbers(self) -> Iterator[None]:
        """Refuse no number meanwhile: the caller looks for `long_numbers`, and knows their rows.

        After an error all terms that are new are forgotten.
        """
        known, before = self._count, self._refuses
        self._refuses = False
        try:
            yield
        except BaseException:
            self.truncate(known)
            raise
        finally:
            self._refuses = before

    def _intern_part(
        self, data: Bytes, starts: Offsets, ends: Offsets, kind_ids: KindIds, ids: Ids
    ) -> None:
        done = 0
        while True:
            done, self._count = table.find_or_add_terms(
                data, starts, ends, kind_ids, done, ids, self._count, self._limit(), *self._state()
            )
            if done == starts.size:
                return
            self._make_room(int(ends[done] - starts[done]))

    # The store

    def to_table(self, first: int = 0) -> pa.Table:
        """Return the terms from id `first` on: columns kind (a position in `kinds`) and text."""
        offsets = np.ascontiguousarray(self._offsets[first : self._count + 1])
        texts = pa.LargeStringArray.from_buffers(
            self._count - first, pa.py_buffer(offsets), pa.py_buffer(self._arena)
        )
        kinds = pa.array(self._term_kinds[first : self._count], pa.int32())
        return pa.table({"kind": kinds, "text": texts})

    @classmethod
    def from_table(cls, kinds: Sequence[str], table_of_terms: pa.Table) -> Dictionary:
        """Return the dictionary that `to_table` was called on; `kinds` are its kinds."""
        dictionary = cls()
        for kind in kinds:
            dictionary.kind_index(kind)
        if dictionary.kinds[: len(kinds)] != list(kinds):
            raise _damaged("its kinds are not in their order")
        dictionary._load(table_of_terms, len(kinds))
        return dictionary

    def _load(self, table_of_terms: pa.Table, kinds: int) -> None:
        text = table_of_terms.column("text").cast(pa.large_string()).combine_chunks()
        kind = table_of_terms.column("kind").cast(pa.int32())
        if text.null_count or kind.null_count:
            raise _damaged("it has empty cells")
        if len(text) > MOST_TERMS:
            raise _damaged("it has too many constants")
        data, offsets = _text_buffers(text)
        _check_unicode(text, data, offsets)
        self._count = len(text)
        self._offsets = offsets - offsets[0]
        self._arena = data[offsets[0] : offsets[-1]].copy()
        self._term_kinds = np.array(kind.to_numpy(), np.int32)
        if self._count and not 0 <= self._term_kinds.min() <= self._term_kinds.max() < kinds:
            raise _damaged("a term has an unknown kind")
        self._set_slots(np.zeros(_slots_for(self._count), np.uint64))
        state = (self._arena, self._offsets, self._term_kinds, self._slots, self._shift)
        self._measure()
        twice = table.fill_slots(*state)
        if twice >= 0:
            raise _damaged(f"the term with number {twice} occurs twice")

    def checkpoint(self) -> int:
        """Return what `truncate` needs to come back to the present state."""
        return self._count

    def truncate(self, size: int) -> None:
        """Forget the ids from `size` on; kinds stay. Tables made of them before become invalid."""
        with held():
            table.drop_terms(size, self._count, *self._state())
            self._count = min(size, self._count)

    # Room

    def _state(self) -> tuple[Any, ...]:
        return self._slots, self._shift, self._arena, self._offsets, self._term_kinds

    def _set_slots(self, slots: npt.NDArray[np.uint64]) -> None:
        self._slots = slots
        self._shift = np.uint64(33 - int(slots.size).bit_length())

    def _limit(self) -> int:
        """Return how many terms there is room for: two thirds of the slots."""
        return min(self._term_kinds.size, self._slots.size * 2 // 3, MOST_TERMS)

    def _make_room(self, size: int) -> None:
        """Make room for at least one more term, of `size` bytes."""
        if self._count >= MOST_TERMS:
            raise EngineError(
                "E110",
                f"there are more than {MOST_TERMS:,} different constants",
                help="split the data into several stores",
            )
        used = int(self._offsets[self._count])
        if used + size > self._arena.size:
            longer = max(2 * self._arena.size, used + size)
            self._check_room(longer)
            self._arena = _enlarged(self._arena, used, longer)
        if self._count >= self._term_kinds.size:
            room = max(FIRST_SLOTS - 1, 2 * self._term_kinds.size)
            self._check_room((self._term_kinds.itemsize + self._offsets.itemsize) * room)
            self._term_kinds = _enlarged(self._term_kinds, self._count, room)
            self._offsets = _enlarged(self._offsets, self._count + 1, room + 1)
        if self._count >= self._slots.size * 2 // 3:
            old = self._slots
            self._check_room(2 * old.nbytes)
            self._set_slots(np.zeros(2 * old.size, np.uint64))
            table.grow_slots(old, self._slots, self._shift)
        self._measure()

    def _check_room(self, nbytes: int) -> None:
        if self.watch is not None:
            self.watch(nbytes)


def writable_view(buffer: Any) -> Bytes:  # noqa: ANN401  # anything with an address and a size
    """Return the bytes of an Arrow buffer as an array of the type that kernels are compiled for.

    Kernels are compiled anew for read-only arrays, and Arrow's are: this view is never written to.
    """
    if buffer is None or buffer.size == 0:
        return np.empty(0, np.uint8)
    raw = (ctypes.c_uint8 * buffer.size).from_address(buffer.address)
    raw._owner = buffer  # noqa: SLF001  # keeps the memory alive
    return np.frombuffer(raw, np.uint8)


def _check_unicode(texts: pa.LargeStringArray, data: Bytes, offsets: Offsets) -> None:
    """Raise if a text is not valid UTF-8; where all is ASCII, no text needs a look of its own."""
    try:
        texts.validate()  # no text lies outside the bytes, if each begins where another ends
        is_ascii = int(data[offsets[0] : offsets[-1]].max(initial=0)) < 128  # noqa: PLR2004
        if not is_ascii or (offsets[1:] < offsets[:-1]).any():
            texts.validate(full=True)
    except pa.ArrowInvalid:
        raise _damaged("a text is not valid UTF-8") from None


def _text_buffers(texts: pa.Array) -> tuple[Bytes, Offsets]:
    """Return the bytes and offsets of a column of strings."""
    if texts.null_count:
        raise ValueError(NULLS)
    if not pa.types.is_string(texts.type) and not pa.types.is_large_string(texts.type):
        texts = pc.cast(texts, pa.large_string())
    wide = pa.types.is_large_string(texts.type)
    _, offsets, data = texts.buffers()
    if offsets is None or not len(texts):
        return np.empty(0, np.uint8), np.zeros(1, np.int64)
    numbers = np.frombuffer(offsets, np.int64 if wide else np.int32)
    part = numbers[texts.offset : texts.offset + len(texts) + 1]
    return writable_view(data), part.astype(np.int64)


def _spans_of(texts: list[str]) -> tuple[Bytes, Offsets, Offsets]:
    """Return the texts as bytes, with the start and end of each."""
    try:
        encoded = [text.encode() for text in texts]
    except UnicodeEncodeError as error:
        raise DataError(
            "D102",
            f"a text is not valid Unicode: {error.reason} in {error.object[:40]!a}",
            help="a str with half of a surrogate pair cannot be a constant",
        ) from None
    data = np.frombuffer(bytearray(b"".join(encoded)), np.uint8)
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=offsets[1:])
    return data, offsets[:-1], offsets[1:]


def _numbers(ids: Iterable[int] | npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    if not isinstance(ids, np.ndarray):
        ids = np.fromiter(ids, np.int64)
    return ids.astype(np.int64, copy=False)


def _enlarged(array: npt.NDArray[Any], used: int, size: int) -> npt.NDArray[Any]:
    larger = np.empty(size, array.dtype)
    larger[:used] = array[:used]
    return larger


def _slots_for(count: int) -> int:
    return max(FIRST_SLOTS, 1 << (count * 3 // 2).bit_length())


def _damaged(why: str) -> StoreError:
    return StoreError(
        "T103",
        f"the store's dictionary is damaged: {why}",
        help="open an earlier version, or build the store again from its sources",
    )
