"""The command in this process, in an empty folder: what it prints and how it ends."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from stratalog.cli.main import main

RULES = """
path(?x, ?y) :- edge(?x, ?y) .
path(?x, ?z) :- path(?x, ?y), edge(?y, ?z) .
"""
EDGES = "a,b\nb,c\nc,d\n"


@dataclass(frozen=True)
class Result:
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def lines(self):
        return self.out.splitlines()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("rules.dlog").write_text(RULES)
    Path("edge.csv").write_text(EDGES)
    return tmp_path


@pytest.fixture
def command(folder, capsys):  # noqa: ARG001  # the command runs there
    def run(*arguments):
        capsys.readouterr()
        status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Result(status, captured.out, captured.err)

    return run


@pytest.fixture
def store(command):
    assert command("materialise", "rules.dlog", "edge.csv", "--store", "kb").status == 0
    return "kb"
