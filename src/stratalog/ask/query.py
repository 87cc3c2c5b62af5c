"""Queries: a body or a rule becomes planned rules that store nothing for good."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import count

from stratalog.errors import ProgramError
from stratalog.lang.check import check
from stratalog.lang.diagnostics import mistake
from stratalog.lang.function_atoms import call_for
from stratalog.lang.parse import parse_query
from stratalog.lang.syntax import Argument, Atom, Literal, Predicate, Program, Rule, Variable
from stratalog.plan.lower import bound_variables, lower_rules, variables_of
from stratalog.plan.rules import PlannedRule
from stratalog.plan.triples import copying_rules, is_triple_shaped, reads_triples, store_as_triples

_SPARQL = re.compile(
    r"(?:\s|#[^\n]*\n|@?(?:PREFIX\s+[^\s:]*:|BASE)\s*<[^<>]*>(?:\s*\.)?)*"
    r"(SELECT|ASK|CONSTRUCT|DESCRIBE|INSERT|DELETE)\b(?!\s*[(\[:])",
    re.IGNORECASE,
)
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class Query:
    """A query ready to run: `hidden` rules in order, then `answer`, whose head is the result."""

    columns: tuple[str, ...]
    hidden: tuple[PlannedRule, ...]
    answer: PlannedRule


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What the knowledge base offers to a query."""

    predicates: Collection[Predicate]
    prefixes: Sequence[tuple[str, str]]
    stored_as_triples: bool
    has_triples: bool  # TRIPLE is already filled


def plan_query(text: str, vocabulary: Vocabulary) -> Query:
    """Return the plan of a query; errors carry the query's own line and column."""
    if not isinstance(text, str):
        raise ProgramError(
            "S119",
            f"a query is the text of a body or a rule, not {type(text).__name__}",
            help='write "path(?x, ?y), NOT node(?y)"',
        )
    if _SPARQL.match(text):
        raise ProgramError(
            "S190",
            "SPARQL is not supported yet",
            help="write a body such as  path(?x, ?y), NOT node(?y)  or  [?x, :knows, ?y], a rule,"
            " or AGGREGATE(...); PREFIX lines may stand before it",
        )
    parsed = parse_query(text, vocabulary.prefixes)
    rule = parsed if isinstance(parsed, Rule) else _as_rule(parsed, text)
    head = _single_head(rule)
    check(Program(rules=(rule,)))
    lowered = lower_rules([rule], prefix=f"$query{next(_numbers)}_")
    hidden, answer = lowered[:-1], lowered[-1]
    _refuse_unknown(lowered, text, vocabulary)
    if vocabulary.stored_as_triples:
        hidden = [store_as_triples(r) for r in hidden]
    elif reads_triples(lowered) and not vocabulary.has_triples:
        hidden = copying_rules(vocabulary.predicates, 0) + hidden
    hidden = [replace(r, index=-1) for r in hidden]
    answer = replace(_answer(answer, vocabulary), index=-1)
    return Query(_column_names(head.args), tuple(hidden), answer)


def _answer(rule: PlannedRule, vocabulary: Vocabulary) -> PlannedRule:
    """Return the rule whose head is the result: its columns are those that the user wrote."""
    stored = store_as_triples(rule)
    if vocabulary.stored_as_triples:
        return replace(stored, head=rule.head)
    return replace(rule, builtins=stored.builtins)


def _as_rule(body: tuple[Literal, ...], text: str) -> Rule:
    """Return the body as a rule whose head has the variables that it binds, in order."""
    bound = bound_variables(body)
    seen = dict.fromkeys(v for literal in body for v in variables_of(literal))
    visible = tuple(v for v in seen if v in bound)
    head = Atom(Predicate("$answer", len(visible)), visible)
    return Rule((head,), body, text=" ".join(text.split()))


def _single_head(rule: Rule) -> Atom:
    if len(rule.heads) != 1 or not isinstance(rule.heads[0], Atom):
        raise ProgramError(
            "S191", "a query has one head", help="ask one query per head", source=rule.text or None
        )
    return rule.heads[0]


def _refuse_unknown(rules: Sequence[PlannedRule], text: str, vocabulary: Vocabulary) -> None:
    for atom in (a for r in rules for a in (*r.body, *r.negated)):
        predicate = atom.predicate
        open_ended = vocabulary.stored_as_triples and is_triple_shaped(predicate)
        if predicate.name.startswith("$") or open_ended or predicate in vocabulary.predicates:
            continue
        same = sorted(p.arity for p in vocabulary.predicates if p.name == predicate.name)
        hint = f"it has arity {same[0]}, not {predicate.arity}" if same else None
        hint = hint or call_for(atom) or _known(predicate.name, vocabulary)
        shown = f"{predicate.name}({', '.join('?' for _ in range(predicate.arity))})"
        place = atom.place
        source = text if place is None else text.split("\n")[place.line - 1]
        raise mistake("S192", f"unknown predicate {shown}", place, source, hint)


def _known(name: str, vocabulary: Vocabulary) -> str:
    names = sorted({p.name for p in vocabulary.predicates if not p.name.startswith("$")})
    if not names:
        return "there are no facts and no rules"
    shown = ", ".join(names[:8]) + (" ..." if len(names) > 8 else "")  # noqa: PLR2004
    close = get_close_matches(name, names, 1)
    meant = f"did you mean {close[0]}? " if close else ""
    return f"{meant}known predicates: {shown}"


def _column_names(args: tuple[Argument, ...]) -> tuple[str, ...]:
    """Return a name per column: the variable's, c0, c1, ... for constants, all different."""
    names: list[str] = []
    for i, argument in enumerate(args):
        name = argument.name if isinstance(argument, Variable) else f"c{i}"
        names.append(name if name not in names else f"{name}_{i}")
    return tuple(names)
