"""The atoms of plain rules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from stratalog.lang.spellings import plain_rules
from stratalog.lang.syntax import Aggregate, Atom, Literal, Negation, Predicate, Program, Rule


def plain_program(program: Program) -> list[Rule]:
    """Return a program's rules without spellings, alternatives apart."""
    return [plain for rule in program.rules for plain in plain_rules(rule)]


def head_atoms(rule: Rule) -> list[Atom]:
    """Return the heads of a plain rule that are atoms."""
    return [head for head in rule.heads if isinstance(head, Atom)]


def body_atoms(body: Iterable[Literal]) -> Iterator[Atom]:
    """Yield the atoms of a plain body, those inside NOT and AGGREGATE included."""
    for literal in body:
        if isinstance(literal, Atom):
            yield literal
        elif isinstance(literal, Negation | Aggregate):
            yield from body_atoms(literal.body)


def mentioned(rules: Iterable[Rule]) -> set[Predicate]:
    """Return the predicates of all atoms of plain rules."""
    return {a.predicate for rule in rules for a in (*head_atoms(rule), *body_atoms(rule.body))}
