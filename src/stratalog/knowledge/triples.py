"""IRI-named predicates as selections from the relation of all triples."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from stratalog.facts.labels import I
from stratalog.facts.sets import FactSet
from stratalog.kernels.memory import NULL
from stratalog.knowledge.adapters import Host, Ids
from stratalog.lang.syntax import TRIPLE, Predicate
from stratalog.lang.terms import IRI_KIND, RDF_TYPE, Term
from stratalog.pipeline.dictionary import IRI_INDEX, Dictionary
from stratalog.plan.triples import is_triple_shaped


class Triples:
    """Reads `C(x)` and `P(x, y)` from TRIPLE."""

    def __init__(self, dictionary: Dictionary) -> None:
        self._dictionary = dictionary

    def holds(self, predicate: Predicate) -> bool:
        """Return whether facts of the predicate live among the triples."""
        return is_triple_shaped(predicate)

    def predicates(self, host: Host) -> set[Predicate]:
        """Return the unary and binary predicates that have facts."""
        return set(self.sizes(host, I))

    def sizes(self, host: Host, described: FactSet) -> dict[Predicate, int]:
        """Return how many facts of a set each unary and binary predicate has, if any."""
        (_, p, o), _ = host.read(TRIPLE, described)
        is_type = self._class_rows(p, o)
        return {**self._counted(o[is_type], 1), **self._counted(p[~is_type], 2)}

    def _counted(self, names: Ids, arity: int) -> dict[Predicate, int]:
        distinct, counts = np.unique(names, return_counts=True)
        terms = self._dictionary.decode(distinct)
        return {
            Predicate(f"<{term.text}>", arity): count
            for term, count in zip(terms, counts.tolist(), strict=True)
        }

    def read(self, host: Host, predicate: Predicate, described: FactSet) -> tuple[list[Ids], int]:
        """Return the columns of the predicate's facts in a set, and how many there are."""
        (s, p, o), _ = host.read(TRIPLE, described)
        name, rdf_type = self._names(predicate)
        if predicate.arity == 1:
            chosen = (p == rdf_type) & (o == name)
            return [s[chosen]], int(chosen.sum())
        chosen = (p == name) & ~self._class_rows(p, o)
        return [s[chosen], o[chosen]], int(chosen.sum())

    def contains(self, host: Host, predicate: Predicate, columns: Sequence[Ids]) -> bool:
        """Return whether one fact is in the materialisation."""
        name, rdf_type = self._names(predicate)
        values = (
            (columns[0], name, columns[-1]) if predicate.arity > 1 else (columns[0], rdf_type, name)
        )
        triple = [np.atleast_1d(value).astype(np.uint32) for value in values]
        return NULL not in (name, rdf_type) and bool(host.contains(TRIPLE, triple, 1)[0])

    def _names(self, predicate: Predicate) -> Ids:
        """Return the numbers of the predicate's IRI and of rdf:type."""
        return self._known(Term(IRI_KIND, predicate.name[1:-1]), RDF_TYPE)

    def _known(self, *terms: Term) -> Ids:
        """Return the numbers of terms, of those that are unknown one that no constant has.

        Reading adds nothing to the dictionary: another thread may be about to.
        """
        found = self._dictionary.find(terms)
        return np.where(found < 0, NULL, found).astype(np.uint32)

    def _class_rows(self, p: Ids, o: Ids) -> npt.NDArray[np.bool_]:
        """Return which triples are `x rdf:type C` with an IRI C."""
        rdf_type = self._known(RDF_TYPE)[0]
        chosen: npt.NDArray[np.bool_] = (p == rdf_type) & (
            self._dictionary.kind_ids[o] == IRI_INDEX
        )
        return chosen
