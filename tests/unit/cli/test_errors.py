"""Bad input: a code, the exit status, file and line, a help line, and nothing written."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stratalog.cli import main as cli

TYPED = "@declare edge(a integer, b integer) ."


def _text(path, content):
    Path(path).write_bytes(content if isinstance(content, bytes) else content.encode())


@pytest.mark.parametrize(
    ("program", "code", "line"),
    [
        ("p(?x, ?z) :-\n edge(?x, ?y) .", "S201", 1),
        ("p(?x) :- edge(?x, ?y), NOT q(?x) .\nq(?x) :- edge(?x, ?y), p(?x) .", "S301", 1),
        ("ok(1) .\np(a) .", "S1", 2),
        ("ok(1) .\np(?x) :- edge(?x) .\np(?x) :- edge(?x, ?y) .", "S2", 3),
        ("p(?x) :- edge(?x, ?y), FILTER(NOSUCH(?x)) .", "S2", 1),
        ("p(?x) :- edge(?x, ?y)", "S1", 1),
        (b'ok(1) .\np("\xff") .', "S101", 2),
        ("p(?x) :- " + "edge(?x, ?y), " * 8_000 + "edge(?x, a) .", "S1", 1),
    ],
)
def test_a_wrong_program(command, program, code, line):
    _text("wrong.dlog", program)
    done = command("materialise", "wrong.dlog", "edge.csv", "--store", "kb")
    assert done.status == 1
    assert done.err.startswith(code)
    assert f"wrong.dlog:{line}" in done.err
    assert "help: " in done.err
    assert max(map(len, done.err.splitlines())) < 2_000
    assert done.out == ""
    assert not Path("kb").exists()


@pytest.mark.parametrize(
    ("program", "content", "code", "place"),
    [
        ("", "a,b\nc\n", "D", "edge.csv:2"),
        (TYPED, "1,2\n3,four\n", "D", "edge.csv:2"),
        (TYPED, "1,2\n3,\n", "D", "edge.csv:2"),
        ("", b"a,b\nb,\xff\n", "D", "edge.csv:2"),
        ("", 'a,b\n"c,d\n', "D", "edge.csv:2"),
        ("", "a,b\n" + "x" * 100_000 + "\n", "D", "edge.csv:2"),
        ("p(?x) :- edge(?x, ?y, ?z) .", "a,b\n", "D", "edge.csv"),
    ],
)
def test_wrong_data(command, program, content, code, place):
    _text("wrong.dlog", program)
    _text("edge.csv", content)
    done = command("materialise", "wrong.dlog", "edge.csv", "--store", "kb")
    assert done.status == 1
    assert done.err.startswith(code)
    assert place in done.err
    assert "help: " in done.err
    assert len(done.err) < 3_000
    assert not Path("kb").exists()


def test_a_truncated_parquet_file_and_nulls(command):
    pq.write_table(pa.table({"a": list(range(1000)), "b": list(range(1000))}), "edge.parquet")
    _text("edge.parquet", Path("edge.parquet").read_bytes()[:500])
    done = command("materialise", "rules.dlog", "edge.parquet", "--store", "kb")
    assert (done.status, done.err[:5]) == (1, "D104:")
    assert "edge.parquet" in done.err
    pq.write_table(pa.table({"a": [1, 2], "b": [1, None]}), "edge.parquet")
    done = command("materialise", "rules.dlog", "edge.parquet", "--store", "kb")
    assert done.status == 1
    assert "edge.parquet" in done.err
    assert not Path("kb").exists()


def test_files_that_are_not_there(command):
    done = command("materialise", "none.dlog", "--store", "kb")
    assert (done.status, "S100" in done.err, "none.dlog" in done.err) == (1, True, True)
    done = command("materialise", "rules.dlog", "none.csv", "--store", "kb")
    assert (done.status, "D100" in done.err, "none.csv" in done.err) == (1, True, True)
    Path("folder.dlog").mkdir()
    assert command("materialise", "folder.dlog", "--store", "kb").status == 1
    assert not Path("kb").exists()


def test_stores_that_are_not_there_or_of_a_newer_version(command, store):
    for arguments in (
        ("facts", "no"),
        ("query", "no", "p(?x)"),
        ("stats", "no"),
        ("versions", "no"),
    ):
        done = command(*arguments)
        assert (done.status, done.err[:5], done.out) == (1, "T101:", "")
    marker = Path(store, "stratalog.json")
    marker.write_text(json.dumps(json.loads(marker.read_text()) | {"format": 99}))
    for arguments in (("facts", store), ("materialise", "rules.dlog", "--store", store)):
        done = command(*arguments)
        assert (done.status, done.err[:5]) == (1, "T104:")
        assert "pip install --upgrade" in done.err


def test_a_store_is_not_made_among_other_files(command):
    Path("home").mkdir()
    _text("home/letter.txt", "dear")
    done = command("materialise", "rules.dlog", "edge.csv", "--store", "home")
    assert (done.status, done.err[:5]) == (1, "T108:")
    assert command("materialise", "rules.dlog", "edge.csv", "--store", "edge.csv").status == 1
    assert [p.name for p in Path("home").iterdir()] == ["letter.txt"]


@pytest.mark.parametrize(
    ("option", "status", "said"),
    [
        ("--engine=fast", 2, "E120: --engine fast is not a choice"),
        ("--equality=rewrite", 1, "E121: --equality rewrite is not supported yet"),
        ("--joins=hypertree", 1, "E121"),
        ("--on-bad-input=ignore", 2, "E120: --on-bad-input ignore"),
        ("--memory=much", 2, "4GiB"),
        ("--memory=0", 2, "E120: --memory 0 is not an amount of memory"),
        ("--timeout=-1", 2, "E120: --timeout -1.0"),
        ("--timeout=nan", 2, "E120: --timeout nan"),
        ("--threads=257", 2, "U100"),
        ("--max-digits=5", 2, "U100"),
        ("--spill=disk", 2, "E120: --spill disk"),
        ("--timeout=soon", 2, "U100"),
        ("--threads=0", 2, "U100"),
        ("--max-facts=none", 2, "U100"),
        ("--reader=mine", 2, "E120"),
        ("--publish=edge.csv", 1, "T108: this is a file"),
        ("--publish=s3://bucket/out", 1, "T107"),
        ("--master=nowhere", 2, "E206: 'nowhere' is no Spark master"),
        ("--conf=a=b", 2, "E206: 'a' is no Spark setting"),
        ("--conf=spark.ui.port", 2, "E206"),
        ("--nonsense", 2, "U100: No such option"),
    ],
)
def test_wrong_options(command, option, status, said):
    done = command("materialise", "rules.dlog", "edge.csv", "--store", "kb", option)
    assert done.status == status
    assert said in done.err
    assert "help: " in done.err
    assert not Path("kb").exists()


@pytest.mark.parametrize("name", ["explain"])
def test_commands_of_later_versions_are_refused(command, name):
    done = command(name, "kb")
    assert (done.status, done.out) == (2, "")
    assert f"U100: the command {name} is not supported yet" in done.err
    assert name not in command("--help").out.split()


def test_usage(command):
    assert command("nonsense").status == 2
    assert command().status == 2
    assert command("materialise").status == 2
    assert "ends in .dlog" in command("materialise", "edge.csv").err
    assert command("facts", "kb", "--format", "xml").status == 2
    assert command("facts", "kb", "--limit", "-1").status == 2
    assert command("--version").out == "stratalog 0.1.0\n"
    for name in ("materialise", "facts", "query", "plan", "stats", "versions", "warmup"):
        done = command(name, "--help")
        assert done.status == 0
        assert "Examples:" in done.out


def test_limits_stop_the_engine_and_name_the_rule(command):
    Path("big.dlog").write_text("big(?a, ?b, ?c, ?d) :- n(?a), n(?b), n(?c), n(?d) .")
    Path("n.csv").write_text("".join(f"{i}\n" for i in range(400)))
    for limit, code in (
        ("--memory=50MB", "E101"),
        ("--timeout=0.2", "E102"),
        ("--max-facts=500", "E103"),
    ):
        told = ("--store", "kb", "--engine", "columnar", limit)  # others go on, on Spark
        done = command("materialise", "big.dlog", "n.csv", *told)
        assert (done.status, done.err[:4]) == (4, code)
        assert "big(?a, ?b, ?c, ?d) :- " in done.err
    assert not Path("kb").exists()


def test_an_unexpected_failure_asks_for_a_report(command, store, monkeypatch):
    def fail(*_):
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("stratalog.knowledge.stored.open.open_store", fail)
    done = command("facts", store)
    assert done.status == 3
    assert "X100" in done.err
    assert "RuntimeError: two lines" in done.err
    assert "--debug" in done.err
    debugged = command("facts", store, "--debug")
    assert debugged.status == 3
    assert debugged.err.startswith("Traceback")


def test_failures_of_the_machine_are_told_as_such(command, store, monkeypatch):
    for error, status in ((MemoryError(), 4), (OSError(28, "No space left on device", "x"), 1)):

        def fail(*_, error=error):
            raise error

        monkeypatch.setattr("stratalog.knowledge.stored.open.open_store", fail)
        assert command("facts", store).status == status


def test_cancelling_says_what_was_written(command, store, monkeypatch):
    from stratalog.knowledge import build

    def cancelled(*_, **__):
        raise KeyboardInterrupt

    reason = build.run
    monkeypatch.setattr(build, "run", cancelled)
    done = command("materialise", "rules.dlog", "edge.csv", "--store", store)
    assert (done.status, done.err) == (4, "E105: cancelled; nothing was written\n")
    monkeypatch.setattr(build, "run", reason)
    monkeypatch.setattr(build.KnowledgeBase, "note_phase", cancelled)
    done = command("materialise", "rules.dlog", "edge.csv", "--store", store)
    assert (done.status, done.err) == (4, "E105: cancelled; version 2 had been written\n")


@pytest.mark.parametrize(
    ("last", "arguments", "told"),
    [
        (
            "materialise.summary",
            ("materialise", "rules.dlog", "--store", "kb"),
            "version 2 had been written",
        ),
        (
            "materialise.summary",
            ("materialise", "rules.dlog", "--publish", "out"),
            "what is in out is whole",
        ),
        ("facts.note", ("facts", "kb", "path"), "nothing was written"),
        ("facts.note", ("facts", "kb", "path", "-o", "path.csv"), "what is in path.csv is whole"),
        ("stores.note", ("versions", "kb", "--drop", "1"), "version 1 is gone"),
    ],
)
def test_cancelling_at_the_last_moment_says_what_was_written(
    command, store, monkeypatch, last, arguments, told
):
    if arguments[0] == "versions":
        assert command("materialise", "rules.dlog", "--store", store).status == 0

    def cancelled(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"stratalog.cli.{last}", cancelled)
    done = command(*(store if each == "kb" else each for each in arguments))
    assert (done.status, done.err.splitlines()[-1]) == (4, f"E105: cancelled; {told}")


def test_an_output_file_that_cannot_be_written(command, store):
    done = command("facts", store, "path", "-o", "no/such/folder.csv")
    assert (done.status, done.err[:5]) == (1, "D313:")
    assert command("facts", store, "path", "-o", "no/such/f.txt").status == 1


def test_exit_status_are_the_contract():
    assert (cli.OK, cli.USER, cli.USAGE, cli.INTERNAL, cli.ENGINE) == (0, 1, 2, 3, 4)
