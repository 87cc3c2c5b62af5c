"""Relations that rules make one closure, where all their pairs are facts."""

from __future__ import annotations

from stratalog.facts.closing import Closing
from stratalog.facts.sets import Batch
from stratalog.lang.syntax import Predicate


class SpelledOut:
    """An engine that makes facts of closures at once: updates follow these as modules do."""

    def holds(self, predicates: frozenset[Predicate]) -> bool:  # noqa: ARG002  # the protocol's
        """Return False."""
        return False

    def reclose(
        self,
        closing: Closing,
        touched: Batch,
        lost: Batch,
        gained: Batch,
    ) -> None:
        """Return None: nothing is held."""
