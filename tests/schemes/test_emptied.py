"""A relation whose scheme has lost all its facts in an update that goes on."""

from __future__ import annotations

from collections import Counter

import pytest

from stratalog.facts.labels import I
from tests.schemes.histories import History
from tests.schemes.kinds import KINDS

EDGE = [(1, (0, 0), True)]


@pytest.mark.parametrize("body", ["loop", "loops", "path", "circle"])
def test_rules_read_what_held_before(body):
    kind = next(kind for kind in KINDS if kind.name == "several_symmetric")
    history = History(kind, [])
    history.begin()
    history.changes = history.follow(EDGE)
    history.keep(None)
    history.begin()
    history.changes = history.follow([(1, (0, 0), False)])
    relation = history.relation(0)
    assert set(history.schemes.read(relation, I)) == {(0, 0)}
    assert history.schemes.derive(relation, body, I) == Counter({(0, 0): 1})
