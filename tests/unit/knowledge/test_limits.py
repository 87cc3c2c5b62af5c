"""Limits are read in one way, and hold: memory with its constants, facts of answers, digits."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

import stratalog as sl
from stratalog.knowledge import guard
from stratalog.knowledge.amounts import MOST_THREADS, memory_amount
from stratalog.knowledge.options import check_options, usual_threads
from stratalog.pipeline.dictionary import Dictionary

RULES = "p(?x) :- q(?x) ."
ENGINES = ("columnar", "reference")
INTEGER = "http://www.w3.org/2001/XMLSchema#integer"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("threads", value) for value in (1.5, 0, -1, True, MOST_THREADS + 1, "2", float("inf"))),
        *(("memory", value) for value in (float("inf"), float("nan"), 0, -1, True, "abc", "2 XB")),
        *(("memory", value) for value in ("", "1e9", "-1GiB", [1], 10**400, "9" * 30)),
        *(("max_facts", value) for value in (0.5, 5.0, 0, -1, True, "7", float("nan"))),
        *(("timeout", value) for value in (float("nan"), float("inf"), 0, -1, True, "3")),
        *(("max_digits", value) for value in (0, 19, 10**9, True, 5000.0, "5000")),
        *(("spill", value) for value in ("disk", True, 1)),
    ],
)
def test_a_limit_that_is_none_is_refused_with_what_to_write(option: str, value: object) -> None:
    with pytest.raises(sl.EngineError, match=f"E120: {option}=") as caught:
        sl.materialise(RULES, **{option: value})
    assert caught.value.help


def test_amounts_of_memory_are_read_as_on_the_command_line() -> None:
    assert check_options(memory="2GiB").memory == 2 << 30
    assert memory_amount(" 1.5 kb ") == 1500
    assert memory_amount("4G") == 4 << 30
    assert memory_amount(0.5 * 2**30) == 1 << 29
    assert check_options(memory=None, max_digits=None).max_digits == 4300


def test_going_over_to_spark_belongs_to_the_columnar_engine() -> None:
    with pytest.raises(sl.EngineError, match="E120"):
        sl.materialise(RULES, engine="reference", spill="spark")


@pytest.mark.parametrize("given", ["1.5", "0", "257", "many", "9" * 100])
def test_threads_of_the_environment_are_bounded_too(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STRATALOG_THREADS", given)
    with pytest.raises(sl.EngineError, match="STRATALOG_THREADS"):
        usual_threads()


# Memory


def _texts(count: int) -> pa.Table:
    return pa.table(
        {"c0": [f"a constant that is long enough to take room {i}" for i in range(count)]}
    )


def test_constants_that_are_read_count_as_memory() -> None:
    with pytest.raises(sl.EngineError, match=r"E101.*reading facts"):
        sl.materialise(RULES, {"q": _texts(50_000)}, memory="3MB", progress=False)


def test_facts_that_are_read_count_as_memory() -> None:
    numbers = np.zeros((1_000_000, 2), np.int64)
    with pytest.raises(sl.EngineError, match=r"E101.*reading facts"):
        sl.materialise("", {"q": numbers}, memory="5MB", progress=False)


def test_constants_that_a_rule_makes_count_as_memory_and_the_rule_is_named() -> None:
    rule = 'c(?t) :- q(?x), q(?y), BIND(CONCAT(?x, " and ", ?y) AS ?t) .'
    with pytest.raises(sl.EngineError, match=r"E101.*c\(\?t\) :- q"):
        sl.materialise(rule, {"q": _texts(1_000)}, memory="10MB", progress=False, engine="columnar")


def test_the_dictionary_asks_before_it_takes() -> None:
    asked: list[int] = []
    dictionary = Dictionary()
    before = dictionary.nbytes

    def refuse(more: int) -> None:
        asked.append(more)
        raise sl.EngineError("E101", "no room")

    dictionary.watch = refuse
    with pytest.raises(sl.EngineError, match="no room"):
        dictionary.intern(INTEGER, pa.array([str(i) for i in range(100_000)]))
    assert len(asked) == 1
    assert dictionary.nbytes == before


def test_a_refused_update_leaves_facts_and_constants_as_they_were() -> None:
    kb = sl.materialise(RULES, {"q": [("a",)]}, memory="3MB", progress=False)
    constants = len(kb._dictionary)
    with pytest.raises(sl.EngineError, match=r"E101.*reading facts"):
        kb.update(insert={"q": _texts(50_000)})
    assert list(kb["p"]) == [("a",)]
    assert len(kb._dictionary) == constants
    kb.update(insert={"q": [("b",)]})
    assert sorted(kb["p"]) == [("a",), ("b",)]


def test_listing_what_does_not_fit_is_refused_before_it_is_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(guard, "MAX_UNASKED_BYTES", 10_000)
    kb = sl.materialise(
        "p(?x, ?y) :- q(?x), q(?y) .", {"q": [(i,) for i in range(50)]}, progress=False
    )
    monkeypatch.setattr(guard, "available_memory", lambda: 50_000)
    with pytest.raises(sl.EngineError, match="E101: listing the 2,500 facts of p"):
        kb.facts("p")
    assert kb.facts("q").num_rows == 50
    assert kb.query("p(1, ?y)").num_rows == 50


def test_finding_a_predicate_among_more_triples_than_fit_is_refused_before_it_is_tried(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rules = "back(<http://to>, <http://back>) . [?y, ?q, ?x] :- [?x, ?p, ?y], back(?p, ?q) ."
    to = [(f"<http://n/{i}>", f"<http://n/{i + 1}>") for i in range(500)]
    kb = sl.materialise(rules, {"<http://to>": to}, progress=False)
    monkeypatch.setattr(guard, "MAX_UNASKED_BYTES", 10_000)
    monkeypatch.setattr(guard, "available_memory", lambda: 11_999)
    with pytest.raises(sl.EngineError, match="E101: finding <http://back> among 1,000 triples"):
        kb.facts("<http://back>")
    monkeypatch.setattr(guard, "available_memory", lambda: 12_000)
    assert kb.facts("<http://back>").num_rows == 500


def test_a_memory_error_amid_saving_or_publishing_is_told_with_a_code(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb = sl.materialise(RULES, {"q": [(1,)]}, progress=False)

    def fail(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(type(kb._host), "stored", fail)
    with pytest.raises(sl.EngineError, match=r"E101.*saving"):
        kb.save(tmp_path / "kb")
    monkeypatch.setattr("stratalog.pipeline.publish.publish", fail)
    with pytest.raises(sl.EngineError, match=r"E101.*publishing"):
        kb.publish(tmp_path / "out")
    monkeypatch.setattr("stratalog.knowledge.reading.decode_table", fail)
    with pytest.raises(sl.EngineError, match=r"E101.*listing the 1 fact of q"):
        kb.facts("q")


# Facts of answers


@pytest.mark.parametrize("by", ENGINES)
@pytest.mark.parametrize(
    "query", ["q(?x), q(?y)", "r(?x, ?y) :- q(?x), q(?y)", "q(?x), q(?y), FILTER(?x + ?y > 0)"]
)
def test_answers_count_as_facts(by: str, query: str) -> None:
    facts = {"q": [(i,) for i in range(1, 31)]}
    kb = sl.materialise(RULES, facts, engine=by, max_facts=500, progress=False)
    with pytest.raises(sl.EngineError, match=re.escape("E103: more than max_facts=500 facts")):
        kb.query(query)
    assert kb.query("q(?x), q(?y), FILTER(?x < 10), FILTER(?y < 10)").num_rows == 81


# Digits


@pytest.mark.parametrize("by", ENGINES)
def test_long_numbers_are_refused_wherever_they_come_from(tmp_path, by: str) -> None:
    long = "7" * 5_000
    csv, nt, jsonl = tmp_path / "q.csv", tmp_path / "x.nt", tmp_path / "q.jsonl"
    csv.write_text(f"{long}\n")
    nt.write_text(f'<http://e/s> <http://e/p> "{long}"^^<{INTEGER}> .\n')
    jsonl.write_text(f"[{long}]\n")
    declared = "@declare q(n integer) . " + RULES
    for program, facts in (
        (RULES, {"q": [(10**5_000,)]}),
        (RULES, {"q": [(sl.Literal(long, INTEGER),)]}),
        (declared, csv),
        (RULES, nt),
        (RULES, jsonl),
        (f"q({long}) .", None),
        (f"q({long}.5) .", None),
        (f'q("{long}"^^<{INTEGER}>) .', None),
        (f"p(?x) :- q(?x), FILTER(?x < {long}) .", None),
    ):
        with pytest.raises(sl.StratalogError, match="max_digits=4,300") as caught:
            sl.materialise(program, facts, engine=by, progress=False)
        assert caught.value.code == "D302"


def test_more_digits_can_be_allowed_and_are_kept_with_the_store(tmp_path) -> None:
    rule = "r(?y) :- q(?x), BIND(?x + 1 AS ?y) ."
    kb = sl.materialise(rule, {"q": [(10**5_000,)]}, max_digits=6_000, progress=False)
    assert list(kb["r"]) == [(10**5_000 + 1,)]
    assert (10**5_000,) in kb["q"]
    kb.save(tmp_path / "kb")
    again = sl.open(tmp_path / "kb")
    again.update(insert={"q": [(10**5_100,)]})
    assert again.query("r(?x), FILTER(?x > 1)").num_rows == 2
    with pytest.raises(sl.DataError, match="max_digits=6,000"):
        again.update(insert={"q": [(10**6_001,)]})
    with pytest.raises(sl.EngineError, match="E111"):
        again.query("q(?x), BIND(?x * ?x AS ?y)")


def test_a_text_of_many_digits_is_no_number() -> None:
    kb = sl.materialise(RULES, {"q": [("7" * 5_000,), (1.5e300,)]}, progress=False)
    assert len(kb["p"]) == 2


def test_a_number_in_a_store_of_another_limit_can_be_listed(tmp_path) -> None:
    sl.materialise(RULES, {"q": [(10**5_000,)]}, max_digits=6_000, progress=False).save(tmp_path)
    kb = sl.open(tmp_path, max_digits=4_300)
    assert list(kb["p"]) == [(10**5_000,)]
