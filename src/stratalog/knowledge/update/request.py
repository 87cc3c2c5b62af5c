"""What an update is given: facts to insert and to delete, as numbers."""

# ruff: noqa: SLF001  # this module and base.py are one

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from stratalog.errors import StratalogError
from stratalog.knowledge.adapters import Encoded
from stratalog.knowledge.display.progress import Reporter
from stratalog.knowledge.load import arities_of, as_stored, check_spark_is_used, read_facts
from stratalog.knowledge.programs import Edit
from stratalog.knowledge.rows import distinct
from stratalog.lang.misspelt import misspelt_update
from stratalog.lang.syntax import Atom, Predicate, Program
from stratalog.pipeline.facts import RDF, EncodedFacts
from stratalog.pipeline.files import ReadReport
from stratalog.pipeline.objects import rows_failed
from stratalog.plan.program import predicates_of
from stratalog.plan.triples import is_triple_shaped
from stratalog.runtime.interrupts import delivered
from stratalog.runtime.telling import Warned

if TYPE_CHECKING:
    from stratalog.knowledge.base import KnowledgeBase

MAX_QUICK_ROWS = 10_000  # rows of a table that are read in a moment


@dataclass(frozen=True, slots=True)
class UpdateRequest:
    """What an update is asked to do."""

    insert: object = None
    delete: object = None
    add_rules: object = None
    remove_rules: object = None
    maintenance: str = "auto"

    def drawn(self, report: Reporter) -> UpdateRequest:
        """Return the same with all rows made that functions of the user make one by one."""
        if not any(_is_made(facts) for facts in (self.insert, self.delete) if facts is not None):
            return self
        report("read", "facts")
        with delivered():
            return replace(self, insert=_drawn(self.insert), delete=_drawn(self.delete))


def _is_made(facts: object) -> bool:
    if isinstance(facts, Mapping):
        return any(isinstance(rows, Iterator) for rows in facts.values())
    return isinstance(facts, list | tuple) and any(_is_made(each) for each in facts)


def _drawn(facts: object) -> object:
    if isinstance(facts, Mapping):
        return {k: _listed(r, k) if isinstance(r, Iterator) else r for k, r in facts.items()}
    return [_drawn(each) for each in facts] if isinstance(facts, list | tuple) else facts


def _listed(rows: Iterator[object], key: object) -> list[object]:
    try:
        return list(rows)
    except (StratalogError, MemoryError):
        raise
    except Exception as error:
        raise rows_failed(key, error) from error


@dataclass(slots=True)
class UpdateFacts:
    """The facts of an update; those to delete as the plan stores them, if all is known of them."""

    insert: EncodedFacts
    delete: list[Encoded] = field(default_factory=list)
    asked: int = 0  # different facts to delete, unknown constants included
    report: ReadReport = field(default_factory=ReadReport)


def read_given(
    kb: KnowledgeBase, wish: UpdateRequest, edit: Edit, report: Reporter, warned: Warned
) -> UpdateFacts:
    """Return the facts of an update; what is deleted adds nothing to the dictionary."""
    account = ReadReport()
    dictionary = kb._dictionary
    constants = dictionary.checkpoint()
    reading = _Reading(kb, report, account, warned)
    gone = reading.read(wish.delete, edit.deleted)
    stored = list(as_stored(kb._plan, gone, dictionary))
    asked = sum(distinct(columns, size) for _, columns, size in stored)
    known = stored
    if dictionary.checkpoint() != constants:
        known = [_known(each, constants) for each in stored]
        dictionary.truncate(constants)
        kb._host.drop([])  # an engine that has looked at new constants forgets them
    new = reading.read(wish.insert, edit.inserted)
    for doing, facts in (("delete", gone), ("insert", new)):
        _doubt(kb, facts, edit.program, doing, warned)
    return UpdateFacts(new, known, asked, account)


