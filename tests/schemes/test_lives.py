"""Knowledge bases whose relations have schemes, through random lives, against Python sets."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.schemes.bases import EVENTS, LOOKS, Life
from tests.schemes.histories import pairs, places
from tests.schemes.kinds import KINDS

SHARE = 2  # of the usual number of examples

kinds = st.sampled_from([kind for kind in KINDS if kind.schemes])
given_facts = st.lists(st.tuples(places, pairs, st.booleans()), max_size=12, unique=True)


@pytest.mark.filterwarnings("ignore::stratalog.StratalogWarning")  # relations without facts
@given(kind=kinds, facts=given_facts, data=st.data())
@settings(max_examples=max(1, settings().max_examples // SHARE))
def test_what_users_read_is_what_schemes_say_at_every_moment_of_a_life(kind, facts, data):
    with tempfile.TemporaryDirectory() as folder:
        life = Life(kind, facts, Path(folder))
        for _ in range(data.draw(st.sampled_from(range(1, 7)))):
            data.draw(st.sampled_from(EVENTS))(life, data.draw)
            for look in data.draw(st.lists(st.sampled_from(LOOKS), max_size=4)):
                look(life, data.draw)
        life.read_on(data.draw)
        life.read_changes(data.draw)
