"""All ways to read relations with schemes, by any binding pattern and in any set of an algorithm.

Each takes a history at some moment, draws what it asks for, and compares the answer with the model.
"""

from __future__ import annotations

from collections import Counter

from hypothesis import strategies as st

from stratalog.facts.labels import A, C, D, E, I
from stratalog.facts.sets import Over, Supported
from stratalog.lang.syntax import Predicate
from stratalog.reason.update import NEW, OLD, STANDING
from tests.schemes.adapter import NR
from tests.schemes.histories import Draw, History, pairs, places
from tests.schemes.model import ALL_PAIRS, CONSTANTS, Pair

OF_REGIONS = (OLD, NEW, STANDING, D, A, I - D, I | A, D - A, A - D, (I & D) | A, (I | D) - A)
"""Sets that algorithms ask rules, selections and batches for: all facts of a region are alike."""

OF_FACTS = (*OF_REGIONS, E, I & E, I - E, E - I, NEW - E, (A & E) | D, I | E)
"""Sets that relations are read in, those included that tell explicit facts from others."""

keys = st.lists(st.sampled_from(CONSTANTS), min_size=1, max_size=3, unique=True)
sets = st.sampled_from(OF_REGIONS)


def place(history: History, draw: Draw) -> Predicate:
    return history.relation(draw(places))


def whole(history: History, draw: Draw) -> None:
    """Read a relation, count it, look facts up in it."""
    predicate, described = place(history, draw), draw(st.sampled_from(OF_FACTS))
    expected = history.model.facts(predicate, described)
    assert sorted(history.schemes.read(predicate, described)) == sorted(expected)
    assert history.schemes.size(predicate, described) == len(expected)
    found = history.schemes.contains(predicate, ALL_PAIRS, described)
    assert found == [pair in expected for pair in ALL_PAIRS]


def by_rules(history: History, draw: Draw) -> None:
    """Let rules read a relation negated, twice, with a variable that is repeated."""
    predicate, described = place(history, draw), draw(sets)
    body = draw(st.sampled_from(["not", "loops", "loop", "path", "circle"]))
    found = history.schemes.derive(predicate, body, described)
    facts = history.model.facts(predicate, described)
    assert found == Counter(pair for pair in ALL_PAIRS if holds(body, pair, facts))


def by_keys(history: History, draw: Draw) -> None:
    """Find the facts that have one of some constants in one column, or all."""
    predicate, described, wanted = place(history, draw), draw(sets), draw(keys)
    bound = draw(st.sampled_from([(), (0,), (1,)]))
    facts = history.model.facts(predicate, described)
    expected = [pair for pair in facts if all(pair[column] in wanted for column in bound)]
    assert history.schemes.expand(predicate, bound, wanted, described) == Counter(expected)
    if bound:
        counts = Counter(pair[bound[0]] for pair in expected)
        assert history.schemes.count(predicate, bound, wanted, described) == counts


def by_whole_keys(history: History, draw: Draw) -> None:
    """Find those of some facts that are in a set."""
    predicate, described = place(history, draw), draw(sets)
    wanted = draw(st.lists(pairs, unique=True))
    facts = history.model.facts(predicate, described)
    found = history.schemes.expand(predicate, (0, 1), wanted, described)
    assert found == Counter(pair for pair in wanted if pair in facts)


def parts(history: History, draw: Draw) -> None:
    """Select parts of all relations, combine them, and list them in blocks."""
    schemes, over = history.schemes, Over(frozenset(history.kind.predicates))
    left, right = draw(sets), draw(sets)
    part, other = schemes.select(over & left), schemes.select(right & over)
    both, described = draw(
        st.sampled_from(
            [
                (part, left),
                (part & other, left & right),
                (part - other, left - right),
                (part | other, left | right),
            ]
        )
    )
    part, expected = schemes.select(both), history.facts_in(described)
    assert len(part) == sum(expected.values())
    assert bool(part) == bool(expected)
    assert schemes.facts(part) == expected
    found: Counter[tuple[Predicate, Pair]] = Counter()
    most = draw(st.integers(1, 7))
    for predicate, block in schemes.blocks(part, most):
        assert 0 < len(block) <= most
        found.update((predicate, pair) for pair in block)
    assert found == expected


def of_parts(history: History, draw: Draw) -> None:
    """Keep of a part what is in a set of labels, and of one relation or of all others."""
    schemes, everywhere = history.schemes, Over(frozenset(history.kind.predicates))
    described, within = draw(sets), draw(sets)
    here = Over(frozenset({place(history, draw)}))
    part = schemes.select(everywhere & described)
    found = schemes.facts(schemes.select((part & here) & within))
    assert found == history.facts_in((described & within) & here)
    found = schemes.facts(schemes.select((part - here) - within))
    assert found == history.facts_in((described - within) - here)


def of_rows(history: History, draw: Draw) -> None:
    """Keep of rows, whatever is known of them besides, those that are explicit or supported."""
    predicate, schemes = place(history, draw), history.schemes
    rows = schemes.rows(predicate, draw(st.lists(pairs, min_size=1, unique=True)))
    known = set(schemes.facts(rows))
    for described in (E, Supported(NR)):
        facts = {(predicate, pair) for pair in history.model.facts(predicate, described)}
        assert schemes.facts(schemes.select(rows & described)) == Counter(known & facts)
        assert schemes.facts(schemes.select(rows - described)) == Counter(known - facts)


def by_changes(history: History, draw: Draw) -> None:
    """Let rules follow changes, as in Π[I, I : D∖A] and Π[new, new : A∖D]."""
    if not history.is_updating:
        return
    predicate, body = place(history, draw), draw(st.sampled_from(["path", "circle"]))
    for delta, label, within in (
        (history.changes.lost, D, OLD),
        (history.changes.gained, A, NEW),
        (history.changes.gained, A, I | A),
    ):
        found = history.schemes.derive(predicate, body, within, delta)
        facts = history.model.facts(predicate, within)
        others = facts - history.model.facts(predicate, label)
        meets = {p for p in ALL_PAIRS if instances(body, p, facts) > instances(body, p, others)}
        assert found == Counter(meets)
    found = history.schemes.derive(predicate, "not", NEW, None, history.changes.lost)
    assert found == Counter(history.model.facts(predicate, D - A))


def marked(history: History, draw: Draw) -> None:
    """Put a mark of an algorithm on a part, read by it, and take it off again."""
    schemes, model = history.schemes, history.model
    part, others = schemes.select(Over(frozenset(history.kind.predicates)) & draw(sets)), draw(sets)
    schemes.mark(part, C)
    for predicate in history.kind.predicates:
        chosen = {pair for each, pair in schemes.facts(part) if each == predicate}
        assert set(schemes.read(predicate, C)) == chosen
        assert schemes.size(predicate, C) == len(chosen)
        left = model.facts(predicate, others) - chosen
        assert schemes.expand(predicate, (), [], others - C) == Counter(left)
        assert set(schemes.read(predicate, others)) == model.facts(predicate, others)
    schemes.unmark(part, C)
    assert not any(schemes.size(predicate, C) for predicate in history.kind.predicates)


LOOKS = (
    whole,
    by_rules,
    by_keys,
    by_whole_keys,
    parts,
    of_parts,
    of_rows,
    by_changes,
    marked,
    History.read_what_was_frozen,
)


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
