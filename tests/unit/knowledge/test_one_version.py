"""What is read is of one version; calls within calls; who waits can be stopped."""

import os
import random
import signal
import sys
import threading
import time
from collections import Counter

import pyarrow as pa
import pytest

import stratalog as sl
from stratalog.knowledge import guard
from stratalog.knowledge.options import Options
from tests.schedules import LONG, Schedule, watch

RULES = """
    c(?x) :- a(?x), b(?x) .
    n(?k) :- AGGREGATE(a(?x) BIND COUNT(?x) AS ?k) .
    path(?x, ?z) :- path(?x, ?y), path(?y, ?z) . path(?x, ?y) :- a(?x), BIND(?x + 1 AS ?y) .
"""


def facts(numbers):
    return {"a": [(x,) for x in numbers], "b": [(x,) for x in numbers]}


@pytest.fixture
def kb():
    return sl.materialise(RULES, facts(range(3)), progress=False)


@pytest.fixture
def stored(tmp_path):
    sl.materialise(RULES, facts(range(3)), store=tmp_path / "kb", progress=False).close()
    return tmp_path / "kb"


def in_thread(call):
    """Start a call in another thread; return what waits for its result."""
    results = []
    thread = threading.Thread(target=lambda: results.append(call()), daemon=True)
    thread.start()

    def result():
        thread.join(LONG)
        return results[0]

    return result


# --- what was read stays


def sizes(tables):
    return {name: table.num_rows for name, table in tables}


def test_tables_are_of_the_version_in_which_they_were_asked_for(kb):
    before = sizes(kb.tables())
    tables = kb.tables()
    first = next(tables)
    kb.update(insert=facts(range(10)), add_rules="d(?x) :- c(?x) .")
    assert sizes([first, *tables]) == before == {"a": 3, "b": 3, "c": 3, "n": 1, "path": 6}


def test_tables_stay_as_they_were_beside_a_refresh_and_end_with_a_close(stored):
    kb = sl.open(stored, progress=False)
    tables, closed = kb.tables(), kb.tables()
    first = next(tables)
    with sl.open(stored, progress=False) as other:
        other.update(insert=facts(range(10)))
    kb.refresh()
    assert sizes([first, *tables])["path"] == 6
    kb.update(insert=facts(range(11)))
    kb.close()
    assert sizes(closed)["path"] == 6  # copied when the facts were about to change
    with pytest.raises(sl.EngineError, match="E107"):
        kb.tables()


def test_tables_that_were_not_read_before_a_close_are_an_error(kb):
    tables = kb.tables()
    assert next(tables)[0] == "a"
    kb.close()
    with pytest.raises(sl.EngineError, match="E107"):
        next(tables)


def test_an_update_that_is_refused_leaves_tables_that_are_being_read_as_they_were(kb):
    tables = kb.tables()
    with pytest.raises(sl.DataError):
        kb.update(insert={"a": [(1, 2)]})
    kb.what_if(delete=facts(range(3)))
    assert sizes(tables)["path"] == 6


def test_an_update_is_made_also_where_there_is_no_room_to_copy_what_is_being_read(kb, monkeypatch):
    tables = kb.tables()
    next(tables)
    monkeypatch.setattr(guard, "MAX_UNASKED_BYTES", 0)
    object.__setattr__(kb._options, "memory", 1)
    assert kb.update(insert=facts(range(10))).added.sizes["c"] == 7
    with pytest.raises(sl.EngineError, match="E101"):
        next(tables)


def test_rows_are_of_the_version_in_which_they_were_asked_for(kb):
    rows = {name: iter(kb[name]) for name in kb}
    kb.update(delete=facts([0]), insert=facts(range(5, 900)))
    assert {name: len(list(each)) for name, each in rows.items()} == {
        "a": 3, "b": 3, "c": 3, "n": 1, "path": 6
    }  # fmt: skip


def test_changes_that_are_listed_later_are_those_of_their_update(kb):
    changes = [kb.update(insert={"a": [(n,)]}) for n in range(3, 40)]
    kb.update(delete={"a": [(n,) for n in range(40)]})
    for n, each in enumerate(changes, 3):
        added = {(x, y) for x, y in zip(*each.added["path"].to_pydict().values(), strict=True)}
        assert added == {(x, n + 1) for x in range(n + 1)}


def test_changes_may_be_listed_by_two_threads(kb):
    for n in range(3, 30):
        pairs = kb.update(insert={"a": [(n,)]}).added.facts["path"].columns
        other = in_thread(lambda pairs=pairs: [column.tolist() for column in pairs])
        assert [column.tolist() for column in pairs] == other()
        assert sorted(pairs[0].tolist()) == sorted(set(pairs[0].tolist()))


