"""`stratalog update`: a version of what changed, a dry run, and what is refused."""

import json
from pathlib import Path

import pytest

import stratalog


@pytest.fixture
def change(command, store):
    """Updates the store of the other tests, with files that are there."""
    Path("gone.csv").write_text("b,c\nq,q\n")
    Path("new.csv").write_text("b,x\n")
    Path("more.dlog").write_text("far(?x) :- path(?x, ?y), NOT edge(?x, ?y) .\n")
    return lambda *arguments: command("update", store, *arguments)


BOTH = ("--delete", "edge=gone.csv", "--insert", "edge=new.csv")


def test_an_update_is_a_new_version_and_one_line(command, change):
    done = change(*BOTH)
    assert (done.status, done.out) == (0, "")
    told, summary = done.err.splitlines()
    assert told == "1 fact to delete was not explicit"
    assert summary.startswith("+3 -5 facts, ")
    assert summary.endswith(" s -> kb version 2")
    assert sorted(stratalog.open("kb")["path"]) == [("a", "b"), ("a", "x"), ("b", "x"), ("c", "d")]
    assert command("versions", "kb", "--compare", 1, 2).err == "version 1 -> 2: +3 -5 facts\n"


def test_a_dry_run_tells_and_writes_nothing(change):
    done = change(*BOTH, "--dry-run")
    assert [line.split() for line in done.lines] == [
        ["predicate", "added", "removed"],
        ["edge", "1", "1"],
        ["path", "2", "4"],
    ]
    assert done.err.splitlines()[-1].endswith("kb stays version 1: a dry run")
    assert stratalog.open("kb").version == 1
    found = change(*BOTH, "--dry-run", "--json").json
    assert found["changes"] == {
        "edge": {"added": 1, "removed": 1},
        "path": {"added": 2, "removed": 4},
    }
    assert found["dry_run"] is True


def test_json_has_the_keys_of_the_contract(command, change):
    found = change(*BOTH, "--json", "--quiet")
    assert found.err == ""
    keys = {"explicit", "derived", "facts", "rounds", "derivations", "seconds", "bytes_per_fact"}
    keys |= {"engine", "maintenance", "added", "removed", "not_explicit", "phases", "per_stratum"}
    assert keys <= found.json.keys()
    numbers = [found.json[k] for k in ("explicit", "added", "removed", "not_explicit", "version")]
    assert numbers == [3, 3, 5, 1, 2]
    assert {"read", "reason", "save"} <= found.json["phases"].keys()
    assert "profile" not in found.json
    assert command("stats", "kb", "--json").json["removed"] == 5


def test_a_profile_is_of_the_update(change):
    assert len(change(*BOTH, "--profile").lines) == 3
    profile = change("--delete", "edge=new.csv", "--profile", "--json").json["profile"]
    assert {rule["rule"].split("(")[0] for rule in profile} == {"path"}


def test_nothing_to_change_leaves_the_version(change):
    done = change("--insert", "edge.csv")
    assert done.err.splitlines()[-1].startswith("+0 -0 facts, 0 rounds, 0 derivations")
    assert done.err.endswith("kb stays version 1\n")


def test_several_files_of_several_formats(change):
    Path("more.jsonl").write_text('["d", "e"]\n')
    Path("facts").mkdir()
    Path("facts/edge.tsv").write_text("e\tf\n")
    arguments = ("--insert", "edge=more.jsonl", "--insert", "facts", "--delete", "edge.csv")
    assert change(*arguments).status == 0
    assert sorted(stratalog.open("kb")["edge"]) == [("d", "e"), ("e", "f")]


def test_triples_are_inserted_and_deleted(command):
    Path("r.dlog").write_text("@prefix : <http://e/> . [?y, :by, ?x] :- [?x, :on, ?y] .")
    Path("t.nt").write_text("<http://e/a> <http://e/on> <http://e/b> .\n")
    command("materialise", "r.dlog", "t.nt", "--store", "rdf")
    assert command("update", "rdf", "--delete", "t.nt").status == 0
    assert command("facts", "rdf", "--format", "nt").out == ""
    assert command("update", "rdf", "--insert", "t.nt").status == 0
    assert len(command("facts", "rdf", "--format", "nt").lines) == 2


def test_rules_come_and_go(change):
    done = change("--add-rules", "more.dlog")
    assert done.err.startswith("+2 -0 facts, ")
    assert change("--remove-rules", "more.dlog").err.startswith("+0 -2 facts, ")
    again = change("--remove-rules", "more.dlog")
    assert (again.status, again.err.splitlines()[0][:5]) == (1, "S211:")
    assert "more.dlog:1" in again.err
    assert stratalog.open("kb").version == 3


@pytest.mark.parametrize("name", ["auto", "dred", "dred-c", "bf", "bf-c", "rematerialise"])
def test_every_algorithm_has_its_name(command, change, name):
    command("materialise", "rules.dlog", "edge.csv", "--modules", "off", "--store", "plain")
    assert {each["algorithm"] for each in change(*BOTH, "--json").json["per_stratum"]} == {
        "closure"
    }
    found = command("update", "plain", *BOTH, "--maintenance", name, "--json")
    assert found.status == 0
    assert found.json["maintenance"] == name
    algorithms = {each["algorithm"] for each in found.json["per_stratum"]}
    assert algorithms == {name} or name == "auto"


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        ((), 2, "U100: give --insert, --delete, --add-rules or --remove-rules"),
        (("--delete", "edge.csv", "--maintenance", "counting"), 1, "E125:"),
        (("--delete", "edge.csv", "--maintenance", "magic"), 2, "E120: --maintenance magic is not"),
        (("--insert", "no.csv"), 1, "D100:"),
        (("--insert", "edge=rules.dlog"), 1, "D106:"),
        (("--add-rules", "no.dlog"), 1, "S100:"),
        (("--insert", "edge=many.csv", "--max-facts", "10"), 4, "E103:"),
    ],
)
def test_what_is_wrong_is_told_and_changes_nothing(change, arguments, status, told):
    Path("many.csv").write_text("".join(f"{i},{i + 1}\n" for i in range(30)))
    done = change(*arguments)
    assert (done.status, done.err[: len(told)]) == (status, told)
    assert stratalog.open("kb").version == 1


def test_there_must_be_a_store(command):
    assert command("update", "none", *BOTH).err.startswith("T101:")


def test_bad_lines_may_be_skipped(change):
    Path("gone.csv").write_text("b,c\nbad\n")
    assert change(*BOTH).status == 1
    done = change(*BOTH, "--on-bad-input", "skip")
    assert done.status == 0
    assert "1 bad line skipped -> kb/rejected/version-2.jsonl" in done.err
    assert json.loads(Path("kb/rejected/version-2.jsonl").read_text())["text"] == "bad"


def test_cancelling_says_what_was_written(change, monkeypatch):
    from stratalog.cli import update
    from stratalog.knowledge import base
    from stratalog.knowledge.update import apply as updating

    def cancelled(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(updating, "read_given", cancelled)
        assert change(*BOTH).err == "E105: cancelled; nothing was written\n"
    with monkeypatch.context() as patch:
        patch.setattr(base.KnowledgeBase, "note_phase", cancelled)
        assert change(*BOTH).err == "E105: cancelled; version 2 had been written\n"
    back = ("--delete", "edge=new.csv")
    with monkeypatch.context() as patch:
        patch.setattr(update, "_close", cancelled)  # all is done, but not said
        assert change(*back, "--dry-run").err == "E105: cancelled; nothing was written\n"
        assert change(*back).err == "E105: cancelled; version 3 had been written\n"
