"""Answers to a query, evaluated beside the facts of a knowledge base and forgotten at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from stratalog.ask.query import Vocabulary, plan_query
from stratalog.facts.labels import I
from stratalog.knowledge.statistics import start_limits
from stratalog.knowledge.unknown_constants import unknown_constants
from stratalog.lang.syntax import TRIPLE
from stratalog.pipeline.decode import decode_table
from stratalog.runtime.interrupts import delivered
from stratalog.runtime.telling import Warned

if TYPE_CHECKING:
    import pyarrow as pa

    from stratalog.knowledge.base import KnowledgeBase


def answers(kb: KnowledgeBase, text: str) -> pa.Table:
    """Return the answers to a body or a rule; the knowledge base is as before."""
    host, dictionary = kb._host, kb._dictionary  # noqa: SLF001  # this module and base.py are one
    before = set(host.predicates())
    plan = plan_query(text, _vocabulary(kb, has_triples=TRIPLE in kb._plan.predicates))  # noqa: SLF001
    known = dictionary.checkpoint()
    start_limits(kb, counts_present=True)
    marked = []
    try:
        for rule in plan.hidden:
            marked.append(host.engine.apply([rule], I, I))
            host.engine.mark(marked[-1], I)
        columns, size = host.answers(plan.answer)
        with delivered():  # answers may be many
            table = decode_table(columns, size, dictionary)
    finally:
        for batch in marked:
            host.engine.unmark(batch, I)  # the relation may be one that stays
        dictionary.truncate(known)  # a question adds nothing, not even constants
        host.drop([p for p in host.predicates() if p not in before])
    if not table.num_rows:
        rules = (*plan.hidden, plan.answer)
        Warned().tell(unknown_constants(rules, dictionary, kb._program.prefixes))  # noqa: SLF001
    return table.rename_columns(list(plan.columns)) if plan.columns else table


def _vocabulary(kb: KnowledgeBase, *, has_triples: bool) -> Vocabulary:
    return Vocabulary(
        kb.visible(),
        kb.prefixes(),
        kb._plan.stored_as_triples,  # noqa: SLF001
        has_triples=has_triples,
    )