# --- a call within a call


def test_rows_given_to_an_update_may_be_made_of_what_it_changes(kb):
    kb.update(insert={name: ((x + len(kb["a"]),) for (x,) in kb["b"]) for name in ("a", "b")})
    assert len(kb["c"]) == 6


@pytest.mark.parametrize("call", ["update", "what_if", "save", "publish", "close", "refresh"])
def test_a_call_that_writes_is_refused_in_an_iterator_of_facts(kb, tmp_path, call):
    given = {"save": [tmp_path / "s"], "publish": [tmp_path / "p"]}.get(call, [])

    def rows():
        yield (7,)
        getattr(kb, call)(*given)

    with pytest.raises(sl.EngineError, match=f"E109: {call} was called by a function"):
        kb.update(insert={"a": rows()})
    assert len(kb["a"]) == 3


def test_the_function_of_progress_may_ask_only_while_facts_are_read(tmp_path):
    seen = Counter()

    def progress(stage, _detail):
        for name, ask in asks.items():
            try:
                ask()
            except sl.EngineError as error:
                seen[stage, name, error.code] += 1
            else:
                seen[stage, name, "well"] += 1
        assert "KnowledgeBase" in repr(kb)

    kb = sl.materialise(RULES, facts(range(3)), progress=False)
    asks = {
        "query": lambda: kb.query("path(?x, ?y), NOT c(?x)"),
        "len": lambda: len(kb["path"]),
        "update": lambda: kb.update(insert={"a": [(9,)]}),
    }
    object.__setattr__(kb._options, "progress", progress)
    csv = tmp_path / "a.csv"
    csv.write_text("7\n8\n")
    kb.update(insert={"a": csv})
    assert {(n, told) for s, n, told in seen if s == "read"} == {
        ("query", "well"), ("len", "well"), ("update", "E109")
    }  # fmt: skip
    assert {told for s, n, told in seen if s == "reason"} == {"E109"}
    assert len(kb["a"]) == 5
    assert kb.query("c(?x), NOT a(?x)").num_rows == 0


# --- others come in between


def test_questions_are_answered_while_an_update_reads_its_input(kb):
    begun, goes_on = threading.Event(), threading.Event()

    def rows():
        yield (7,)
        begun.set()
        assert goes_on.wait(LONG)
        yield (8,)

    updated = in_thread(lambda: kb.update(insert={"a": rows()}))
    assert begun.wait(LONG)
    assert kb.query('a(?x), BIND("new" AS ?y)').num_rows == len(kb["a"]) == 3
    goes_on.set()
    assert updated().added.sizes["a"] == 2
    assert len(kb["a"]) == 5


class Batches:
    """A source of Arrow batches between which others may ask."""

    def __init__(self, kb, size):
        self._kb = kb
        self._size = size
        self.seen = []

    def __arrow_c_stream__(self, requested_schema=None):
        schema = pa.schema([("x", pa.string())])
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema)).__arrow_c_stream__()

    def _batches(self, schema):
        for n in range(self._size):
            self._kb._turns._had_since = 0.0  # as if the last pause were long ago
            yield pa.record_batch([[f"{n}", f"{n + 1}"]], schema)


def test_questions_that_bring_new_constants_do_not_disturb_facts_that_are_being_read(kb):
    done = threading.Event()
    answers = []

    def ask():
        while not done.is_set():
            answers.append(
                kb.query('a(?x), BIND(?x * 1000 AS ?y), BIND("not there" AS ?z)').num_rows
            )

    asking = in_thread(ask)
    changes = kb.update(insert={"word": Batches(kb, 200)})
    done.set()
    asking()
    assert set(answers) <= {3}
    assert set(kb["word"]) == {(str(n),) for n in range(201)}
    assert changes.added.sizes == {"word": 201}
    assert kb._dictionary.find([sl.lang.values.terms.term_of("not there")]).tolist() == [-1]


# --- refresh


def test_refresh_keeps_the_options_that_were_given_and_what_refers_to_the_knowledge_base(stored):
    given = {
        "timeout": 30, "max_facts": 100, "memory": 50_000_000, "threads": 2,
        "maintenance": "dred", "on_bad_input": "skip", "header": True, "progress": False,
    }  # fmt: skip
    kb = sl.open(stored, **given)
    kb.set_timeout(20)
    view = kb["c"]
    with sl.open(stored, progress=False) as other:
        other.update(insert=facts([3]))
    assert kb.refresh() == 2
    assert {name: getattr(kb._options, name) for name in given} == given
    assert kb._host.limits.timeout == 20
    assert len(view) == 4
    with pytest.raises(sl.EngineError, match="E103"):
        kb.update(insert=facts(range(1000)))


