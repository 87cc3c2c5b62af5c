"""A few turns of the soak, so that it works when it is needed; and that it sees what it is for."""

from pathlib import Path

import pytest

from tests.soak import world
from tests.soak.gauge import Gauge, leaks
from tests.soak.running import Run
from tests.soak.soak import Soak


def test_some_turns_of_everything_find_nothing_torn(tmp_path: Path):
    run = Run(turns=5)
    Soak(tmp_path, run, processes=1).work()
    assert run.problems == []
    assert {run.done[what] for what in ("updates", "publications", "saves", "drops")} == {5}
    assert run.done["openings in processes"] == 5


def facts_at(*steps: int) -> dict[str, world.Rows]:
    parts = [world.derived(writer, step) for writer, step in enumerate(steps)]
    found = {name: set().union(*(part[name] for part in parts)) for name in parts[0]}
    return {**found, "n": {(len(steps) * world.WINDOW,)}}


def test_facts_of_one_version_arederived():
    for steps in ([3, 5], [world.AROUND - 7, 0], [world.STEPS - 1, 1]):
        found = facts_at(*steps)
        assert world.steps_of(found, 2) == steps
        assert world.steps_of(found, 2, version=1 + sum(steps)) == steps
        for name in ("a", "b", "c", "d", "edge", "path"):
            world.check_alone(name, found[name], 2)


@pytest.mark.parametrize("name", ["a", "b", "c", "d", "n", "path", "edge"])
def test_facts_of_two_versions_are_torn(name: str):
    mixed = {**facts_at(3, 5), name: facts_at(3, 6)[name] | ({(0,)} if name == "n" else set())}
    with pytest.raises(world.TornError, match=f"^{name} at steps"):
        world.steps_of(mixed, 2)


def test_a_relation_between_two_steps_is_torn():
    for name in ("a", "c", "d", "edge", "path"):
        rows = facts_at(3)[name]
        with pytest.raises(world.TornError, match="no step"):
            world.check_alone(name, rows - {sorted(rows)[1]}, 1)


def test_another_version_than_was_asked_for_is_torn():
    with pytest.raises(world.TornError, match="version 8 has steps"):
        world.steps_of(facts_at(3, 5), 2, version=8)


def test_an_update_takes_one_step():
    inserted, deleted = world.change(0, 3)
    after = {
        name: rows - deleted[name] | inserted[name] for name, rows in world.explicit(0, 3).items()
    }
    assert after == world.explicit(0, 4)
    assert {name: len(rows) for name, rows in inserted.items()} == dict.fromkeys(inserted, 1)


def test_what_grows_beyond_its_bounds_is_a_leak():
    mib = 1 << 20
    flat = [(100 * mib, 9)] * 40
    assert leaks(Gauge(flat + [(140 * mib, 17)] * 16).growth()) == []
    assert leaks(Gauge(flat + [(150 * mib, 9)] * 16).growth()) == [
        f"memory grew from {100 * mib:,} to {150 * mib:,}"
    ]
    assert leaks(Gauge(flat + [(100 * mib, 18)] * 16).growth()) == ["open files grew from 9 to 18"]
    assert Gauge([(100 * mib, 9), (200 * mib, 99)] * 20).growth() == {}
    gauge = Gauge()
    gauge.look()
    assert gauge.samples[0][1] > 2
