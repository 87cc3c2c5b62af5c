"""Updates of a knowledge base: what they mean, what they tell, and that they are all or nothing."""

import gc
import logging
import threading
import weakref
from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

import stratalog as sl
from stratalog.knowledge.stored import save as persist
from stratalog.knowledge.update import maintain as maintaining
from stratalog.knowledge.update.rounds import Rounds

PATHS = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
"""
MORE = """
degree(?x, ?n) :- AGGREGATE(edge(?x, ?y) ON ?x BIND COUNT(?y) AS ?n) .
last(?y) :- edge(?x, ?y), NOT edge(?y, ?z) .
"""
EDGES = [("a", "b"), ("b", "c"), ("c", "d"), ("b", "e")]


@pytest.fixture
def kb(engine):
    return sl.materialise(PATHS + MORE, {"edge": EDGES}, engine=engine)


def rows(table):
    return sorted(tuple(row.values()) for row in table.to_pylist())


def state(kb):
    """All that an update must leave as it was if it fails."""
    facts = {name: sorted(map(repr, kb[name])) for name in kb}
    numbers = {k: kb.stats[k] for k in ("explicit", "derived", "facts", "rules", "strata")}
    return facts, kb.counts(), numbers, kb.predicates(), kb.version


def test_the_changes_are_net_and_come_as_tables(kb):
    changes = kb.update(insert={"edge": [("b", "d")]}, delete={"edge": [("b", "c")]})
    assert rows(changes.added["edge"]) == [("b", "d")]
    assert rows(changes.removed["edge"]) == [("b", "c")]
    assert "d" not in [y for _, y in rows(changes.removed["path"])]  # rederived by the new edge
    assert rows(changes.removed["path"]) == [("a", "c"), ("b", "c")]
    assert "path" not in changes.added
    assert "degree" not in changes.removed
    assert isinstance(changes.added["edge"], pa.Table)
    assert repr(changes) == "<Changes: +1 -3 facts: edge +1 -1, path -2>"
    assert ">path</td>" in changes._repr_html_()
    assert changes
    assert sorted(kb["path"]) == [
        ("a", "b"), ("a", "d"), ("a", "e"), ("b", "d"), ("b", "e"), ("c", "d"),
    ]  # fmt: skip


def test_aggregates_and_negation_follow(kb):
    changes = kb.update(delete={"edge": [("b", "e"), ("c", "d")]})
    assert rows(changes.removed["degree"]) == [("b", 2), ("c", 1)]
    assert rows(changes.added["degree"]) == [("b", 1)]
    assert rows(changes.added["last"]) == [("c",)]
    assert all("$" not in name for name in (*changes.added, *changes.removed))


def test_what_is_inserted_and_deleted_is_inserted(kb):
    before = state(kb)
    assert not kb.update(insert={"edge": [("a", "b")]}, delete={"edge": [("a", "b")]})
    assert state(kb) == before
    changes = kb.update(insert={"edge": [("x", "y")]}, delete={"edge": [("x", "y")]})
    assert rows(changes.added["path"]) == [("x", "y")]
    assert changes.stats["not_explicit"] == 1


def test_deleting_what_is_not_explicit_changes_nothing_and_is_counted(kb):
    before, constants = state(kb), len(kb._dictionary)
    changes = kb.update(delete={"path": [("a", "c")], "edge": [("q", "r"), ("q", "r"), ("a", "c")]})
    assert not changes
    assert changes.stats["not_explicit"] == 3
    assert (state(kb), len(kb._dictionary)) == (before, constants)


def test_explicit_facts_are_a_set(kb):
    kb.update(insert={"edge": [("a", "b"), ("a", "b"), ("z", "a"), ("z", "a")]})
    changes = kb.update(delete={"edge": [("z", "a")]})
    assert rows(changes.removed["edge"]) == [("z", "a")]
    assert not kb.update(insert=[{"edge": EDGES}, {"edge": EDGES}])


def test_a_derived_fact_that_becomes_explicit_outlives_its_derivation(kb):
    changes = kb.update(insert={"path": [("a", "c")]})
    assert not changes
    assert changes.stats["inserted"] == 1
    assert kb.stats["explicit"] == 5
    kb.update(delete={"edge": [("b", "c")]})
    assert ("a", "c") in kb["path"]
    gone = kb.update(delete={"path": [("a", "c")]}).removed["path"]
    assert rows(gone) == [("a", "c"), ("a", "d")]


def test_facts_of_the_programs_text_can_be_deleted(engine, tmp_path):
    program = PATHS + 'edge("a", "b") . edge("b", "c") . alone() .'
    kb = sl.materialise(program, engine=engine, store=tmp_path / "kb")
    changes = kb.update(delete={"edge": [("b", "c")], "alone": [()]})
    assert changes.removed.sizes == {"alone": 1, "edge": 1, "path": 2}
    assert [fact.predicate.name for fact in kb._program.facts] == ["edge"]
    assert state(sl.open(tmp_path / "kb"))[:2] == state(kb)[:2]


def test_a_predicate_may_be_new(kb):
    assert "colour" not in kb
    changes = kb.update(insert={"colour": [("a", "red", Decimal("1.5"))]})
    assert changes.added["colour"].schema.names == ["c0", "c1", "c2"]
    assert list(kb["colour"]) == [("a", "red", Decimal("1.5"))]
    kb.update(delete={"colour": [("a", "red", Decimal("1.5"))]})
    assert len(kb["colour"]) == 0
    with pytest.raises(sl.DataError, match="D301"):
        kb.update(insert={"colour": [("a", "red")]})


def test_insert_takes_what_facts_take(kb, tmp_path):
    (tmp_path / "edge.csv").write_text("d,f\n")
    (tmp_path / "other.tsv").write_text("f\tg\n")
    kb.update(
        insert=[
            tmp_path / "edge.csv",
            f"edge={tmp_path / 'other.tsv'}",
            {"edge": pd.DataFrame({"x": ["g"], "y": ["h"]})},
            {"edge": pa.table({"x": ["h"], "y": ["i"]})},
        ]
    )
    assert ("a", "i") in kb["path"]
    kb.update(delete=tmp_path / "edge.csv")
    assert ("a", "i") not in kb["path"]
    assert ("f", "i") in kb["path"]


def test_declared_columns_are_found_by_name(engine):
    program = "@declare sale(id integer, who string) . buyer(?x) :- sale(?i, ?x) ."
    frame = pd.DataFrame({"who": ["ada", "bo"], "more": [0.5, 1.5], "id": [1, 2]})
    kb = sl.materialise(program, {"sale": frame}, engine=engine)
    changes = kb.update(delete={"sale": frame[frame.who == "bo"]})
    assert changes.removed["sale"].to_pylist() == [{"id": 2, "who": "bo"}]
    with pytest.raises(sl.DataError, match="D302"):
        kb.update(insert={"sale": [("three", "cy")]})


@pytest.mark.parametrize(
    "rule",
    [
        "used(?p) :- [?x, ?p, ?y] .",  # triples are copied
        "[?y, ?q, ?x] :- :inverse(?p, ?q), [?x, ?p, ?y] .",  # triples are where facts live
        ":Person(?x) :- :knows(?x, ?y) .",  # there are none
    ],
)
def test_triples_follow_however_they_are_stored(engine, rule, tmp_path):
    program = "@prefix : <http://e/> . " + rule
    triples = tmp_path / "facts.nt"
    triples.write_text(
        "<http://e/knows> <http://e/inverse> <http://e/known> .\n"
        "<http://e/a> <http://e/knows> <http://e/b> .\n"
        "<http://e/a> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://e/Cat> .\n"
    )
    new = tmp_path / "new.ttl"
    new.write_text("@prefix : <http://e/> . :b :knows :c ; a :Dog . :c :likes :b .")
    kb = sl.materialise(program, triples, engine=engine, store=tmp_path / "kb")
    before = state(kb)
    added = kb.update(insert=new).added
    assert {":Dog", ":knows", ":likes"} <= set(added)
    assert (sl.IRI("http://e/c"), sl.IRI("http://e/b")) in kb[":likes"]
    fresh = sl.materialise(program, [triples, new], engine=engine)
    assert kb.counts() == fresh.counts()
    assert sl.open(tmp_path / "kb").counts() == fresh.counts()
    removed = kb.update(delete=new).removed
    assert removed.sizes == added.sizes
    assert kb.counts() == before[1]
    assert sl.open(tmp_path / "kb").counts() == before[1]


def test_a_question_forgets_even_its_constants(kb):
    kb.what_if()
    before, constants = state(kb), len(kb._dictionary)
    asked = kb.what_if(insert={"edge": [("d", "new")], "shade": [("dark",)]})
    assert (state(kb), len(kb._dictionary)) == (before, constants)
    assert rows(asked.added["shade"]) == [("dark",)]  # decoded before they were forgotten
    assert asked.stats["facts"] == before[2]["facts"] + asked.stats["added"] - 1
    kb.update(insert={"edge": [("d", "other")]})
    assert ("d", "new") in rows(asked.added["edge"])
    assert "shade" not in kb


def test_changes_stay_what_they_were_after_later_updates(kb):
    changes = kb.update(insert={"edge": [("d", "f")]})
    kb.update(delete={"edge": [("d", "f")]}, insert={"edge": [("q", "r")]})
    kb.close()
    assert rows(changes.added["edge"]) == [("d", "f")]


def test_stats_have_the_keys_of_json(kb):
    changes = kb.update(insert={"edge": [("d", "f")]}, maintenance="dred")
    stats = changes.stats
    assert {
        "explicit", "derived", "facts", "rounds", "derivations", "seconds", "phases",
        "bytes_per_fact", "engine", "maintenance", "added", "removed", "inserted", "deleted",
        "not_explicit", "per_stratum", "profile", "version",
    } <= stats.keys()  # fmt: skip
    assert stats["maintenance"] == "dred"
    assert {each["algorithm"] for each in stats["per_stratum"]} - {"closure"} == {"dred"}
    assert (
        stats["facts"]
        == stats["explicit"] + stats["derived"]
        == sum(map(len, map(kb.__getitem__, kb)))
    )
    assert stats["derivations"] == sum(rule["derivations"] for rule in stats["profile"]) > 0
    assert stats["rounds"] > 0
    assert {"read", "reason"} <= stats["phases"].keys()
    assert kb.stats["added"] == stats["added"]


@pytest.mark.parametrize("name", ["dred", "dred-c", "bf", "bf-c", "rematerialise", "auto"])
def test_every_algorithm_can_be_asked_for(engine, name):
    kb = sl.materialise(PATHS + MORE, {"edge": EDGES}, engine=engine, maintenance=name)
    kb.update(insert={"edge": [("d", "a")]}, delete={"edge": [("a", "b")]})
    fresh = sl.materialise(PATHS + MORE, {"edge": [*EDGES[1:], ("d", "a")]}, engine=engine)
    assert kb.counts() == fresh.counts()
    assert all("why" in each for each in kb.stats["per_stratum"])


def test_counting_is_for_programs_without_recursion(kb, engine):
    before = state(kb)
    with pytest.raises(sl.EngineError, match="E125") as caught:
        kb.update(delete={"edge": EDGES}, maintenance="counting")
    assert "dred-c" in caught.value.help
    assert state(kb) == before
    flat = sl.materialise(MORE, {"edge": EDGES}, engine=engine)
    assert flat.update(delete={"edge": EDGES[:1]}, maintenance="counting")


def test_a_name_that_is_no_algorithm_is_refused(kb):
    with pytest.raises(sl.EngineError, match="E120"):
        kb.update(maintenance="magic")


def test_an_update_of_nothing_is_no_change(kb, tmp_path):
    before = state(kb)
    assert not kb.update()
    assert not kb.what_if()
    assert state(kb) == before
    kb.save(tmp_path / "kb")
    kb.update()
    kb.update(insert={"edge": EDGES[:1]})
    assert kb.version == 1


class Stop(BaseException):
    """Something that nobody catches, as Ctrl-C is."""


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError, Stop, OSError])
def test_whatever_stops_an_update_leaves_all_as_it_was(kb, error, monkeypatch):
    kb.what_if()
    before, constants = state(kb), len(kb._dictionary)
    for step in range(1, 6):
        marks = 0

        def failing(self, batch, label, step=step):
            nonlocal marks
            marks += 1
            if marks == step:
                raise error
            self._engine.mark(batch, label)

        with monkeypatch.context() as patch:
            patch.setattr(Rounds, "mark", failing)
            expected = sl.EngineError if error is MemoryError else error
            with pytest.raises(expected):
                kb.update(
                    insert={"edge": [("d", "new")], "hue": [(1,)]}, delete={"edge": EDGES[:2]}
                )
        assert (state(kb), len(kb._dictionary)) == (before, constants), step
    changes = kb.update(insert={"edge": [("d", "new")]})
    assert ("a", "new") in rows(changes.added["path"])


def test_limits_stop_an_update_and_nothing_is_changed(engine):
    program = "n(?y) :- n(?x), go(?x), BIND(?x + 1 AS ?y) . go(?x) :- n(?x), on() ."
    kb = sl.materialise(program, {"n": [(0,)], "on": []}, engine=engine, max_facts=50)
    before = state(kb)
    with pytest.raises(sl.EngineError, match="E103"):
        kb.update(insert={"on": [()]})
    assert state(kb) == before


def test_an_endless_recursion_is_noticed(engine, monkeypatch):
    monkeypatch.setattr(maintaining, "MOST_ROUNDS_WITH_BIND", 20)
    monkeypatch.setattr("stratalog.knowledge.update.rounds.MOST_ROUNDS_WITH_BIND", 20)
    program = "n(?y) :- n(?x), on(), BIND(?x + 1 AS ?y) ."
    kb = sl.materialise(program, {"on": []}, engine=engine)
    for edit in ({}, {"add_rules": "n(?y) :- n(?x), on(), BIND(?x + 2 AS ?y) ."}):
        with pytest.raises(sl.EngineError, match="E104"):
            kb.update(insert={"on": [()], "n": [(0,)]}, **edit)
        assert len(kb["n"]) == 0


def test_bad_input_is_refused_before_anything_changes(kb):
    before = state(kb)
    for given in ({"edge": [(1, 2, 3)]}, {"edge": [(None, 1)]}, "no/such/file.csv", 3):
        with pytest.raises(sl.DataError):
            kb.update(insert=given)
        with pytest.raises(sl.DataError):
            kb.update(delete=given)
    assert state(kb) == before


def test_a_closed_base_cannot_be_updated(kb):
    kb.close()
    with pytest.raises(sl.EngineError, match="E107"):
        kb.update(insert={"edge": [("x", "y")]})


def test_others_may_read_while_one_updates():
    kb = sl.materialise(PATHS, {"edge": [(i, i + 1) for i in range(60)]})
    sizes, stop = set(), threading.Event()

    def read():
        while not stop.is_set():
            sizes.add((len(kb["edge"]), kb.facts("path").num_rows))

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(5):
        kb.update(delete={"edge": [(30, 31)]})
        kb.update(insert={"edge": [(30, 31)]})
    stop.set()
    reader.join()
    assert sizes
    assert {paths for _, paths in sizes} <= {60 * 61 // 2, 30 * 31 // 2 + 29 * 30 // 2}


def test_warnings_of_readers_are_told(kb, tmp_path, caplog):
    (tmp_path / "odd.nq").write_text("<http://a> <http://p> <http://b> <http://g> .\n")
    with caplog.at_level(logging.WARNING, "stratalog"):
        changes = kb.update(insert=tmp_path / "odd.nq")
    assert changes.stats["graphs_dropped"] == 1


# -- the store


def test_an_update_of_a_bound_base_is_a_version(kb, tmp_path):
    kb.save(tmp_path / "kb")
    changes = kb.update(delete={"edge": EDGES[:1]})
    assert kb.version == changes.stats["version"] == 2
    assert state(sl.open(tmp_path / "kb"))[:2] == state(kb)[:2]
    assert len(sl.open(tmp_path / "kb", version=1)["edge"]) == 4
    kb.what_if(delete={"edge": EDGES})
    assert kb.version == 2
    assert "save" in changes.stats["phases"]


def test_who_comes_second_changes_nothing(tmp_path):
    sl.materialise(PATHS, {"edge": EDGES}, store=tmp_path / "kb")
    one, two = sl.open(tmp_path / "kb"), sl.open(tmp_path / "kb")
    one.update(insert={"edge": [("d", "f")]})
    before = state(two)
    with pytest.raises(sl.StoreError, match="T105") as caught:
        two.update(insert={"edge": [("d", "g")]})
    assert "refresh" in caught.value.help
    assert state(two) == before
    assert two.refresh() == 2
    two.update(insert={"edge": [("d", "g")]})
    assert ("a", "g") in sl.open(tmp_path / "kb")["path"]


def test_who_is_overtaken_while_reasoning_changes_nothing(tmp_path, monkeypatch):
    kb = sl.materialise(PATHS, {"edge": EDGES}, store=tmp_path / "kb")
    before, check = state(kb), persist.check_current

    def overtaken(late):
        check(late)
        sl.open(tmp_path / "kb").update(insert={"edge": [("d", "f")]})

    with monkeypatch.context() as patch:
        patch.setattr(persist, "check_current", lambda kb: patch.undo() or overtaken(kb))
        with pytest.raises(sl.StoreError, match="T105"):
            kb.update(insert={"edge": [("d", "g")]})
    assert state(kb) == before
    assert sl.open(tmp_path / "kb").version == 2


def test_a_store_is_opened_with_options_for_updates(tmp_path):
    sl.materialise(PATHS, {"edge": EDGES}, store=tmp_path / "kb")
    kb = sl.open(tmp_path / "kb", maintenance="bf-c", max_facts=1000)
    assert kb.update(insert={"edge": [("d", "f")]}).stats["maintenance"] == "bf-c"
    for wrong in ({"store": "x"}, {"joins": "plan"}, {"colour": "red"}):
        with pytest.raises(sl.EngineError, match="E120"):
            sl.open(tmp_path / "kb", **wrong)


# -- rules


def test_rules_come_and_go(kb, engine):
    before = state(kb)
    changes = kb.update(add_rules="back(?y, ?x) :- path(?x, ?y) .")
    assert changes.added.sizes == {"back": len(kb["path"])}
    assert "back(?y, ?x) :- path(?x, ?y) ." in [r["rule"] for r in changes.stats["profile"]]
    fresh = sl.materialise(
        PATHS + MORE + "back(?y, ?x) :- path(?x, ?y) .", {"edge": EDGES}, engine=engine
    )
    assert state(kb) == state(fresh)
    again = kb.update(add_rules="back(?y, ?x) :- path(?x, ?y) .")
    assert not again
    assert kb.stats["rules"] == 5
    changes = kb.update(remove_rules="back(?y, ?x) :- path(?x, ?y) .")
    assert changes.removed.sizes == {"back": len(kb["path"])}
    assert state(kb) == before


def test_what_rules_do_not_touch_is_not_derived_again(kb):
    changes = kb.update(add_rules="back(?y, ?x) :- path(?x, ?y) .")
    assert [each["predicates"] for each in changes.stats["per_stratum"]] == [["back"]]
    assert changes.stats["derivations"] == len(kb["path"])


def test_a_rule_that_makes_a_predicate_recursive_is_followed(kb, engine):
    rule = "edge(?y, ?x) :- path(?x, ?y), last(?x) . path(?x, ?x) :- edge(?x, ?y) ."
    with pytest.raises(sl.ProgramError, match="S301"):  # through NOT
        kb.update(add_rules=rule)
    rule = "edge(?x, ?x) :- path(?x, ?y) ."
    plain = sl.materialise(PATHS, {"edge": EDGES}, engine=engine)
    plain.update(add_rules=rule)
    assert plain.counts() == sl.materialise(PATHS + rule, {"edge": EDGES}, engine=engine).counts()
    plain.update(remove_rules=rule)
    assert plain.counts() == sl.materialise(PATHS, {"edge": EDGES}, engine=engine).counts()


def test_rules_and_facts_change_together(kb, engine):
    kb.update(
        insert={"edge": [("d", "f")], "hue": [("a", "red")]},
        delete={"edge": [("a", "b")]},
        add_rules=['red(?x) :- hue(?x, "red") .', 'edge("f", "g") .'],
        remove_rules=MORE,
    )
    program = PATHS + 'red(?x) :- hue(?x, "red") .'
    edges = [*EDGES[1:], ("d", "f"), ("f", "g")]
    fresh = sl.materialise(program, {"edge": edges, "hue": [("a", "red")]}, engine=engine)
    assert state(kb)[:3] == state(fresh)[:3]


def test_a_rule_to_remove_must_be_there(kb):
    before = state(kb)
    with pytest.raises(sl.ProgramError, match="S211") as caught:
        kb.update(remove_rules="path(?x, ?y) :- edge(?y, ?x) .")
    assert caught.value.source == "path(?x, ?y) :- edge(?y, ?x) ."
    assert caught.value.help
    assert state(kb) == before


def test_rules_that_are_wrong_change_nothing(kb):
    before = state(kb)
    for rule, code in (
        ("p(?x) :- edge(?y, ?y) .", "S201"),
        ("edge(?x) :- path(?x, ?y) .", "S202"),
        ("edge(?x, ?y) :- path(?x, ?y), NOT last(?x) .", "S301"),
    ):
        with pytest.raises(sl.ProgramError, match=code):
            kb.update(add_rules=rule)
    assert state(kb) == before


def test_added_rules_know_the_programs_prefixes(engine):
    kb = sl.materialise("@prefix : <http://e/> . :q(?x) :- :p(?x) . :p(1) .", engine=engine)
    kb.update(add_rules=":r(?x) :- :q(?x) .")
    assert list(kb[":r"]) == [(1,)]
    kb.update(remove_rules=":r(?x) :- :q(?x) .")
    assert ":r" not in kb


@pytest.mark.parametrize("stored", [True, False])
def test_rules_may_change_how_triples_are_stored(engine, stored, tmp_path):
    base = "@prefix : <http://e/> . :q(?x, ?y) :- :p(?x, ?y) . "
    rule = "[?y, ?q, ?x] :- [?x, ?q, ?y] ." if stored else "used(?q) :- [?x, ?q, ?y] ."
    facts = {"<http://e/p>": [(1, 2)], "<http://e/C>": [(sl.IRI("http://e/p"),)]}
    kb = sl.materialise(base, facts, engine=engine, store=tmp_path / "kb")
    before = state(kb)
    fresh = sl.materialise(base + rule, facts, engine=engine)
    asked = kb.what_if(add_rules=rule)
    assert state(kb) == before
    assert kb.query("[?x, ?p, ?y]").num_rows == 3
    changes = kb.update(add_rules=rule)
    assert state(kb)[:2] == state(fresh)[:2]
    assert changes.added.sizes == asked.added.sizes
    assert kb.query("[?x, ?p, ?y]").num_rows == fresh.query("[?x, ?p, ?y]").num_rows
    assert state(sl.open(tmp_path / "kb"))[:2] == state(kb)[:2]
    kb.update(remove_rules=rule)
    assert state(kb)[:4] == before[:4]
    assert kb.query("[?x, ?p, ?y]").num_rows == 3
    assert state(sl.open(tmp_path / "kb"))[:2] == before[:2]


def test_edited_rules_are_in_the_store(tmp_path):
    kb = sl.materialise(PATHS, {"edge": EDGES}, store=tmp_path / "kb")
    kb.update(add_rules=MORE)
    kb.update(remove_rules=PATHS, delete={"edge": EDGES[:1]})
    found = sl.open(tmp_path / "kb")
    assert found.counts() == kb.counts()
    assert found.stats["rules"] == 2
    assert found.predicates() == kb.predicates() == ["degree", "edge", "last"]
    assert found.update(add_rules=PATHS).added.sizes == {"path": 4}


def test_a_store_keeps_predicates_that_only_a_table_without_rows_told_of(tmp_path):
    nothing = pa.table({name: pa.array([], pa.string()) for name in ("c0", "c1")})
    given = {"<urn:p>": [("a", "b")], "<urn:q>": nothing}
    sl.materialise("known(?x) :- [?x, ?p, ?y] .", given, store=tmp_path / "kb")
    assert list(sl.open(tmp_path / "kb")["known"]) == [("a",)]


def test_a_store_of_rules_alone_takes_its_first_facts_later(tmp_path):
    sl.materialise(PATHS, {"edge": []}, store=tmp_path / "kb").close()
    kb = sl.open(tmp_path / "kb")
    assert kb.update(insert={"edge": [("a", "b"), ("b", "c")]}).sizes() == {
        "edge": (2, 0),
        "path": (3, 0),
    }
    assert ("a", "c") in sl.open(tmp_path / "kb")["path"]


def test_rules_go_while_facts_of_a_new_predicate_come():
    rules = "@prefix : <http://e/> . t(?x, ?c) :- [?x, a, ?c] . :C(?x) :- :p(?x, ?x) ."
    kb = sl.materialise(rules, {":p": [(9, 9)]})
    wish = {"insert": {":q": [(1, 2)]}, "delete": {":p": [(9, 9)]}}
    changes = kb.update(**wish, remove_rules=":C(?x) :- :p(?x, ?x) .")
    assert changes.sizes() == {":C": (0, 1), ":p": (0, 1), ":q": (1, 0), "t": (0, 1)}
    assert list(kb["t"]) == []


def test_facts_that_are_gone_do_not_count_as_facts(engine):
    kb = sl.materialise("q(?x) :- p(?x) .", {"p": range_of(0, 50)}, engine=engine, max_facts=100)
    for turn in range(0, 200, 5):
        kb.update(insert={"p": range_of(50 + turn, 5)}, delete={"p": range_of(turn, 5)})
    before = state(kb)
    with pytest.raises(sl.EngineError, match="E103"):
        kb.update(insert={"p": [(-1,)]})
    assert state(kb) == before
    assert kb.query("p(?x), NOT q(?x)").num_rows == 0


@pytest.mark.parametrize("modules", ["auto", "paper", "off"])
def test_the_most_facts_are_the_most_there_can_be(engine, modules):
    rule = "t(?x, ?z) :- t(?x, ?y), t(?y, ?z) ."
    options = {"engine": engine, "modules": modules, "max_facts": 55}
    kb = sl.materialise(rule, {"t": [(n, n + 1) for n in range(10)]}, **options)
    with pytest.raises(sl.EngineError, match="E103"):
        kb.update(insert={"t": [(10, 11)]})
    assert kb.update(delete={"t": [(0, 1)]}, insert={"t": [(10, 11)]}).sizes() == {"t": (10, 10)}
    with pytest.raises(sl.EngineError, match="E103"):
        sl.materialise(rule, {"t": [(n, n + 1) for n in range(11)]}, **options)


def range_of(first, size):
    return [(n,) for n in range(first, first + size)]


def test_an_update_leaves_nothing_for_the_garbage_collector(engine):
    kb = sl.materialise(PATHS, {"edge": EDGES}, engine=engine)
    begun: list[weakref.ref[object]] = []

    class Followed(maintaining.Rounds):
        def __init__(self, *given: object) -> None:
            super().__init__(*given)
            begun.append(weakref.ref(self))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(maintaining, "Rounds", Followed)
        gc.disable()
        try:
            kb.update(insert={"edge": [("d", "f")]}, delete={"edge": EDGES[:1]})
            assert [each() for each in begun] == [None]
        finally:
            gc.enable()
