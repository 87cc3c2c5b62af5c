"""Every store of `stores/`, written by an earlier commit, opens, answers and can be updated.

What it holds stands in its `expected.json`, by the judge; `stores/make_stores.py` wrote both.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import stratalog as sl
from stratalog.lang.parse import parse_program
from stratalog.lang.printer import show
from stratalog.lang.terms import Term
from stratalog.lang.values.terms import term_of
from stratalog.pipeline.store import Store
from tests import naive
from tests.golden.stores.make_stores import facts_of, tables
from tests.naive import Fact

HERE = Path(__file__).parent / "stores"
STORES = sorted(path.parent for path in HERE.glob("*/expected.json"))
ON_SPARK = ("spark-closure", "spark-layers", "spark-updated", "spark-closures", "negation")

State = tuple[str, set[Fact], set[Fact]]
"""Rules, explicit facts and derived ones."""


class Golden:
    """What `expected.json` says, and a copy of the store."""

    def __init__(self, source: Path, folder: Path) -> None:
        self.fields: dict[str, Any] = json.loads((source / "expected.json").read_text())
        self.states: dict[int, State] = {}
        state: State = ("", set(), set())
        for number, changes in enumerate(self.fields["versions"], 1):
            state = after(state, changes)
            if number not in self.fields["dropped"]:
                self.states[number] = state
        self.newest = max(self.states)
        self.store = folder / "store"
        shutil.copytree(source / "store", self.store)

    def facts(self, name: str) -> set[Fact]:
        return facts_of("\n".join(self.fields[name]))


def after(state: State, changes: dict[str, Any]) -> State:
    """Return the state after changes that are written as differences."""
    _, explicit, derived = state
    some = {name: facts_of("\n".join(lines)) for name, lines in changes.items() if name != "rules"}
    return (
        "\n".join(changes["rules"]),
        explicit - some["explicit -"] | some["explicit +"],
        derived - some["derived -"] | some["derived +"],
    )


def held(kb: sl.KnowledgeBase, only: str | None = None) -> set[Fact]:
    """Return the facts that users see."""
    found = set()
    for predicate, name in kb.names().items():
        rows = kb.facts(name, only=only).num_rows
        assert rows == kb.count_of(name, only=only)
        if only is None:
            found |= {(predicate, tuple(map(term_of, row))) for row in kb.rows(predicate)}
    return found


def check(kb: sl.KnowledgeBase, state: State) -> None:
    """Fail unless facts and both counts are those of the state."""
    rules, explicit, derived = state
    assert held(kb) == explicit | derived
    assert (kb.stats["explicit"], kb.stats["derived"]) == (len(explicit), len(derived))
    assert sorted(map(show, kb._program.rules)) == sorted(map(show, parse_program(rules).rules))
    assert counted(kb._counts()) == counted(naive.counts(kb._plan, explicit))


def counted(counts: dict[Fact, tuple[int, int]]) -> dict[Fact, tuple[int, int]]:
    """Return the facts that are there, or derived, with their counts."""
    return {fact: both for fact, both in counts.items() if any(both)}


def answers(kb: sl.KnowledgeBase, query: str) -> set[Fact]:
    """Return the answers to a query as facts of its head."""
    table = kb.query(query)
    (head,) = parse_program(query).rules[0].heads
    columns = [
        [term(value, field) for value in column.to_pylist()]
        for column, field in zip(table.columns, table.schema, strict=True)
    ]
    return {(head.predicate, row) for row in zip(*columns, strict=True)}


def term(value: Any, field: Any) -> Term:
    """Return the constant that a value in a column stands for."""
    if (field.metadata or {}).get(b"stratalog.type") != b"term":
        return term_of(value)
    ((_, (found,)),) = facts_of(f"spelled({value}) .")
    return found


def update_and_reopen(golden: Golden, engine: str) -> None:
    """Fail unless queries, an update and what is read back are as the judge says."""
    query, before = golden.fields["query"], golden.states[golden.newest]
    wanted = after(before, golden.fields["after"])
    kb = sl.open(golden.store, engine=engine)
    check(kb, before)
    assert answers(kb, query) == golden.facts("answers")
    kb.update(insert=tables(golden.facts("insert")), delete=tables(golden.facts("delete")))
    assert answers(kb, query) == golden.facts("answers after")
    assert (kb.version, kb.stats["engine"]) == (golden.newest + 1, engine)
    for one in (kb, sl.open(golden.store, engine=engine)):
        check(one, wanted)
        one.close()


@pytest.mark.parametrize("source", STORES, ids=lambda path: path.name)
def test_every_version_holds_the_facts_that_the_judge_names(source: Path, tmp_path: Path):
    golden = Golden(source, tmp_path)
    assert [version.number for version in Store.open(golden.store).versions()] == list(
        golden.states
    )
    for number, state in golden.states.items():
        with sl.open(golden.store, version=number, engine="columnar") as kb:
            check(kb, state)


@pytest.mark.parametrize("source", STORES, ids=lambda path: path.name)
def test_every_store_is_queried_updated_and_read_back(source: Path, tmp_path: Path):
    update_and_reopen(Golden(source, tmp_path), "columnar")


@pytest.mark.parametrize("name", ["stream", "stream-packed"])
def test_a_stream_finds_how_far_it_had_come(name: str, tmp_path: Path):
    golden = Golden(HERE / name, tmp_path)
    store = Store.open(golden.store)
    assert [len(store.streams(number)) for number in golden.states] == [0, 1, 1]
    ((stream, mark),) = store.streams().items()
    assert mark["batch"] == 0
    update_and_reopen(golden, "columnar")
    assert store.streams(golden.newest + 1) == {stream: mark}


def test_prefixes_of_the_program_and_of_data_are_known_again(tmp_path: Path):
    with sl.open(Golden(HERE / "prefixes", tmp_path).store, engine="columnar") as kb:
        assert dict(kb.prefixes()) == {"": "http://e/", "d": "http://d/"}
        assert kb.query("answer(?x) :- d:name(?x, ?n), :Person(?x) .").num_rows == 1


@pytest.mark.parametrize("name", ["value-keys", "modules-updated", "spark-updated"])
def test_what_each_rule_took_is_known_again(name: str, tmp_path: Path):
    store = Golden(HERE / name, tmp_path).store
    with sl.open(store, engine="columnar") as kb:
        assert kb.profile() == Store.open(store).read().statistics["profile"] != []


def test_options_of_the_data_are_known_again_and_followed(tmp_path: Path):
    golden = Golden(HERE / "options", tmp_path)
    with sl.open(golden.store, engine="columnar") as kb:
        told = kb.update(delete=tables(golden.facts("delete"))).stats["per_stratum"]
        assert {each["algorithm"] for each in told if each["predicates"] == ["path"]} == {"bf-c"}
    assert [each.number for each in Store.open(golden.store).versions()] == [4, 5]


@pytest.mark.parametrize("name", ["schemes-plain", "spark-closure"])
def test_options_that_were_saved_do_not_keep_a_store_from_opening(name: str, tmp_path: Path):
    golden = Golden(HERE / name, tmp_path)
    saved = Store.open(golden.store).read().options
    assert golden.fields["options"].items() <= saved.items()
    with sl.open(golden.store, engine="columnar") as kb:
        check(kb, golden.states[golden.newest])


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_a_store_that_spark_wrote_is_opened_as_it_is(tmp_path: Path):
    with sl.open(Golden(HERE / "spark-closure", tmp_path).store) as kb:
        assert ("path" in kb, len(kb["edge"])) == (True, 5)


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("name", ON_SPARK)
def test_stores_are_queried_updated_and_read_back_on_spark(name: str, tmp_path: Path):
    update_and_reopen(Golden(HERE / name, tmp_path), "spark")
