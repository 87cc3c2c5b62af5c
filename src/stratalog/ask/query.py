"""Queries: a body or a rule becomes planned rules that store nothing for good."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import count

from stratalog.errors import ProgramError
from stratalog.lang.check import check
from stratalog.lang.diagnostics import mistake
from stratalog.lang.function_atoms import call_for
from stratalog.lang.names import known_predicates
from stratalog.lang.parse import parse_query
from stratalog.lang.spellings import bound_by, plain_rules
from stratalog.lang.syntax import Argument, Atom, Literal, Predicate, Program, Rule, Variable
from stratalog.plan.lower import lower_rules, variables_of
from stratalog.plan.rules import PlannedRule
from stratalog.plan.triples import copying_rules, is_triple_shaped, reads_triples, store_as_triples
from stratalog.plan.value_keys import with_value_keys

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
    prefix = f"$query{next(_numbers)}_"
    lowered = _with_one_answer(lower_rules([rule], prefix, are_answers=True), prefix)
    lowered = with_value_keys(lowered, prefix, are_answers=True)
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


def _with_one_answer(rules: list[PlannedRule], prefix: str) -> list[PlannedRule]:
    """Return rules of which only the last derives answers; alternatives have a rule each."""
    head = rules[-1].head
    if sum(rule.head.predicate == head.predicate for rule in rules) == 1:
        return rules
    union = Predicate(f"{prefix}or", head.predicate.arity)
    hidden = [
        replace(rule, head=Atom(union, rule.head.args))
        if rule.head.predicate == head.predicate
        else rule
        for rule in rules
    ]
    columns = tuple(Variable(f"${i}") for i in range(union.arity))
    answer = PlannedRule(len(rules), Atom(head.predicate, columns), (Atom(union, columns),))
    return [*hidden, replace(answer, origin=rules[-1].origin)]


def _as_rule(body: tuple[Literal, ...], text: str) -> Rule:
    """Return the body as a rule whose head has the variables that it binds, in order."""
    text = " ".join(text.split())
    plain = plain_rules(Rule((), body, text=text))
    each = [_named(bound_by(alternative.body)) for alternative in plain]
    bound = frozenset().union(*each)
    for alternative in each:
        if alternative != bound:
            raise _unequal(bound - alternative, text)
    seen = dict.fromkeys(v for rule in plain for part in rule.body for v in variables_of(part))
    columns = tuple(v for v in seen if v in bound)
    head = Atom(Predicate("$answer", len(columns)), columns)
    return Rule((head,), body, text=text)


def _named(variables: Iterable[Variable]) -> frozenset[Variable]:
    """Return the variables that users have named."""
    return frozenset(v for v in variables if not v.name.startswith("$"))


def _unequal(missing: Collection[Variable], text: str) -> ProgramError:
    name = min(missing).name
    return ProgramError(
        "S215",
        f"?{name} is not in each alternative of the query",
        source=text,
        help=f"write _ for ?{name} if it is no column, or a rule whose head has the columns",
    )


def _single_head(rule: Rule) -> Atom:
    heads = {plain.heads for plain in plain_rules(rule)}
    head, *others = next(iter(heads))
    if others or not isinstance(head, Atom):
        raise ProgramError(
            "S191", "a query has one head", help="ask one query per head", source=rule.text or None
        )
    return head


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
    visible = (p.name for p in vocabulary.predicates if not p.name.startswith("$"))
    return known_predicates(name, visible)


def _column_names(args: tuple[Argument, ...]) -> tuple[str, ...]:
    """Return a name per column: the variable's, otherwise c0, c1, ..., all different."""
    names: list[str] = []
    for i, argument in enumerate(args):
        name = f"c{i}"
        if isinstance(argument, Variable) and not argument.name.startswith("$"):
            name = argument.name
        names.append(name if name not in names else f"{name}_{i}")
    return tuple(names)
