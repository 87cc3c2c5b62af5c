import json
import os
import re
import warnings
from pathlib import Path

import pytest

import stratalog as sl


def test_results_alone_go_to_stdout_and_the_summary_to_stderr(command):
    done = command("materialise", "rules.dlog", "edge.csv", "--store", "kb")
    assert done.status == 0
    assert done.out == ""
    assert re.fullmatch(
        r"3 explicit \+ 6 derived facts, 2 rounds, 3 derivations, \d+\.\d\d s -> kb version 1\n",
        done.err,
    )
    assert len(sl.open("kb")["path"]) == 6


def test_json_is_one_object_with_the_keys_of_the_contract(command):
    done = command("materialise", "rules.dlog", "edge.csv", "--json", "--quiet", "--profile")
    keys = {"explicit", "derived", "facts", "rounds", "derivations", "seconds", "bytes_per_fact"}
    assert keys | {"engine", "maintenance", "phases", "profile"} <= done.json.keys()
    assert done.json["facts"] == done.json["explicit"] + done.json["derived"] == 9
    assert done.err == ""


def test_without_a_store_nothing_is_kept_and_this_is_said(command, folder):
    done = command("materialise", "rules.dlog", "edge.csv")
    assert "note: without --store" in done.err
    assert sorted(p.name for p in folder.iterdir()) == ["edge.csv", "rules.dlog"]


def test_an_existing_store_gets_a_new_version(command, store):
    done = command("materialise", "rules.dlog", "edge.csv", "--store", store)
    assert done.err.endswith("-> kb version 2\n")
    assert [v.number for v in sl.open(store).versions()] == [1, 2]


def test_data_may_name_its_predicate(command):
    Path("links.tsv").write_text("a\tb\n")
    done = command("materialise", "rules.dlog", "edge=links.tsv", "--json", "-q")
    assert (done.json["explicit"], done.json["derived"]) == (1, 1)


def test_data_may_name_the_arity_of_an_iri_that_is_a_class_too(command):
    Path("class.dlog").write_text("q(?x) :- <http://e/C>(?x) .")
    Path("links.tsv").write_text("a\tb\n")
    command("materialise", "class.dlog", "<http://e/C>/2=links.tsv", "--store", "kb")
    assert list(sl.open("kb")["<http://e/C>/2"]) == [("a", "b")]
    command("update", "kb", "--delete", "<http://e/C>/2=links.tsv")
    assert len(sl.open("kb")["<http://e/C>/2"]) == 0
    command("update", "kb", "--insert", "<http://e/C>=links.tsv")
    assert list(sl.open("kb")["<http://e/C>/2"]) == [("a", "b")]
    Path("old").mkdir()
    Path("old/2=links.tsv").write_text("c\td\n")  # a path wins over a name with its arity
    assert "2=links" in command("update", "kb", "--insert", "old/2=links.tsv").err


def test_several_programs_are_one_and_folders_are_data(command):
    Path("more.dlog").write_text("back(?y, ?x) :- path(?x, ?y) .")
    Path("facts").mkdir()
    Path("edge.csv").rename("facts/edge.csv")
    done = command("materialise", "rules.dlog", "facts", "more.dlog", "--json", "-q")
    assert done.json["derived"] == 12


def test_facts_of_predicates_that_no_rule_mentions_are_kept(command):
    Path("other.csv").write_text("x\n")
    command("materialise", "rules.dlog", "edge.csv", "other.csv", "--store", "kb")
    assert command("facts", "kb", "other", "--format", "csv").out == "x\n"


def test_an_empty_program_is_allowed_with_a_note(command):
    Path("empty.dlog").write_text("")
    done = command("materialise", "empty.dlog", "edge.csv", "--store", "kb")
    assert done.status == 0
    assert "note: the program has no rules" in done.err
    assert "3 explicit + 0 derived" in done.err


def test_profile_prints_the_cost_of_each_rule(command):
    for modules, derivations in (("off", 6), ("auto", 3)):  # a closure has none
        done = command(
            "materialise", "rules.dlog", "edge.csv", "--profile", "-q", "--modules", modules
        )
        assert done.lines[0].split() == ["seconds", "derivations", "rows", "rule"]
        assert len(done.lines) == 3
        assert sum(int(line.split()[1]) for line in done.lines[1:]) == derivations


