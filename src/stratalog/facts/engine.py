"""The protocol every engine implements: what an algorithm of `reason/` may ask for.

`apply(rules, pos, neg, pos_delta, neg_delta)` is the papers' operator Π[Iᵖ, Iⁿ : Δᵖ, Δⁿ]. It
considers every rule instance exactly once: for the positive atom i, earlier atoms range over
Iᵖ∖Δᵖ, atom i over Δᵖ, later ones over Iᵖ; for the negative atom j, all positive atoms over Iᵖ∖Δᵖ,
earlier negative atoms outside Iⁿ∪Δⁿ, atom j in Δⁿ, later ones outside Iⁿ. Without deltas it is
Π[Iᵖ, Iⁿ]: every instance. Sets are made of labels; Iᵖ may also name predicates (`Over`).
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from typing import NamedTuple, Protocol, TypeVar

from stratalog.facts.counts import Count
from stratalog.facts.scheme_spec import ClosureSpec
from stratalog.facts.sets import Batch, FactSet, Label
from stratalog.lang.syntax import Predicate

RuleT_contra = TypeVar("RuleT_contra", contravariant=True)


class BudgetSpentError(Exception):
    """An engine has done the work that `limit_work` allowed."""


class Closed(NamedTuple):
    """All that follows from a delta, and the rounds that finding it round by round would take."""

    facts: Batch
    rounds: int


class Bodies(NamedTuple):
    """The heads that some instance derives, facts of the bodies, and heads that may have more."""

    derived: Batch
    facts: Batch
    unfinished: Batch


class Reclosed(NamedTuple):
    """The pairs that a closure has lost, and those that it has gained."""

    lost: Batch
    gained: Batch


class Regrouped(NamedTuple):
    """The facts of an aggregate that no longer hold, and those that hold instead."""

    lost: Batch
    gained: Batch


class Engine(Protocol[RuleT_contra]):
    """Where facts live. Only an engine knows how they are stored and joined."""

    def settle(self, described: FactSet) -> Batch:
        """Return the facts that `described` stands for now."""

    def mark(self, batch: Batch, label: Label) -> None:
        """Put `label` on every fact of the batch."""

    def unmark(self, batch: Batch, label: Label) -> None:
        """Take `label` off every fact of the batch."""

    def saturate(
        self,
        rules: Sequence[RuleT_contra],
        pos: FactSet,
        delta: Batch,
        *,
        count: Count | None = None,
    ) -> Closed | None:
        """Return all that follows from the delta in any number of rounds; None if unable."""

    def apply(  # the operator's own arguments
        self,
        rules: Sequence[RuleT_contra],
        pos: FactSet,
        neg: FactSet,
        pos_delta: Batch | None = None,
        neg_delta: Batch | None = None,
        *,
        count: Count | None = None,
        lower: bool = False,
    ) -> Batch:
        """Return the facts derived; each instance raises, or lowers, the named count of its head.

        With a delta, rules with an aggregate are passed over: `regroup` is for them.
        """

    def chain(self, rule: RuleT_contra, start: int, others: FactSet, delta: Batch) -> Batch:
        """Return the heads of instances whose atom `start` is in Δ, all other atoms in `others`.

        The others may be in Δ too, if they are in `others`. No count changes.
        """

    def connect(self, edges: Batch, spokes: Batch) -> Batch:
        """Return the pairs (x, y) of one component of all these pairs, but not of the spokes alone.

        Components are those of an undirected graph; a constant in the edges and not in the spokes
        has a pair with itself. All pairs are of one relation.
        """

    def keep_closure(self, predicate: Predicate, present: FactSet, *, symmetric: bool) -> bool:
        """Have the transitive closure of a relation, or the symmetric and transitive one.

        If it was not kept before, its edges are the facts in `present` with a count above zero.
        False means that the engine keeps no closures, or not one so large.
        """

    def drop_closures(self, predicates: frozenset[Predicate]) -> None:
        """Let go of the closures of relations; what was held as one becomes facts."""

    def enclose(self, edges: Batch) -> Batch | None:
        """Let closures have more edges; return the pairs that they gain, None if not kept.

        Edges are marked X, of a symmetric closure all pairs.
        """

    def disclose(self, edges: Batch) -> Batch | None:
        """Let closures have fewer edges; return the pairs that they lose, None if not kept.

        These lose the mark X, if the closure is symmetric; otherwise the edges do.
        """

    def enclosed(self, facts: Batch) -> Batch | None:
        """Return those of the facts that are in the closure of their relation, None if not kept."""

    def hold(self, closing: ClosureSpec, edges: Batch) -> bool:
        """Hold relations as one closure of these facts, whose pairs are all marked I.

        The facts themselves keep their counts, and the mark E. False means that the engine cannot,
        or not one so large: nothing has changed then.
        """

    def holds(self, closing: ClosureSpec) -> bool:
        """Return whether relations are held as a closure; an engine may make it, if it was not."""

    def reclose(
        self, closing: ClosureSpec, touched: Batch, lost: Batch, gained: Batch
    ) -> Reclosed | None:
        """Let a closure that is held follow its edges: those touched facts whose C_nr is above 0.

        If it has steps, these are without what was lost and with what was gained. Pairs that the
        closure loses are marked D, those that it gains A. None means that it would be too large:
        nothing has changed then but counts.
        """

    def predicates_of(self, batch: Batch) -> frozenset[Predicate]:
        """Return the predicates of a batch's facts."""

    def change_count(self, batch: Batch, count: Count, change: int) -> None:
        """Raise or lower the named count of each fact of the batch by `change`."""

    def clear_counts(self, batch: Batch) -> None:
        """Set both counts of each fact of the batch to zero."""

    def bodies_of(
        self,
        rules: Sequence[RuleT_contra],
        heads: Batch,
        pos: FactSet,
        neg: FactSet,
        wanted: FactSet,
        limit: int | None = None,
    ) -> Bodies:
        """Evaluate rules backwards, from all heads at once.

        The bodies are the facts, of those in `wanted`, in the positive bodies of the instances in
        Π[Iᵖ, Iⁿ] that derive a head. With a limit, an engine may give those of so many instances
        per head and rule only, the ones that promise most, and say which heads have others. Rules
        with an aggregate are passed over.
        """

    def regroup(
        self,
        rules: Sequence[RuleT_contra],
        old: FactSet,
        new: FactSet,
        lost: Batch,
        gained: Batch,
    ) -> Regrouped:
        """Recompute the groups, of rules with an aggregate, whose input changes.

        The rules' bodies are evaluated in `new`, which is `old` without `lost` and with `gained`;
        only groups that an instance with a lost or gained fact belongs to are looked at. The facts
        returned as gained are stored; counts and marks are the caller's business.
        """

    def begin(self) -> None:
        """Start to remember every change of marks and counts, for `roll_back`."""

    def savepoint(self) -> int:
        """Return a number for the present moment, to which `roll_back` can return."""

    def roll_back(self, to: int | None = None) -> None:
        """Undo all changes of marks and counts since a savepoint, or since `begin` and end it."""

    def commit(self) -> None:
        """Forget how to undo what has changed since `begin`."""

    def facts_stored(self) -> int:
        """Return how many facts are stored, those included that are in no set any more."""

    def work(self) -> int:
        """Return the work done so far: facts visited, tried and derived."""

    def work_time(self) -> float:
        """Return the CPU seconds of this process, without those that prepare work once."""

    def planning(self) -> float:
        """Return the CPU seconds spent so far on plans of long rules, which are kept."""

    def limit_work(self, more: int | None, seconds: float = inf) -> None:
        """Raise BudgetSpentError once about so much more work is done, or so much CPU time spent.

        None lifts the limit.
        """


class WithoutClosures:
    """An engine that keeps no closures: modules follow their relations fact by fact there."""

    def keep_closure(
        self,
        predicate: Predicate,  # noqa: ARG002  # the protocol's arguments
        present: FactSet,  # noqa: ARG002
        *,
        symmetric: bool,  # noqa: ARG002
    ) -> bool:
        """Return False."""
        return False

    def drop_closures(self, predicates: frozenset[Predicate]) -> None:
        """Do nothing: there is none."""

    def enclose(self, edges: Batch) -> None:
        """Return None."""

    def disclose(self, edges: Batch) -> None:
        """Return None."""

    def enclosed(self, facts: Batch) -> None:
        """Return None."""

    def hold(self, closing: ClosureSpec, edges: Batch) -> bool:  # noqa: ARG002
        """Return False."""
        return False

    def holds(self, closing: ClosureSpec) -> bool:  # noqa: ARG002
        """Return False."""
        return False

    def reclose(
        self,
        closing: ClosureSpec,
        touched: Batch,
        lost: Batch,
        gained: Batch,
    ) -> None:
        """Return None."""
