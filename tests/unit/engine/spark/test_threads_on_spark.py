"""The Spark engine from several threads: one knowledge base in two, and two on one session."""

import threading

import pytest

import stratalog as sl

pytestmark = pytest.mark.spark

RULES = "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."


def chain(first, last):
    return {"edge": [(n, n + 1) for n in range(first, last)]}


def check(tables):
    edges, paths = tables["edge"].num_rows, tables["path"].num_rows
    assert paths == edges * (edges + 1) // 2
    return edges


def in_threads(*calls):
    """Run calls at once, and raise what one of them has raised."""
    errors = []

    def run(call):
        try:
            call()
        except BaseException as error:  # noqa: BLE001  # it is raised in the test's thread
            errors.append(error)

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in errors:
        raise error


def test_one_thread_updates_saves_and_publishes_what_others_read(spark, tmp_path):  # noqa: ARG001
    kb = sl.materialise(RULES, chain(0, 4), engine="spark", progress=False)
    seen = []

    def write():
        for n in (5, 6):
            kb.update(insert=chain(0, n))

    def keep():
        kb.save(tmp_path / "kb")
        kb.publish(tmp_path / "published")

    def read():
        for _ in range(2):
            seen.append(check(dict(kb.tables())))
            assert kb.query("edge(?x, ?y), NOT path(?x, ?y)").num_rows == 0

    in_threads(write, keep, read)
    assert seen == sorted(seen)
    assert set(seen) <= {4, 5, 6}
    with sl.open(tmp_path / "kb", 1, engine="columnar", progress=False) as saved:
        check(dict(saved.tables()))
    assert check(dict(kb.tables())) == 6


def test_two_knowledge_bases_share_a_session_in_two_threads(spark):  # noqa: ARG001
    def live(first):
        kb = sl.materialise(RULES, chain(first, first + 4), engine="spark", progress=False)
        kb.update(insert=chain(first + 4, first + 6))
        assert check(dict(kb.tables())) == 6
        assert set(kb["edge"]) == set(chain(first, first + 6)["edge"])

    in_threads(lambda: live(0), lambda: live(100))
