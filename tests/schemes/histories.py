"""Random histories of relations with schemes, compared with Python sets at every moment.

An update runs through all that the algorithms of `reason/` do with a scheme: counts change, schemes
follow, changes are read in every way, taken back and tried again, given up, or kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from hypothesis import strategies as st

from stratalog.facts.engine import Reclosed
from stratalog.facts.labels import A, D, E, I, X
from stratalog.facts.scheme_spec import ClosureSpec
from stratalog.facts.sets import Batch, FactSet, Over
from stratalog.lang.syntax import Predicate
from stratalog.reason.update import NEW
from tests.schemes.adapter import Schemes, stored_facts, thaw
from tests.schemes.model import ALL_PAIRS, Facts, Kind, Model, Pair

Toggle = tuple[int, Pair, bool]
"""The place of a relation; a fact of it; whether it becomes explicit, or derived, or no longer."""

Draw = Callable[[st.SearchStrategy[Any]], Any]

places = st.integers(0, 5)
pairs = st.sampled_from(ALL_PAIRS)
toggles = st.lists(st.tuples(places, pairs, st.booleans()), max_size=7, unique=True)

IN_UPDATE = ("keep", "keep", "take_back_and_try_again", "give_up")
ENDS = ("keep", "give_up")
BETWEEN = ("update", "update", "update", "save_and_open", "refuse", "release")


class History:
    """A materialisation, its updates, and whatever is asked of it meanwhile."""

    def __init__(self, kind: Kind, facts: Sequence[tuple[int, Pair]]) -> None:
        self.kind = kind
        explicit: Facts = {predicate: set() for predicate in kind.predicates}
        for place, pair in facts:
            explicit[self.relation(place)].add(pair)
        self.schemes = Schemes.materialise(kind, explicit)
        self.model = Model.of(kind, explicit)
        self.stored = self.model.stored()
        self.is_updating = False
        self.released: ClosureSpec | None = None
        self.kept: list[tuple[object, Counter[tuple[Predicate, Pair]]]] = []
        self.check_all()

    def go_on(self, draw: Draw) -> None:
        """Do something that can be done now."""
        getattr(self, draw(st.sampled_from(self.choices())))(draw)

    def choices(self) -> Sequence[str]:
        if self.is_updating:
            return IN_UPDATE if self.released is None else ENDS
        if self.released is not None:
            return ["save_and_open"]
        return BETWEEN if self.kind.schemes else BETWEEN[:-2]

    def relation(self, place: int) -> Predicate:
        return self.kind.predicates[place % len(self.kind.predicates)]

    # -- updates

    def update(self, draw: Draw) -> None:
        self.begin()
        self.changes = self.follow(draw(toggles))
        self.check_changes()

    def take_back_and_try_again(self, draw: Draw) -> None:
        """Do what another algorithm does after one that came too far."""
        self.schemes.roll_back(self.moment)
        self.model = self.before.copy()
        self.check_all()
        self.changes = self.follow(draw(toggles))
        self.check_changes()

    def give_up(self, _: Draw) -> None:
        """End as `what_if` does, or what fails."""
        self.schemes.roll_back()
        self.model, self.is_updating, self.released = self.before, False, None
        self.check_all()

    def keep(self, _: Draw) -> None:
        for change in (self.changes.lost, self.changes.gained):
            frozen, listed = self.schemes.freeze(change), self.schemes.facts(change)
            self.kept.append((frozen, listed))
        self.clean()
        self.stored = self.schemes.changed(self.stored)
        self.schemes.settle()
        self.is_updating = False
        assert self.stored == self.model.stored()
        self.check_all()

    def refuse(self, draw: Draw) -> None:
        """Let schemes be too large for a change: then it is as if it had not been."""
        self.begin()
        with self.schemes.no_room():
            self.follow(draw(toggles), is_possible=False)
        self.give_up(draw)

    def release(self, draw: Draw) -> None:
        """Make rows of what a scheme says, as when rules are edited."""
        self.begin()
        self.released = draw(st.sampled_from(self.kind.schemes))
        self.schemes.release(self.released)
        assert not self.schemes.has(self.released)
        self.model.spell_out(self.released)
        self.changes = Reclosed(self.schemes.nothing, self.schemes.nothing)

    def begin(self) -> None:
        self.before = self.model.copy()
        self.schemes.begin()
        self.moment = self.schemes.savepoint()
        self.is_updating = True

    def follow(self, changes: Sequence[Toggle], *, is_possible: bool = True) -> Reclosed:
        """Change counts, and let relations follow, each after those that it reads."""
        touched: dict[Predicate, list[Batch]] = {p: [] for p in self.kind.predicates}
        for place, pair, is_explicit in changes:
            predicate = self.relation(place)
            change = self.model.change(predicate, pair, is_explicit=is_explicit)
            touched[predicate].append(self.schemes.support(predicate, [pair], change))
        followed = [Reclosed(self.schemes.nothing, self.schemes.nothing)]
        for predicate in self.kind.rows:
            found = self.schemes.union(touched[predicate])
            followed.append(self.schemes.follow_rows(found))
        for spec in self.kind.schemes:
            found = self.schemes.union([b for p in spec.predicates for b in touched[p]])
            done = self.schemes.follow(spec, found, *self.read_by(spec, followed))
            assert (done is not None) == is_possible
            if done is None:
                return followed[0]
            followed.append(done)
        self.model.follow()
        lost, gained = (self.schemes.union(list(parts)) for parts in zip(*followed, strict=True))
        return Reclosed(lost, gained)

    def read_by(self, spec: ClosureSpec, changes: list[Reclosed]) -> tuple[Batch, Batch]:
        """Return the changes of what a scheme reads."""
        read = Over(frozenset([spec.steps.predicate] if spec.steps else []))
        lost, gained = (self.schemes.union(list(parts)) for parts in zip(*changes, strict=True))
        return self.schemes.select(lost & read), self.schemes.select(gained & read)

    def clean(self) -> None:
        """Make marks what they are between updates, as `reason/update.py` does."""
        schemes, after = self.schemes, self.model.explicit
        for p, before in self.before.explicit.items():
            schemes.unmark(schemes.rows(p, sorted(before - after[p])), E)
            schemes.mark(schemes.rows(p, sorted(after[p] - before)), E)
        schemes.unmark(self.changes.lost, I)
        schemes.mark(self.changes.gained, I)
        for label in (D, A):
            schemes.unmark(schemes.union([*self.changes]), label)
        self.model.clean()

    def save_and_open(self, _: Draw) -> None:
        """Go on with what a store gives back: schemes, whatever was released."""
        saved = self.schemes.save()
        found = {}
        for predicate, facts in saved.items():
            found |= stored_facts(predicate, facts)
        assert found == self.stored
        self.schemes, self.released = Schemes.open(self.kind, saved), None
        self.model.unmark(X)
        self.check_all()

    def read_what_was_frozen(self, _: Draw) -> None:
        """Read changes of updates long ago."""
        for frozen, listed in self.kept:
            assert thaw(frozen) == listed
        self.kept.clear()

    def facts_in(self, described: FactSet) -> Counter[tuple[Predicate, Pair]]:
        return Counter(
            (predicate, pair)
            for predicate in self.kind.predicates
            for pair in self.model.facts(predicate, described)
        )

    # -- what is true at every moment

    def check_changes(self) -> None:
        for part, label in ((self.changes.lost, D), (self.changes.gained, A)):
            assert self.schemes.facts(part) == self.facts_in(label)
        self.check_all()

    def check_all(self) -> None:
        self.check_estimates()
        for described in (I, D, A, E, X):
            for predicate in self.kind.predicates:
                facts = self.model.facts(predicate, described)
                assert set(self.schemes.read(predicate, described)) == facts

    def check_estimates(self) -> None:
        for predicate in self.kind.predicates:
            size = self.schemes.size(predicate, NEW)
            assert self.schemes.estimate(predicate) >= size
            assert all(self.schemes.distinct(predicate, column) >= 1 for column in (0, 1))
