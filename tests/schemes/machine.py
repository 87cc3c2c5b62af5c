"""Random histories of relations with schemes, compared with Python sets at every moment.

An update runs through all that the algorithms of `reason/` do with a scheme: counts change, schemes
follow, changes are read in every way, taken back and tried again, given up, or kept.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from stratalog.facts.engine import Reclosed
from stratalog.facts.labels import A, D, E, I, X
from stratalog.facts.scheme_spec import ClosureSpec
from stratalog.facts.sets import Batch, FactSet, Over, Supported
from stratalog.lang.syntax import Predicate
from stratalog.reason.update import NEW, OLD, STANDING
from tests import thresholds
from tests.schemes.adapter import NR, Schemes, stored_facts, thaw
from tests.schemes.model import ALL_PAIRS, CONSTANTS, Facts, Kind, Model, Pair

OF_REGIONS = (OLD, NEW, STANDING, D, A, I - D, I | A, D - A, A - D, (I & D) | A, (I | D) - A)
"""Sets that algorithms ask rules, selections and batches for: all facts of a region are alike."""

OF_FACTS = (*OF_REGIONS, E, I & E, I - E, E - I, NEW - E, (A & E) | D, I | E)
"""Sets that relations are read in, those included that tell explicit facts from others."""

places = st.integers(0, 5)
pairs = st.sampled_from(ALL_PAIRS)
toggles = st.lists(st.tuples(places, pairs, st.booleans()), max_size=7, unique=True)
keys = st.lists(st.sampled_from(CONSTANTS), min_size=1, max_size=3, unique=True)
Toggles = Sequence[tuple[int, Pair, bool]]


class Histories(RuleBasedStateMachine):
    """A materialisation, its updates, and whatever is asked of it meanwhile."""

    kind: Kind

    @initialize(facts=st.lists(st.tuples(places, pairs), max_size=12), low=st.booleans())
    def materialise(self, facts: list[tuple[int, Pair]], *, low: bool) -> None:
        self.patches = ExitStack()
        self.patches.enter_context(thresholds.lowered(low=low))
        explicit: Facts = {predicate: set() for predicate in self.kind.predicates}
        for place, pair in facts:
            explicit[self.relation(place)].add(pair)
        self.schemes = Schemes.materialise(self.kind, explicit)
        self.model = Model.of(self.kind, explicit)
        self.stored = self.model.stored()
        self.is_updating = False
        self.released: ClosureSpec | None = None
        self.kept: list[tuple[object, Counter[tuple[Predicate, Pair]]]] = []

    def teardown(self) -> None:
        if hasattr(self, "patches"):
            self.read_what_was_frozen()
            self.patches.close()

    def relation(self, place: int) -> Predicate:
        return self.kind.predicates[place % len(self.kind.predicates)]

    # -- updates

    @precondition(lambda self: not self.is_updating and self.released is None)
    @rule(toggles=toggles)
    def update(self, toggles: Toggles) -> None:
        self.begin()
        self.changes = self.follow(toggles)
        self.check_changes()

    @precondition(lambda self: self.is_updating and self.released is None)
    @rule(toggles=toggles)
    def take_back_and_try_again(self, toggles: Toggles) -> None:
        """Do what another algorithm does after one that came too far."""
        self.schemes.roll_back(self.moment)
        self.model = self.before.copy()
        self.check_all()
        self.changes = self.follow(toggles)
        self.check_changes()

    @precondition(lambda self: self.is_updating)
    @rule()
    def give_up(self) -> None:
        """End as `what_if` does, or what fails."""
        self.schemes.roll_back()
        self.model, self.is_updating, self.released = self.before, False, None
        self.check_all()

    @precondition(lambda self: self.is_updating)
    @rule()
    def keep(self) -> None:
        for change in (self.changes.lost, self.changes.gained):
            frozen, listed = self.schemes.freeze(change), self.schemes.facts(change)
            self.kept.append((frozen, listed))
        self.clean()
        self.stored = self.schemes.changed(self.stored)
        self.schemes.settle()
        self.is_updating = False
        assert self.stored == self.model.stored()
        self.check_all()

    @precondition(lambda self: not self.is_updating and self.released is None and self.kind.schemes)
    @rule(toggles=toggles)
    def refuse(self, toggles: Toggles) -> None:
        """Let schemes be too large for a change: then it is as if it had not been."""
        self.begin()
        with self.schemes.no_room():
            self.follow(toggles, is_possible=False)
        self.give_up()

    @precondition(lambda self: not self.is_updating and self.released is None and self.kind.schemes)
    @rule(place=places)
    def release(self, place: int) -> None:
        """Make rows of what a scheme says, as when rules are edited."""
        self.begin()
        self.released = self.kind.schemes[place % len(self.kind.schemes)]
        self.schemes.release(self.released)
        assert not self.schemes.has(self.released)
        self.model.spell_out(self.released)
        self.changes = Reclosed(self.schemes.nothing, self.schemes.nothing)

    def begin(self) -> None:
        self.before = self.model.copy()
        self.schemes.begin()
        self.moment = self.schemes.savepoint()
        self.is_updating = True

    def follow(self, toggles: Toggles, *, is_possible: bool = True) -> Reclosed:
        """Change counts, and let relations follow, each after those that it reads."""
        touched: dict[Predicate, list[Batch]] = {p: [] for p in self.kind.predicates}
        for place, pair, is_explicit in toggles:
            predicate = self.relation(place)
            change = self.model.change(predicate, pair, is_explicit=is_explicit)
            touched[predicate].append(self.schemes.support(predicate, [pair], change))
        done = self.schemes.nothing, self.schemes.nothing
        changes = [Reclosed(*done)]
        for predicate in self.kind.rows:
            found = self.schemes.union(touched[predicate])
            changes.append(self.schemes.follow_rows(found))
        for spec in self.kind.schemes:
            found = self.schemes.union([b for p in spec.predicates for b in touched[p]])
            followed = self.schemes.follow(spec, found, *self.read_by(spec, changes))
            assert (followed is not None) == is_possible
            if followed is None:
                return changes[0]
            changes.append(followed)
        self.model.follow()
        lost, gained = (self.schemes.union(list(parts)) for parts in zip(*changes, strict=True))
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

    @precondition(lambda self: not self.is_updating)
    @rule()
    def save_and_open(self) -> None:
        """Go on with what a store gives back: schemes, whatever was released."""
        saved = self.schemes.save()
        found = {}
        for predicate, facts in saved.items():
            found |= stored_facts(predicate, facts)
        assert found == self.stored
        self.schemes, self.released = Schemes.open(self.kind, saved), None
        self.model.unmark(X)
        self.check_all()

    @rule()
    def read_what_was_frozen(self) -> None:
        """Read changes of updates long ago."""
        for frozen, listed in self.kept:
            assert thaw(frozen) == listed
        self.kept.clear()

    # -- reads

    @rule(place=places, described=st.sampled_from(OF_FACTS))
    def look(self, place: int, described: FactSet) -> None:
        predicate = self.relation(place)
        expected = self.model.facts(predicate, described)
        assert sorted(self.schemes.read(predicate, described)) == sorted(expected)
        assert self.schemes.size(predicate, described) == len(expected)
        found = self.schemes.contains(predicate, ALL_PAIRS, described)
        assert found == [pair in expected for pair in ALL_PAIRS]

    @rule(
        place=places,
        described=st.sampled_from(OF_REGIONS),
        body=st.sampled_from(["not", "loops", "loop", "path", "circle"]),
        keys=keys,
    )
    def ask(self, place: int, described: FactSet, body: str, keys: list[int]) -> None:
        """Let rules read a relation whole, twice, negated."""
        predicate = self.relation(place)
        found = self.schemes.derive(predicate, body, described)
        facts = self.model.facts(predicate, described)
        assert found == Counter(pair for pair in ALL_PAIRS if holds(body, pair, facts))

    @rule(
        place=places,
        described=st.sampled_from(OF_REGIONS),
        bound=st.sampled_from([(), (0,), (1,)]),
        keys=keys,
    )
    def expand(
        self, place: int, described: FactSet, bound: tuple[int, ...], keys: list[int]
    ) -> None:
        predicate = self.relation(place)
        facts = self.model.facts(predicate, described)
        expected = [p for p in facts if all(p[column] in keys for column in bound)]
        assert self.schemes.expand(predicate, bound, keys, described) == Counter(expected)
        if bound:
            counts = Counter(pair[bound[0]] for pair in expected)
            assert self.schemes.count(predicate, bound, keys, described) == counts

    @rule(place=places, described=st.sampled_from(OF_REGIONS), keys=st.lists(pairs, unique=True))
    def look_up(self, place: int, described: FactSet, keys: list[Pair]) -> None:
        predicate = self.relation(place)
        facts = self.model.facts(predicate, described)
        found = self.schemes.expand(predicate, (0, 1), keys, described)
        assert found == Counter(pair for pair in keys if pair in facts)

    @rule(
        left=st.sampled_from(OF_REGIONS),
        right=st.sampled_from([None, *OF_REGIONS]),
        how=st.sampled_from(["&", "-", "|"]),
        most=st.integers(1, 7),
    )
    def select(self, left: FactSet, right: FactSet | None, how: str, most: int) -> None:
        """Select parts of all relations, combine them, and list them in blocks."""
        over = Over(frozenset(self.kind.predicates))
        part, described = self.schemes.select(over & left), left
        if right is not None:
            other = self.schemes.select(right & over)
            both = {"&": part & other, "-": part - other, "|": part | other}
            part = self.schemes.select(both[how])
            described = {"&": left & right, "-": left - right, "|": left | right}[how]
        expected = self.facts_in(described)
        assert len(part) == sum(expected.values())
        assert bool(part) == bool(expected)
        assert self.schemes.facts(part) == expected
        found: Counter[tuple[Predicate, Pair]] = Counter()
        for predicate, block in self.schemes.blocks(part, most):
            assert 0 < len(block) <= most
            found.update((predicate, pair) for pair in block)
        assert found == expected

    @rule(described=st.sampled_from(OF_REGIONS), within=st.sampled_from(OF_REGIONS))
    def filter(self, described: FactSet, within: FactSet) -> None:
        """Keep of a part what is in a set of labels, and of some relations."""
        everywhere = Over(frozenset(self.kind.predicates))
        for predicate in self.kind.predicates:
            here = Over(frozenset({predicate}))
            part = self.schemes.select(everywhere & described)
            found = self.schemes.select((part & here) & within)
            assert self.schemes.facts(found) == self.facts_in((described & within) & here)
            found = self.schemes.select((part - here) - within)
            assert self.schemes.facts(found) == self.facts_in((described - within) - here)

    @rule(place=places, keys=st.lists(pairs, min_size=1, unique=True))
    def filter_rows(self, place: int, keys: list[Pair]) -> None:
        """Keep of rows, whatever is known of them besides, those that are explicit or supported."""
        predicate = self.relation(place)
        rows = self.schemes.rows(predicate, keys)
        known = [pair for _, pair in self.schemes.facts(rows)]
        for described in (E, Supported(NR)):
            facts = self.model.facts(predicate, described)
            kept = [(predicate, pair) for pair in known if pair in facts]
            assert self.schemes.facts(self.schemes.select(rows & described)) == Counter(kept)
            left = [(predicate, pair) for pair in known if pair not in facts]
            assert self.schemes.facts(self.schemes.select(rows - described)) == Counter(left)

    @precondition(lambda self: self.is_updating and self.released is None)
    @rule(place=places, body=st.sampled_from(["path", "circle"]))
    def follow_by_rules(self, place: int, body: str) -> None:
        """Let rules follow changes, as in Π[I, I : D∖A] and Π[new, new : A∖D]."""
        predicate = self.relation(place)
        for delta, label, within in (
            (self.changes.lost, D, OLD),
            (self.changes.gained, A, NEW),
            (self.changes.gained, A, I | A),
        ):
            found = self.schemes.derive(predicate, body, within, delta)
            facts = self.model.facts(predicate, within)
            others = facts - self.model.facts(predicate, label)
            meets = {p for p in ALL_PAIRS if instances(body, p, facts) > instances(body, p, others)}
            assert found == Counter(meets)

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
        for described in (I, D, A, E, X):
            for predicate in self.kind.predicates:
                facts = self.model.facts(predicate, described)
                assert set(self.schemes.read(predicate, described)) == facts

    @invariant()
    def estimates_are_no_nonsense(self) -> None:
        for predicate in self.kind.predicates if hasattr(self, "schemes") else ():
            size = self.schemes.size(predicate, NEW)
            assert self.schemes.estimate(predicate) >= size
            assert all(self.schemes.distinct(predicate, column) >= 1 for column in (0, 1))


def instances(body: str, pair: Pair, facts: set[Pair]) -> int:
    """Return how many instances of a reader derive a pair."""
    x, y = pair
    if body == "path":
        return sum((x, z) in facts and (z, y) in facts for z in CONSTANTS)
    return (x, y) in facts and (y, x) in facts


def holds(body: str, pair: Pair, facts: set[Pair]) -> bool:
    """Return whether a reader derives a pair; see `READERS`."""
    x, y = pair
    match body:
        case "not":
            return pair not in facts
        case "loops":
            return (x, x) in facts and pair in facts
        case "loop":
            return (x, x) in facts and (y, x) in facts
    return instances(body, pair, facts) > 0
