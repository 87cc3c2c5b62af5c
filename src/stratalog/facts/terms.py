"""Constants as numbers: what engines need to know of the dictionary that encodes them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from stratalog.lang.terms import Term

Array = Any  # an array of NumPy or Arrow: algorithms pass arrays on, only engines look inside


class Terms(Protocol):
    """Constants encoded as the ids 0, 1, 2, ...; an id is never given back."""

    def __len__(self) -> int:
        """Return how many terms there are; ids are smaller."""
        ...

    @property
    def kinds(self) -> list[str]:
        """Return the kinds of terms, by kind index; new ones come last."""
        ...

    @property
    def kind_ids(self) -> Array:
        """Return the kind index of each id (int32)."""
        ...

    def kind_index(self, kind: str) -> int:
        """Return the index of a kind, which is added if it is new."""
        ...

    def encode(self, terms: Sequence[Term]) -> Array:
        """Return the ids (uint32) of terms; new terms are added."""
        ...

    def decode(self, ids: Array) -> list[Term]:
        """Return the terms of ids."""
        ...

    @property
    def nbytes(self) -> int:
        """Return the bytes that terms take."""
        ...

    def texts(self, ids: Array) -> Array:
        """Return the texts of ids (pyarrow large_string)."""
        ...

    def intern(self, kind: str, texts: Array) -> Array:
        """Return the ids (uint32) of the canonical texts of one kind; new terms are added."""
        ...
