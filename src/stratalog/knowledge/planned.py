"""Calls that are part of the contract and do not exist yet: they say what exists."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

from stratalog.errors import EngineError

if TYPE_CHECKING:
    from stratalog.knowledge.base import KnowledgeBase


def explain(self: KnowledgeBase, fact: object = None, **options: object) -> NoReturn:  # noqa: ARG001
    """Refuse to give a proof, which is not supported yet."""
    raise EngineError(
        "E140",
        "kb.explain is not supported yet",
        help="kb.query with the body of a rule shows what it matches, kb.profile() how often each"
        " rule has derived something",
    )


def classes(self: KnowledgeBase, *args: object, **options: object) -> NoReturn:  # noqa: ARG001
    """Refuse to list names of one thing: equality by rewriting is not supported yet."""
    raise EngineError(
        "E140",
        "kb.classes is not supported yet",
        help="owl:sameAs is an ordinary predicate: kb.query('owl:sameAs(?x, ?y)') lists its facts",
    )