def test_a_store_is_opened_again_with_every_option_but_those_it_was_made_with():
    from stratalog.knowledge.options import MADE_WITH, reopening

    chosen = Options(**dict.fromkeys(Options.__slots__, "chosen"))
    assert set(reopening(chosen)) == set(Options.__slots__) - set(MADE_WITH)
    assert not reopening(Options())


def test_none_says_nothing_where_the_store_says_something(tmp_path):
    facts = {"a": [], "b": []}
    sl.materialise(RULES, facts, store=tmp_path / "kb", keep=3, max_digits=9_000, progress=False)
    kb = sl.open(tmp_path / "kb", keep=None, max_digits=None, progress=False)
    assert (kb._options.keep, kb._options.max_digits) == (3, 9_000)


def test_a_closed_knowledge_base_is_not_refreshed(stored):
    kb = sl.open(stored, progress=False)
    kb.close()
    with pytest.raises(sl.EngineError, match="E107"):
        kb.refresh()


# --- waiting


@pytest.mark.parametrize("call", ["update", "query", "facts", "save"])
def test_ctrl_c_is_heard_by_one_that_waits(kb, tmp_path, call):
    watch(kb)
    schedule = kb._turns._writers.schedule = kb._turns.engine.schedule = Schedule(0)
    had, done = threading.Event(), threading.Event()

    def hold():
        with kb._turns.writing("a test"), kb._turns.touching():
            had.set()
            assert done.wait(LONG)

    def interrupt():
        assert schedule.second_rests.wait(LONG)
        time.sleep(0.2)  # it is about to: Python does not hear a signal on the way into a lock
        os.kill(os.getpid(), signal.SIGINT)

    holding = in_thread(hold)
    assert had.wait(LONG)
    schedule.second = threading.get_ident()
    in_thread(interrupt)
    given = {
        "update": lambda: kb.update(insert={"a": [(9,)]}), "query": lambda: kb.query("a(?x)"),
        "facts": lambda: kb.facts("a"), "save": lambda: kb.save(tmp_path / "s"),
    }  # fmt: skip
    with pytest.raises(KeyboardInterrupt):
        given[call]()
    done.set()
    holding()
    assert len(kb["a"]) == 3


# --- at random


class Crowd:
    """What threads do with one knowledge base, and with another on its store."""

    def __init__(self, folder):
        self.folder = folder
        self.kb = sl.materialise(RULES, facts(range(3)), store=folder / "kb", progress=False)
        self.other = sl.open(folder / "kb", progress=False)
        self.wrong = []

    def write(self, chance):
        for n in range(100, 112):
            self.kb.update(insert=facts([n]))
            if chance.random() < 0.5:
                self.kb.update(delete=facts([n]))
            if chance.random() < 0.3:
                self.kb.what_if(delete=facts(range(3)), add_rules="e(?x) :- a(?x) .")

    def keep(self, _chance):
        for n in range(6):
            self.kb.save(self.folder / f"saved{n}")
            self.kb.publish(self.folder / f"published{n}")

    def follow(self, _chance):
        for _ in range(8):
            self.other.refresh()
            self.read(self.other)

    def ask(self, chance):
        for _ in range(25):
            self.read(self.kb)
            text = f'a(?x), NOT c(?x), BIND("q{chance.random()}" AS ?y)'
            self.wrong += self.kb.query(text).to_pylist()
            self.kb.query('z(?x, ?y) :- n(?x), BIND(STRLANG("t", "en") AS ?y)')

    def read(self, kb):
        found = {name: table.to_pydict()["c0"] for name, table in kb.tables()}
        a, b, c = (sorted(found[name]) for name in ("a", "b", "c"))
        if not (a == b == c and found["n"] == [len(a)]):
            self.wrong.append((a, b, c, found["n"]))

    def read_store(self, place):
        for version in sl.open(place, progress=False).versions():
            with sl.open(place, version.number, progress=False) as saved:
                self.read(saved)


def test_many_threads_at_once_see_versions_that_existed(tmp_path):
    crowd = Crowd(tmp_path)
    calls = [crowd.write, crowd.write, crowd.keep, crowd.follow, crowd.ask, crowd.ask]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        waiting = [
            in_thread(lambda call=call, n=n: [call(random.Random(n))])
            for n, call in enumerate(calls)
        ]
        for result in waiting:
            result()
    finally:
        sys.setswitchinterval(interval)
    for place in ["kb", *(f"saved{n}" for n in range(6))]:
        crowd.read_store(tmp_path / place)
    assert crowd.wrong == []