def test_warnings_are_printed_once_each(command):
    Path("odd.dlog").write_text("p(?x) :- q(?x) .")
    done = command("materialise", "odd.dlog", "-q")
    assert done.status == 0
    assert done.err.count("warning: W301") == 1


def test_a_misspelt_name_is_told_with_what_was_meant(command, store):
    for arguments in (("materialise", "rules.dlog"), ("update", store, "--insert")):
        done = command(*arguments, "egde=edge.csv", "-q")
        assert done.status == 0
        assert done.out == ""
        assert done.err.startswith("warning: W304: there are facts ")
        assert "did you mean edge?" in done.err


def test_warnings_of_others_are_printed_as_usual(command, monkeypatch):
    def undefined(*_):
        warnings.warn("by somebody else", DeprecationWarning, stacklevel=1)
        return []

    monkeypatch.setattr("stratalog.knowledge.build.undefined_predicates", undefined)
    with pytest.warns(DeprecationWarning, match="by somebody else"):
        command("materialise", "rules.dlog", "edge.csv", "-q")


def test_a_first_line_is_a_header_when_asked(command):
    Path("edge.csv").write_text("from,to\na,b\n")
    assert command("materialise", "rules.dlog", "edge.csv", "--header", "--json", "-q").json[
        "explicit"
    ] == 1  # fmt: skip


def test_bad_lines_are_skipped_counted_sampled_and_stored(command):
    Path("edge.csv").write_text("a,b\nb\nb,c\n")
    done = command(
        "materialise", "rules.dlog", "edge.csv", "--on-bad-input", "skip", "--store", "kb"
    )
    assert done.status == 0
    assert "edge.csv:2" in done.err
    assert "1 bad line skipped -> kb/rejected/version-1.jsonl" in done.err
    (kept,) = Path("kb/rejected/version-1.jsonl").read_text().splitlines()
    assert json.loads(kept) == {"path": "edge.csv", "line": 2, "text": "b"}


@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_rejected_lines_do_not_follow_what_a_strangers_store_has_in_their_place(command, kind):
    Path("edge.csv").write_text("a,b\nb\n")
    Path("mine").write_text("mine")
    arguments = ("materialise", "rules.dlog", "edge.csv", "--on-bad-input=skip", "--store=kb")
    assert command(*arguments).status == 0
    place = Path("kb/rejected/version-2.jsonl")
    place.symlink_to(Path("mine").absolute()) if kind == "link" else os.mkfifo(place)
    assert command(*arguments).status == 0
    assert len(place.read_text().splitlines()) == 1
    assert Path("mine").read_text() == "mine"


def test_rejected_lines_may_go_elsewhere(command):
    Path("edge.csv").write_text("a,b\nb\n")
    options = ("--on-bad-input", "skip", "--rejected", "bad/lines.jsonl")
    assert command("materialise", "rules.dlog", "edge.csv", *options).status == 0
    assert len(Path("bad/lines.jsonl").read_text().splitlines()) == 1


def test_amounts_of_memory_are_read(command):
    for amount in ("4GiB", "500MB", "500mb", "1.5 GiB", "300000000", "1G"):
        assert command("materialise", "rules.dlog", "edge.csv", "--memory", amount).status == 0


def test_all_options_of_python_are_taken(command):
    options = {
        "engine": "columnar",
        "maintenance": "rematerialise",
        "modules": "off",
        "schemes": "auto",
        "equality": "off",
        "joins": "plan",
        "threads": "1",
        "memory": "1GiB",
        "spill": "spark",
        "max-facts": "1000",
        "max-digits": "5000",
        "timeout": "60",
        "graphs": "keep",
        "reader": "local",
    }
    given = [f"--{name}={value}" for name, value in options.items()]
    assert command("materialise", "rules.dlog", "edge.csv", *given).status == 0


def test_a_literal_beyond_the_screen_is_kept_whole(command):
    long = "x" * 100_000
    Path("edge.csv").write_text(f"{long},b\n")
    command("materialise", "rules.dlog", "edge.csv", "--store", "kb")
    assert command("facts", "kb", "edge", "--format", "csv").out == f"{long},b\n"
