"""Every kind of scheme, through random histories, against Python sets."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.schemes.histories import History, pairs, places
from tests.schemes.kinds import KINDS
from tests.schemes.looks import LOOKS
from tests.schemes.model import Kind
from tests.thresholds import lowered

SHARE = 4  # of the usual number of examples, for each kind


@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
@given(data=st.data())
@settings(max_examples=max(1, settings().max_examples // SHARE))
def test_relations_are_what_their_scheme_says_at_every_moment_of_a_history(
    kind: Kind, data: st.DataObject
):
    facts = data.draw(st.lists(st.tuples(places, pairs), max_size=12))
    with lowered(low=data.draw(st.booleans())):
        history = History(kind, facts)
        for _ in range(data.draw(st.sampled_from(range(1, 9)))):
            history.go_on(data.draw)
            for look in data.draw(st.lists(st.sampled_from(LOOKS), max_size=5)):
                look(history, data.draw)
        history.read_what_was_frozen(data.draw)
