"""A query changes nothing: no facts, no constants, no accounts; and threads may share a base."""

import resource
import threading
from pathlib import Path

import pytest

import stratalog as sl

CLOSURE = "path(?x, ?y) :- edge(?x, ?y) . path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) ."
TRIPLES = """
    @prefix : <http://e/> .
    [?x, ?q, ?y] :- [?p, rdfs:subPropertyOf, ?q], [?x, ?p, ?y] .
    :knows(1, 2) . :Person(1) .
"""


def chain(length):
    return sl.materialise(CLOSURE, {"edge": [(i, i + 1) for i in range(length)]})


def test_the_memory_account_is_the_same_after_each_query():
    kb = chain(60)
    accounts = []
    for _ in range(3):
        kb.query("path(?x, ?y), NOT (edge(?x, ?z), edge(?z, ?y))")
        accounts.append(kb._host.engine.allocated)
    assert accounts[0] == accounts[1] == accounts[2]


def test_answers_count_against_the_memory_limit_only_while_they_are_made():
    edges = [(i, i + 1) for i in range(300)]
    kb = sl.materialise(CLOSURE, {"edge": edges}, memory=8_000_000)
    for _ in range(10):
        assert kb.query("path(?x, ?y), ?x < 200").num_rows == 40_100


def test_constants_of_a_query_are_forgotten(engine):
    kb = sl.materialise(CLOSURE, {"edge": [(i, i + 1) for i in range(8)]}, engine=engine)
    before = kb.stats["constants"]
    assert kb.query("path(77, ?y)").num_rows == 0
    assert kb.query("edge(?x, ?y), BIND(?x * 1000 AS ?z)")["z"].to_pylist()[1] == 1000
    assert kb.query('edge(?x, 8), BIND("seven" AS ?z)').to_pylist() == [{"x": 7, "z": "seven"}]
    assert kb.query('edge(?x, 8), ?x < 7.5, BIND("7" AS ?z)').to_pylist() == [{"x": 7, "z": "7"}]
    assert kb.stats["constants"] == before


def test_a_number_that_was_another_constant_in_an_earlier_query_is_read_anew():
    kb = chain(3)
    assert kb.query("edge(0, ?y), BIND(?y + 99 AS ?z), ?z > 99")["z"].to_pylist() == [100]
    assert kb.query('edge(0, ?y), BIND("t" AS ?z), ?z > "s"')["z"].to_pylist() == ["t"]
    assert kb.query("edge(0, ?y), BIND(?y + 0.5 AS ?z), ?z > 1").num_rows == 1


def test_an_error_in_a_query_leaves_no_trace():
    kb = chain(200)
    engine = kb._host.engine
    text = "edge(?x, ?y), NOT (path(?x, ?z), BIND(?z + 1000 AS ?w), ?w > ?y)"
    kb.query(text)  # makes the indexes, which stay
    before = engine.allocated, list(engine.relations), kb.stats["constants"]
    kb._host.limits.max_facts = kb.stats["facts"] + 10
    with pytest.raises(sl.EngineError, match="E103"):
        kb.query(text)
    kb._host.limits.max_facts = None
    assert (engine.allocated, list(engine.relations), kb.stats["constants"]) == before
    assert kb.query("path(0, ?y)").num_rows == 200


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs the size of the process")
def test_full_memory_is_an_engine_error_and_the_base_lives_on():
    kb = chain(400)
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    mapped = pages * resource.getpagesize()
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (mapped + 60_000_000, limits[1]))
    try:
        with pytest.raises(sl.EngineError, match="E101"):
            kb.query("path(?x, ?y), path(?z, ?w)")
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)
    assert kb.query("path(0, ?y)").num_rows == 400


def test_threads_may_ask_the_same_base_at_once():
    kb = chain(150)
    queries = [
        "path(?x, ?y), ?x < 100",
        "path(?x, ?y), NOT (edge(?x, ?z), edge(?z, ?y))",
        "path(5, ?y), BIND(?y * 7 AS ?z)",
        "path(?x, ?y), path(?y, 140)",
    ]
    expected = {text: kb.query(text).num_rows for text in queries}
    wrong = []

    def ask(first):
        for i in range(12):
            text = queries[(first + i) % len(queries)]
            if kb.query(text).num_rows != expected[text] or (0, 150) not in kb["path"]:
                wrong.append(text)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.filterwarnings("ignore:W301")  # nothing is a subproperty here
@pytest.mark.parametrize(
    "text", [":met(?y, ?x) :- :knows(?x, ?y)", "[?y, :met, ?x] :- :knows(?x, ?y)"]
)
def test_a_query_whose_head_is_an_iri_has_the_columns_of_its_head(text, engine):
    for program in (TRIPLES, TRIPLES.replace("?q, ?y] :-", ":sub, ?y] :-")):
        table = sl.materialise(program, engine=engine).query(text)
        assert table.to_pylist() == [{"y": 2, "x": 1}]


def test_a_query_derives_no_triple_whose_predicate_is_no_iri(engine):
    for program in (TRIPLES, "@prefix : <http://e/> . :knows(1, 2) . :Person(1) ."):
        kb = sl.materialise(program, engine=engine)
        assert kb.query("[?x, ?y, ?x] :- :knows(?x, ?y)").num_rows == 0


def test_predicates_are_found_by_every_spelling():
    kb = sl.materialise(TRIPLES + ":Person(1, 2) . edge(1) .")
    for name in (":knows", "<http://e/knows>", ":Person", ":Person/1", "edge"):
        assert name in kb
    for name in (":unknown", "nobody:knows", "edge/2", "a b", 7):
        assert name not in kb


def test_the_matches_of_an_aggregate_count_as_memory():
    numbers = [(i,) for i in range(2000)]
    program = "n(?n) :- AGGREGATE(a(?x), b(?y), a(?z) BIND SUM(?x) AS ?n) ."
    with pytest.raises(sl.EngineError, match="E101"):
        sl.materialise(program, {"a": numbers, "b": numbers}, memory=50_000_000, engine="columnar")
