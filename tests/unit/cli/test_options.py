"""Every option of the command line changes something: output, files, or how the command ends.

Those of `stream` have tests of their own on Spark, those of `bench` and `generate` with what they
measure and write.
"""

import os
import re
import shutil

import pytest
import typer

import stratalog as sl
from stratalog.cli.main import app
from stratalog.lang.terms import INTEGER
from tests.unit.cli.conftest import RULES

MATERIALISE = ("materialise", "rules.dlog", "edge.csv")
UPDATE = ("update", "kb", "--delete", "edge.csv")
FACTS = ("facts", "kb", "path", "--format", "csv")
QUERY = ("query", "kb", "edge(?x, ?y)", "--format", "csv")
PLAN = ("plan", "rules.dlog")
STATS = ("stats", "kb")
VERSIONS = ("versions", "kb")
MANY = ("edge=many.csv",)
BAD = ("edge=bad.csv",)

COMMON = {  # of materialise and update: what is given with and without the option, and the option
    "--engine": (("--json",), ("--engine=reference",)),
    "--maintenance": (("--json",), ("--maintenance=rematerialise",)),
    "--memory": (("--engine=columnar", *MANY), ("--memory=10000",)),
    "--max-facts": ((), ("--max-facts=1",)),
    "--max-digits": (("long.nt",), ("--max-digits=20",)),
    "--timeout": ((), ("--timeout=0.000000001",)),
    "--header": ((), ("--header",)),
    "--on-bad-input": (BAD, ("--on-bad-input=skip",)),
    "--rejected": ((*BAD, "--on-bad-input=skip"), ("--rejected=bad.jsonl",)),
    "--reader": (("edge.orc",), ("--reader=local",)),
    "--master": (("--engine=columnar",), ("--master=local[1]",)),
    "--conf": (("--engine=columnar",), ("--conf=spark.ui.port=1",)),
    "--json": ((), ("--json",)),
    "--profile": ((), ("--profile",)),
    "--progress": ((), ("--progress",)),
    "--quiet": ((), ("--quiet",)),
}
TABLE = {
    MATERIALISE: COMMON
    | {
        "--store": ((), ("--store=other",)),
        "--keep": (("--store=kb",), ("--keep=1",)),
        "--spill": (("--engine=reference",), ("--spill=spark",)),
        "--modules": (("--json", "--profile"), ("--modules=off",)),
        "--schemes": ((), ("--schemes=plain",)),
        "--equality": (("links.dlog",), ("--equality=off",)),
        "--joins": ((), ("--joins=hypertree",)),
        "--publish": ((), ("--publish=out",)),
        "--graphs": (("quads.nq", "graphs.dlog"), ("--graphs=keep",)),
    },
    UPDATE: COMMON
    | {
        "--insert": ((), ("--insert=other.csv",)),
        "--delete": ((), ("--delete=other.csv",)),
        "--add-rules": ((), ("--add-rules=links.dlog",)),
        "--remove-rules": ((), ("--remove-rules=rules.dlog",)),
        "--dry-run": ((), ("--dry-run",)),
        "--keep": ((), ("--keep=1",)),
        "--graphs": (("quads.nq", "--add-rules=graphs.dlog"), ("--graphs=keep",)),
    },
    FACTS: {
        "--limit": ((), ("--limit=1",)),
        "--format": ((), ("--format=jsonl",)),
        "-o": ((), ("-o", "found.csv")),
        "--sorted": ((), ("--sorted",)),
        "--explicit": ((), ("--explicit",)),
        "--derived": ((), ("--derived",)),
        "--header": ((), ("--header",)),
        "--version": ((), ("--version=1",)),
        "--quiet": ((), ("--quiet",)),
    },
    QUERY: {
        "--limit": ((), ("--limit=1",)),
        "--format": ((), ("--format=jsonl",)),
        "-o": ((), ("-o", "found.csv")),
        "--sorted": ((), ("--sorted",)),
        "--header": ((), ("--header",)),
        "--version": ((), ("--version=1",)),
        "--max-facts": ((), ("--max-facts=1",)),
        "--timeout": ((), ("--timeout=0.000000001",)),
        "--quiet": ((), ("--quiet",)),
    },
    PLAN: {
        "--data": ((), ("--data", "edge.csv")),
        "--updates": ((), ("--updates",)),
        "--header": (("--data", "edge.csv"), ("--header",)),
        "--graphs": (("--data", "quads.nq"), ("--graphs=keep",)),
        "--json": ((), ("--json",)),
        "--quiet": ((), ("--quiet",)),
    },
    STATS: {
        "--version": ((), ("--version=1",)),
        "--json": ((), ("--json",)),
        "--profile": ((), ("--profile",)),
        "--quiet": ((), ("--quiet",)),
    },
    VERSIONS: {
        "--compare": ((), ("--compare", "1", "2")),
        "--drop": ((), ("--drop=1",)),
        "--keep": ((), ("--keep=1",)),
        "--json": ((), ("--json",)),
        "--quiet": (("--drop=1",), ("--quiet",)),
    },
}
UNSEEN = {"--threads"}  # facts and counts are the same; tests of Python's options see the threads
ON_SPARK = {"--reader"}  # what reads ORC if nothing else is chosen
ALL = [
    pytest.param(command, option, marks=[pytest.mark.spark] * (option in ON_SPARK))
    for command, options in TABLE.items()
    for option in options
]


@pytest.fixture(scope="module")
def beginning(tmp_path_factory):
    """A store of two versions, and files to read."""
    folder = tmp_path_factory.mktemp("options")
    texts = {
        "rules.dlog": RULES,
        "links.dlog": "owl:sameAs(?x, ?y) :- same(?x, ?y) .",
        "graphs.dlog": "named(?s) :- <http://g>(?s, ?p, ?o) .",
        "edge.csv": "b,c\na,b\n",
        "other.csv": "c,d\n",
        "bad.csv": "c,d\nc\n",
        "many.csv": "".join(f"{n},{n + 1}\n" for n in range(0, 50_000, 2)),
        "edge.orc": "",
        "long.nt": f'<http://s> <http://p> "{10**24}"^^<{INTEGER}> .',
        "quads.nq": "<http://s> <http://p> <http://o> <http://g> .\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
    kb = sl.materialise(folder / "rules.dlog", [folder / "edge.csv"], store=folder / "kb")
    kb.update(insert={"edge": [("0", "a")], "path": [("x", "y")]})
    return folder


def seen(command, beginning, place, arguments):
    """Return what a command leaves behind at a place, without times."""
    shutil.copytree(beginning, place)
    os.chdir(place)
    done = command(*arguments)
    names = sorted(str(p.relative_to(place)) for p in place.rglob("*") if p.suffix != ".parquet")
    return done.status, re.sub(r"[0-9.e-]+ s\b|seconds.*|  +", "", done.out + done.err), names


@pytest.mark.parametrize(("start", "option"), ALL)
def test_an_option_changes_something(command, beginning, tmp_path, start, option):
    usual, more = TABLE[start][option]
    if start == UPDATE:
        usual = [each if each.startswith("--") else f"--insert={each}" for each in usual]
    arguments = (*start, *usual)
    without = seen(command, beginning, tmp_path / "without", arguments)
    assert seen(command, beginning, tmp_path / "with", (*arguments, *more)) != without


def test_all_options_are_in_the_table():
    commands = typer.main.get_command(app).commands
    for start, options in TABLE.items():
        known = {p.opts[0] for p in commands[start[0]].params if p.opts[0].startswith("-")}
        assert known - UNSEEN == options.keys(), start[0]
