"""Facts for predicates that are most likely misspelt: nothing mentions them, but a similar name.

Data may well hold more than rules read. So facts are doubted only if a name that rules read, or
that is declared, differs by a slip, and has no facts itself; in an update, if the knowledge base
has never heard of their predicate, and knows one that differs by a slip.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from typing import NamedTuple

from stratalog.errors import StratalogWarning
from stratalog.lang.atoms import body_atoms, mentioned, plain_program
from stratalog.lang.check import _spot
from stratalog.lang.diagnostics import caution
from stratalog.lang.names import show_name
from stratalog.lang.similar import slip_of
from stratalog.lang.syntax import Atom, Place, Predicate, Program, Rule

CODE = "W304"
MOST = 3  # warnings of one call


class Uses(NamedTuple):
    """What rules do with predicates: where each is read first, and all that they mention."""

    read: dict[Predicate, tuple[Rule, Atom]]
    mentioned: set[Predicate]


def misspelt_facts(
    program: Program, given: Iterable[Predicate], with_facts: Collection[Predicate]
) -> dict[Predicate, StratalogWarning]:
    """Return warnings by the predicate that facts seem to be meant for.

    `given` are the predicates that tables name; RDF names nothing for the sake of these rules.
    """
    uses = _uses(program)
    declared = {declaration.predicate for declaration in program.declarations}
    strange = [p for p in given if p not in uses.mentioned and p not in declared]
    if not strange:
        return {}
    wanted = (uses.read.keys() | declared) - set(with_facts)
    found = {}
    for given_name, meant in _slips(strange, wanted, program):
        name = show_name(meant.name, program.prefixes)
        told = f"there are facts for {given_name}, which no rule mentions, and none for {name}"
        advice = f"did you mean {name}? Give the facts under that name, or correct the rules"
        found[meant] = caution(CODE, told, *_spot_of(uses.read.get(meant), name), advice)
    return found


def misspelt_update(
    program: Program, strange: Collection[Predicate], known: Iterable[Predicate], doing: str
) -> list[StratalogWarning]:
    """Return warnings about predicates that are unknown so far; `doing` is insert or delete."""
    found = []
    for given_name, meant in _slips(strange, set(known), program):
        name = show_name(meant.name, program.prefixes)
        told = f"there are facts to {doing} for {given_name}, which no rule and no fact mentions"
        found.append(caution(CODE, told, None, None, f"did you mean {name}?"))
    return found


def _slips(
    strange: Iterable[Predicate], wanted: Collection[Predicate], program: Program
) -> Iterator[tuple[str, Predicate]]:
    """Yield the names of strange predicates, each with one that is likely to be meant."""
    left: defaultdict[int, dict[str, Predicate]] = defaultdict(dict)  # by arity and name
    for each in wanted:
        left[each.arity][show_name(each.name, program.prefixes)] = each
    count = 0
    for each in strange:
        name = show_name(each.name, program.prefixes)
        meant = slip_of(name, left[each.arity])
        if meant is not None:
            yield name, left[each.arity].pop(meant)
            count += 1
        if count == MOST:
            return


def _uses(program: Program) -> Uses:
    read: dict[Predicate, tuple[Rule, Atom]] = {}
    rules = plain_program(program)
    for rule in rules:
        for atom in body_atoms(rule.body):
            read.setdefault(atom.predicate, (rule, atom))
    return Uses(read, mentioned(rules))


def _spot_of(use: tuple[Rule, Atom] | None, name: str) -> tuple[Place | None, str | None]:
    """Return where an atom stands that reads a predicate, and the text of its rule."""
    if use is None:
        return None, None
    rule, atom = use
    return _spot(rule, atom.place, name)
