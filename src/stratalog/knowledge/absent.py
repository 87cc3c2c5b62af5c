"""What a knowledge base has instead of an engine where there is none to ask."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn, cast

from stratalog.errors import EngineError
from stratalog.knowledge.adapters import Host
from stratalog.knowledge.turns import within

if TYPE_CHECKING:
    from stratalog.knowledge.base import KnowledgeBase


class ClosedHost:
    """Of a closed knowledge base: whatever is asked is an error."""

    told = "closed"

    def __init__(
        self,
        why: str = "the knowledge base is closed",
        advice: str = "ask inside the with block, or materialise or open it again",
    ) -> None:
        self._why = why
        self._advice = advice

    def __getattr__(self, name: str) -> NoReturn:
        raise EngineError("E107", self._why, help=self._advice)


class BusyHost:
    """Of one whose facts are being changed, for the functions that are told of the progress."""

    told = "being updated"

    def __getattr__(self, name: str) -> NoReturn:
        raise within("a question")


@contextmanager
def without_host(kb: KnowledgeBase) -> Iterator[None]:
    """Refuse questions while facts are neither those before nor those after an update."""
    host = kb._host  # noqa: SLF001  # this module and base.py are one
    kb._host = cast("Host", BusyHost())  # noqa: SLF001
    try:
        yield
    finally:
        kb._host = host  # noqa: SLF001
