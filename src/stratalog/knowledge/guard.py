"""What questions and changes go through: within limits, with coded errors, whole or closed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, cast

from stratalog.errors import EngineError
from stratalog.knowledge.absent import ClosedHost
from stratalog.knowledge.adapters import Host
from stratalog.knowledge.display.progress import plural
from stratalog.knowledge.options import available_memory
from stratalog.lang.effort import digits_up_to
from stratalog.lang.syntax import TRIPLE, Predicate
from stratalog.pipeline.facts import BYTES_PER_ID
from stratalog.runtime.interrupts import was_forced
from stratalog.runtime.limits import full_memory_explained
from stratalog.tracebacks import shown_briefly

if TYPE_CHECKING:
    from stratalog.knowledge.base import KnowledgeBase

BYTES_PER_CELL = 12  # its number, and the least that a value takes in a table
MAX_UNASKED_BYTES = 64 << 20  # bytes that are taken without asking

TORN = "the knowledge base was interrupted by a second Ctrl-C amid a change, and is closed"


class whole:  # noqa: N801  # used like a function
    """Give coded errors and the limit of digits to what may change facts or constants.

    The caller has the engine. A second Ctrl-C closes the knowledge base: it may be half changed.
    """

    __slots__ = ("_digits", "_explained", "_kb")

    def __init__(self, kb: KnowledgeBase, doing: str) -> None:
        self._kb = kb
        self._explained = full_memory_explained(doing)
        self._digits = digits_up_to(kb._options.max_digits)  # noqa: SLF001  # one with base.py

    def __enter__(self) -> None:
        self._explained.__enter__()
        self._digits.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None and was_forced():
            _close(self._kb)
        self._digits.__exit__(kind, error, trace)
        self._explained.__exit__(kind, error, trace)


@contextmanager
def listing(kb: KnowledgeBase, predicate: Predicate) -> Iterator[None]:
    """Refuse to list facts that there is no room for, before anything is taken."""
    needed, doing = _taken(kb, predicate)
    if needed > MAX_UNASKED_BYTES:
        _check_room(kb, needed, doing)
    with shown_briefly(), full_memory_explained(doing):
        yield


def _taken(kb: KnowledgeBase, predicate: Predicate) -> tuple[int, str]:
    """Return the bytes that listing takes at least, and what is being done.

    One of the predicates among the triples takes a look at the numbers of all triples.
    """
    triples, name = kb._triples, kb.name_of(predicate)  # noqa: SLF001
    if triples is not None and triples.holds(predicate):
        size = kb._host.rows(TRIPLE)  # noqa: SLF001
        return size * TRIPLE.arity * BYTES_PER_ID, f"finding {name} among {plural(size, 'triple')}"
    size = kb._host.rows(predicate)  # noqa: SLF001
    needed = size * (predicate.arity or 1) * BYTES_PER_CELL
    return needed, f"listing the {plural(size, 'fact')} of {name}"


def _check_room(kb: KnowledgeBase, needed: int, doing: str) -> None:
    free, told = available_memory(), "free"
    memory = kb._options.memory  # noqa: SLF001
    if memory is not None:
        taken = kb._host.nbytes() + kb._dictionary.nbytes  # noqa: SLF001
        free, told = max(0, memory - taken), f"left of memory={memory:,}"
    if free is not None and needed > free:
        raise EngineError(
            "E101",
            f"{doing} takes about {needed >> 20:,} MiB; {free >> 20:,} MiB are {told}",
            help="ask a query for a part of them, or give it more memory",
        )


def _close(kb: KnowledgeBase) -> None:
    """Let no question reach facts that may be half changed; the store is as it was."""
    again = "open its store again" if kb.version else "materialise it again"
    kb.__dict__.update(
        _host=cast("Host", ClosedHost(TORN, again)), _triples=None, _visible=None, _names=None
    )
