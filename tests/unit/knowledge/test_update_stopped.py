"""What stops an update in its middle leaves the knowledge base of before: Ctrl-C, memory, time."""

import random
import signal
import time
from contextlib import suppress

import pytest

import stratalog as sl
from stratalog.runtime import interrupts
from stratalog.runtime.limits import Limits

PROGRAM = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
degree(?x, ?n) :- AGGREGATE(edge(?x, ?y) ON ?x BIND COUNT(?y) AS ?n) .
last(?y) :- edge(?x, ?y), NOT edge(?y, ?z) .
"""
EDGES = [(i, i + 1) for i in range(20)] + [(i, i + 3) for i in range(0, 20, 3)]
NEW, OLD = [(7, 16), (100, 3), (5, "new")], [(10, 11), (15, 18)]
FORTH = {"insert": {"edge": NEW}, "delete": {"edge": OLD}}
BACK = {"insert": {"edge": OLD}, "delete": {"edge": NEW}}


class Swinging:
    """A knowledge base that is in one of two states, before and after an update."""

    def __init__(self, **options):
        self.kb = sl.materialise(PROGRAM, {"edge": EDGES}, **options)
        self.states = [self.kb.counts()]
        self.kb.update(**FORTH)
        self.states.append(self.kb.counts())
        self.kb.update(**BACK)
        assert self.state() == 0

    def state(self):
        """Which of the two it is in; an error if in neither."""
        found = self.states.index(self.kb.counts())
        shown = sum(not predicate.name.startswith("$") for predicate, _ in self.states[found])
        assert self.kb.stats["facts"] == shown
        return found

    def swing(self):
        self.kb.update(**(BACK if self.state() else FORTH))


ALGORITHMS = ["auto", "dred", "dred-c", "bf", "bf-c", "rematerialise"]


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_limit_that_is_reached_at_any_look_leaves_nothing_behind(algorithm, monkeypatch):
    swinging = Swinging(maintenance=algorithm)
    looks, is_reached = 0, True
    while is_reached:
        looks += 1
        is_reached, made = False, 0

        def look(*_, chosen=looks):
            nonlocal made, is_reached
            made += 1
            if made == chosen:
                is_reached = True
                raise sl.EngineError("E102", "time is up")

        with monkeypatch.context() as patch:
            patch.setattr(Limits, "check_time", look)
            with suppress(sl.EngineError):
                swinging.swing()
        assert swinging.state() == (0 if is_reached else 1), looks
        if is_reached:
            swinging.swing()
            assert swinging.state() == 1, looks
        swinging.swing()
        assert swinging.state() == 0, looks
    assert looks > 4


@pytest.fixture
def timer():
    """Presses Ctrl-C after some seconds."""

    def press_after(seconds):
        signal.setitimer(signal.ITIMER_REAL, seconds)

    before = signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(signal.SIGINT))
    yield press_after
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def _seconds(action):
    begun = time.monotonic()
    action()
    return time.monotonic() - begun


@pytest.mark.parametrize("algorithm", ["auto", "bf-c"])
def test_ctrl_c_at_any_moment_gives_the_base_before_or_after(algorithm, timer):
    swinging = Swinging(maintenance=algorithm)
    moments, tried, stopped = random.Random(6), 0, 0
    usual = min(_seconds(swinging.swing) for _ in range(4))  # without whatever else goes on
    while tried < 60 or stopped <= 10:  # on a busy machine the timer may come late
        tried += 1
        assert tried < 5_000, stopped
        try:
            timer(moments.uniform(1e-5, usual))
            swinging.kb.update(**(BACK if moments.random() < 0.5 else FORTH))
            timer(0)
        except KeyboardInterrupt:
            stopped += 1
        timer(0)
        swinging.state()


def test_ctrl_c_at_any_moment_of_a_query_leaves_the_base_as_it_was(timer):
    swinging = Swinging()
    text = "far(?x, ?y) :- path(?x, ?z), path(?z, ?y), NOT edge(?x, ?y), ?x != 77 ."
    answers = swinging.kb.query(text).num_rows
    begun = time.monotonic()
    assert swinging.kb.query(text).num_rows == answers
    usual = time.monotonic() - begun
    moments = random.Random(7)
    for _ in range(40):
        try:
            timer(moments.uniform(1e-5, usual))
            swinging.kb.query(text)
            timer(0)
        except KeyboardInterrupt:
            pass
        timer(0)
        assert swinging.state() == 0
    assert swinging.kb.query(text).num_rows == answers


def press_ctrl_c():
    """Send the signal, and let Python look for it: it can miss it while threads take turns."""
    signal.raise_signal(signal.SIGINT)
    signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_ctrl_c_is_held_back_until_it_is_asked_for():
    handler = signal.getsignal(signal.SIGINT)  # Python's own, or that of a Spark in this process
    steps = []

    def hold(*calls):
        with interrupts.held(), interrupts.held():
            press_ctrl_c()
            steps.append("held")
            for call in calls:
                call()
            steps.append("to the end")

    with pytest.raises(KeyboardInterrupt):
        hold(interrupts.check)
    assert steps == ["held"]
    with pytest.raises(KeyboardInterrupt):
        hold()
    assert steps == ["held", "held", "to the end"]
    assert signal.getsignal(signal.SIGINT) is handler


def test_ctrl_c_is_let_through_where_a_part_says_so():
    with interrupts.held():
        with pytest.raises(KeyboardInterrupt), interrupts.delivered():
            press_ctrl_c()
        press_ctrl_c()
        with pytest.raises(KeyboardInterrupt), interrupts.delivered():
            pytest.fail("the interrupt from before comes first")
    interrupts.check()


def test_a_part_that_ctrl_c_kept_from_beginning_holds_nothing_back_later():
    handler = signal.getsignal(signal.SIGINT)
    with interrupts.held():
        part = interrupts.delivered()
        part.__enter__()  # and the interrupt comes before the block is entered: it is never left
    del part
    assert signal.getsignal(signal.SIGINT) is handler
    with pytest.raises(KeyboardInterrupt), interrupts.held():
        press_ctrl_c()


def test_a_handler_of_the_users_own_is_called_and_comes_back():
    calls = []

    def own(*_):
        calls.append("own")

    before = signal.signal(signal.SIGINT, own)
    try:
        with interrupts.held():
            press_ctrl_c()
            assert not calls
        assert calls == ["own"]
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)


# -- memory

STRATA = """
copy(?x, ?y) :- edge(?x, ?y) .
far(?x, ?z) :- copy(?x, ?y), copy(?y, ?z) .
pair(?x, ?y) :- copy(?x, ?z), copy(?y, ?z), NOT far(?x, ?y) .
many(?n) :- AGGREGATE(pair(?x, ?y) BIND COUNT(?x) AS ?n) .
"""
FAN = [(i, -1) for i in range(1, 2_500)]  # two thousand five hundred squared


@pytest.mark.parametrize("algorithm", ["auto", "counting", "dred-c", "rematerialise"])
def test_an_update_larger_than_memory_is_refused_after_some_strata(algorithm, tmp_path):
    options = {"memory": 20 << 20, "maintenance": algorithm}
    kb = sl.materialise(STRATA, {"edge": EDGES}, store=tmp_path / "kb", **options)
    before = kb.counts()
    with pytest.raises(sl.EngineError, match="E101") as caught:
        kb.update(insert={"edge": FAN}, delete={"edge": OLD})
    assert "memory limit of 20 MiB reached" in str(caught.value)
    assert "pair(?x, ?y)" in str(caught.value)  # the strata before it were done
    assert "memory=" in caught.value.help
    assert kb.counts() == before
    assert kb.version == 1
    kb = sl.open(tmp_path / "kb")
    assert kb.counts() == before
    kb.update(insert={"edge": FAN[:20]}, delete={"edge": OLD})
    fresh = sl.materialise(STRATA, {"edge": sorted({*EDGES, *FAN[:20]} - set(OLD))})
    assert kb.counts() == fresh.counts() == sl.open(tmp_path / "kb").counts()