def _doubt(
    kb: KnowledgeBase, facts: EncodedFacts, program: Program, doing: str, warned: Warned
) -> None:
    """Warn about predicates that no rule and no fact mentions, with names like those of others."""
    strange = [p for p in facts.predicates() if _is_strange(kb, p, facts)]
    if strange:
        known = kb._mentioned | kb._plan.predicates | predicates_of(program)
        known |= {declaration.predicate for declaration in program.declarations}
        strange = [p for p in strange if p not in known]
        warned.tell(misspelt_update(program, strange, known, doing))


def _is_strange(kb: KnowledgeBase, predicate: Predicate, facts: EncodedFacts) -> bool:
    """Return whether a table names a predicate that is unknown, and not kept among triples."""
    if predicate in kb._mentioned or predicate in kb._plan.predicates:
        return False
    if not facts.size(predicate) or facts.origin(predicate) == RDF:
        return False
    return not (kb._plan.stored_as_triples and is_triple_shaped(predicate))


def check_spark_is_asked_for(kb: KnowledgeBase, *facts: object) -> None:
    """Refuse a master or settings of Spark if an update that is given these facts starts none."""
    options = replace(kb._options, engine=kb._host.name)
    check_spark_is_used([each for each in facts if each], options, kb._program)


class _Reading(NamedTuple):
    """What reading the facts of an update needs beside them."""

    kb: KnowledgeBase
    report: Reporter
    account: ReadReport
    warned: Warned

    def read(self, facts: object, in_text: tuple[Atom, ...]) -> EncodedFacts:
        """Return the facts, and those in the text of rules that come or go."""
        kb = self.kb
        if facts is None and not in_text:
            return EncodedFacts(self.account)
        program = Program((), in_text, kb._program.declarations, kb._program.prefixes)
        with nullcontext() if _are_few(facts) else delivered():
            return read_facts(
                program,
                facts,
                kb._options,
                kb._dictionary,
                self.report,
                self.warned,
                arities=_arities(kb),
                account=self.account,
            )


def _arities(kb: KnowledgeBase) -> Mapping[str, set[int]]:
    """Return the arities of all names; kept, because small updates need them again and again."""
    basis = kb._plan, kb._mentioned
    if kb._arities is None or kb._arities[0] is not basis[0] or kb._arities[1] is not basis[1]:
        kb._arities = *basis, arities_of(kb._mentioned | kb._plan.predicates)
    return kb._arities[2]


def _are_few(facts: object) -> bool:
    """Return whether reading the facts takes no time to speak of; of files nobody knows."""
    return isinstance(facts, Mapping) and all(
        isinstance(rows, pa.Table | list) and len(rows) <= MAX_QUICK_ROWS for rows in facts.values()
    )


def _known(facts: Encoded, constants: int) -> Encoded:
    """Return the facts whose constants are all known: others cannot be explicit."""
    predicate, columns, _ = facts
    if not columns:
        return facts
    kept = np.logical_and.reduce([column < constants for column in columns])
    return predicate, [column[kept] for column in columns], int(kept.sum())


def without(program: Program, gone: Iterable[Encoded], kb: KnowledgeBase) -> Program:
    """Return the program without facts in its text that are no longer explicit."""
    written = {fact.predicate for fact in program.facts}
    lost = {
        (predicate, args)
        for predicate, columns, size in gone
        if predicate in written
        for args in _decoded(columns, size, kb)
    }
    if not lost:
        return program
    facts = tuple(fact for fact in program.facts if (fact.predicate, fact.args) not in lost)
    return Program(program.rules, facts, program.declarations, program.prefixes, program.base)


def _decoded(columns: Iterable[object], size: int, kb: KnowledgeBase) -> list[tuple[object, ...]]:
    decoded = [kb._dictionary.decode(column) for column in columns]  # type: ignore[arg-type]
    return list(zip(*decoded, strict=True)) if decoded else [()] * min(size, 1)
