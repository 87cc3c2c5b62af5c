"""What engines ask of the description of a fact set, before they look at facts."""

from __future__ import annotations

from stratalog.facts.sets import FactSet, Label, Meet, Minus, Over, Union


def is_labels(described: FactSet) -> bool:
    """Return whether a set is told by predicates and label words alone."""
    match described:
        case Label() | Over():
            return True
        case Union(left, right) | Meet(left, right) | Minus(left, right):
            return is_labels(left) and is_labels(right)
    return False


def names_predicates(described: FactSet) -> bool:
    """Return whether a set tells facts apart by their predicates, too."""
    match described:
        case Over():
            return True
        case Union(left, right) | Minus(left, right) | Meet(left, right):
            return names_predicates(left) or names_predicates(right)
    return False
