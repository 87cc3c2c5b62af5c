from pathlib import Path

import pytest

import stratalog


def _second_version(command, store):
    Path("edge.csv").write_text("a,b\nb,c\nx,y\n")
    Path("more.dlog").write_text("new(?x) :- edge(?x, ?y) .")
    command("materialise", "rules.dlog", "more.dlog", "edge.csv", "--store", store)


def test_stats_are_those_of_the_run_that_made_the_version(command, store):
    stats = command("stats", store, "--json").json
    assert (stats["explicit"], stats["derived"], stats["facts"]) == (3, 6, 9)
    keys = {"rounds", "derivations", "seconds", "bytes_per_fact", "engine", "maintenance"}
    assert keys <= stats.keys()
    assert stats["version"] == 1
    table = command("stats", store)
    assert ["facts", "9"] in [line.split() for line in table.lines]
    assert table.err == "9 facts in version 1 of kb\n"


def test_stats_remember_the_profile_and_earlier_versions(command, store):
    _second_version(command, store)
    assert len(command("stats", store, "--profile", "--version", 1).lines) == 3
    profile = command("stats", store, "--profile", "--json").json["profile"]
    assert len(profile) == 3
    assert command("stats", store, "--version", 9).status == 1


def test_versions_are_listed(command, store):
    _second_version(command, store)
    lines = command("versions", store).lines
    assert lines[0].split() == ["version", "created", "facts", "explicit", "bytes", "note"]
    assert [line.split()[0] for line in lines[1:]] == ["1", "2"]
    assert [v["facts"] for v in command("versions", store, "--json").json] == [9, 10]


def test_versions_are_compared_per_predicate(command, store):
    _second_version(command, store)
    done = command("versions", store, "--compare", 1, 2)
    assert [line.split() for line in done.lines] == [
        ["predicate", "added", "removed"],
        ["edge", "1", "1"],
        ["new", "3", "0"],
        ["path", "1", "3"],
    ]
    assert done.err == "version 1 -> 2: +5 -4 facts\n"
    back = command("versions", store, "--compare", 2, 1, "--json").json
    assert back["new"] == {"added": 0, "removed": 3}
    assert command("versions", store, "--compare", 1, 1).lines == ["predicate  added  removed"]
    assert command("versions", store, "--compare", 1, 9).status == 1


def test_facts_of_any_width_are_compared(command):
    Path("w.dlog").write_text('w(1, 2, 3, "x") . w(1, 2, 3, "y") . flag() .')
    command("materialise", "w.dlog", "--store", "kb")
    Path("w.dlog").write_text('w(1, 2, 3, "y") . w(0, 2, 3, "y") . w(1, 2, 4, "y") .')
    command("materialise", "w.dlog", "--store", "kb")
    assert command("versions", "kb", "--compare", 1, 2, "--json").json == {
        "flag": {"added": 0, "removed": 1},
        "w": {"added": 2, "removed": 1},
    }


def test_an_earlier_version_is_dropped_with_its_rejected_lines(command):
    Path("edge.csv").write_text("a,b\nbad\n")
    arguments = ("materialise", "rules.dlog", "edge.csv", "--on-bad-input=skip", "--store", "kb")
    command(*arguments)
    command(*arguments)
    assert command("versions", "kb", "--drop", 1).err == "version 1 of kb is gone\n"
    assert [v["number"] for v in command("versions", "kb", "--json").json] == [2]
    assert [p.name for p in Path("kb/rejected").iterdir()] == ["version-2.jsonl"]
    current = command("versions", "kb", "--drop", 2)
    assert (current.status, current.err[:5]) == (1, "T109:")
    assert command("versions", "kb", "--drop", 1).status == 1
    assert command("versions", "kb", "--drop", 1, "--compare", 1, 2).status == 2


def _numbers(command):
    return [v["number"] for v in command("versions", "kb", "--json").json]


def test_all_but_the_last_versions_are_dropped(command):
    for _ in range(4):
        command("materialise", "rules.dlog", "edge.csv", "--store", "kb")
    assert (
        command("versions", "kb", "--keep", 2).err == "2 versions of kb dropped, 2 versions left\n"
    )
    assert _numbers(command) == [3, 4]
    assert (
        command("versions", "kb", "--keep", 2).err == "0 versions of kb dropped, 2 versions left\n"
    )
    assert command("versions", "kb", "--keep", 0).status == 2
    assert command("versions", "kb", "--keep", 1, "--drop", 3).status == 2
    Path("more.csv").write_text("d,e\n")
    command("update", "kb", "--insert", "edge=more.csv")
    assert _numbers(command) == [3, 4, 5]  # it was said once, not for later


def test_a_store_remembers_how_many_versions_stay(command):
    Path("more.csv").write_text("d,e\n")
    for _ in range(3):
        command("materialise", "rules.dlog", "edge.csv", "--store", "kb", "--keep", 2)
    assert _numbers(command) == [2, 3]
    command("update", "kb", "--insert", "edge=more.csv")
    assert _numbers(command) == [3, 4]
    command("update", "kb", "--delete", "edge=more.csv", "--keep", "all")
    command("update", "kb", "--insert", "edge=more.csv")
    assert _numbers(command) == [3, 4, 5, 6]
    command("update", "kb", "--delete", "edge=more.csv", "--keep", 1)
    assert _numbers(command) == [7]
    for odd in ("0", "none", "-1", "1.5"):
        assert command("update", "kb", "--insert", "edge=more.csv", "--keep", odd).status == 2


def test_a_newest_version_that_vanished_is_missed_and_can_be_given_up(command):
    for _ in range(2):
        command("materialise", "rules.dlog", "edge.csv", "--store", "kb")
    Path("kb/versions/00000002.json").unlink()
    for words in (
        ("facts", "kb"),
        ("versions", "kb"),
        ("stats", "kb"),
        ("update", "kb", "--insert", "edge=edge.csv"),
        ("materialise", "rules.dlog", "edge.csv", "--store", "kb"),
    ):
        done = command(*words)
        assert (done.status, done.err[:32]) == (1, "T103: version 2, the newest, has"), done.err
    assert [line.split()[0] for line in command("versions", "kb").lines] == ["version", "1"]
    assert command("facts", "kb", "--version", 1).status == 0
    assert command("versions", "kb", "--drop", 2).err == (
        "version 2 of kb is gone\nthe version before it goes on as version 3\n"
    )
    assert command("facts", "kb").status == 0
    assert _numbers(command) == [1, 3]


@pytest.mark.parametrize(
    ("rule", "facts"),
    [
        ("used(?p) :- [?x, ?p, ?y] .", 3),  # triples are copied for the rule to read
        ("[?y, ?p, ?x] :- [?x, ?p, ?y] .", 3),  # triples are where the facts live
    ],
)
def test_versions_count_the_facts_that_users_see(command, rule, facts):
    Path("triples.dlog").write_text(f"{rule} <urn:p>(1, 2) . <urn:C>(1) .")
    command("materialise", "triples.dlog", "--store", "seen")
    [version] = stratalog.open("seen").versions()
    assert version.facts == stratalog.open("seen").stats["facts"] >= facts
