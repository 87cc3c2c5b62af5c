"""What a run says while it lasts: on a terminal, in a pipe, in the log, to a function."""

import logging
import os
import pty
import re
import subprocess
import sys
import threading

import pytest

import stratalog as sl
from stratalog.knowledge.display import status
from stratalog.knowledge.display.status import StatusLine

WAITS = """
import sys, stratalog as sl
def rows():
    yield (1, 2)
    sys.stdin.readline()
    yield (2, 3)
sl.materialise("path(?x, ?y) :- edge(?x, ?y) .", {"edge": rows()}, engine="reference" OPTIONS)
print("done", len(__import__("threading").enumerate()))
"""
ENDS = {"TERM": "xterm", "COLUMNS": "80"}


def _started(options, stderr):
    code = WAITS.replace("OPTIONS", options)
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env=os.environ | ENDS,
    )


def _on_terminal(options="", until=rb"read: facts \((\d+) s\)"):
    """Return what a terminal gets, and how the process ends; it waits until two times are seen."""
    ours, theirs = pty.openpty()
    with _started(options, theirs) as process:
        os.close(theirs)
        shown = b""
        while len(set(re.findall(until, shown))) < 2:
            shown += os.read(ours, 65536)
        out, _ = process.communicate(b"\n")
        while chunk := _read(ours):
            shown += chunk
    os.close(ours)
    return shown.decode(), out.decode()


def _read(terminal):
    try:
        return os.read(terminal, 65536)
    except OSError:  # the other side is closed
        return b""


def test_time_goes_on_though_nothing_is_told_and_the_thread_ends_with_the_call():
    shown, out = _on_terminal()
    assert out == "done 1\n"
    assert shown.endswith(("\x1b[2K", "\x1b[?25h\r\x1b[1A\x1b[2K"))  # the line is gone


class Left:
    """A surface that keeps what it was left with."""

    def __init__(self):
        self.text = ""

    def draw(self, text):
        """Nothing: what is left counts."""

    def add(self, text):
        """Nothing is listed."""

    def end(self, text):
        self.text = text


@pytest.mark.parametrize(
    ("before", "left"), [(("read", "facts"), "read: facts"), (None, "compile: 2 kernels")]
)
def test_when_kernels_are_compiled_the_line_tells_what_goes_on(before, left):
    surface = Left()
    line = StatusLine(surface, lists=False, may_list=False)
    if before is not None:
        line(*before)
    line("compile", "1 of 2 kernels")
    line.finish("compile", "2 kernels", 1.0)
    line.stop()
    assert surface.text.startswith(f"{left} (")


def test_an_update_tells_that_it_reads_before_a_function_of_the_user_makes_rows():
    told, seen = [], []
    progress = lambda stage, detail: told.append((stage, detail))  # noqa: E731
    kb = sl.materialise("", {"a": [(1,)]}, engine="reference", progress=progress)
    told.clear()

    def rows():
        seen.extend(told)
        yield (2,)

    kb.update(insert={"a": rows()})
    assert seen == [("read", "facts")]


def test_a_list_of_stages_stands_above_the_line():
    shown, _ = _on_terminal(', progress="stages"')
    assert re.search(r"\x1b\[2Kread: 2 facts, 3 constants, \d+\.\d\d s\r\n", shown)


@pytest.mark.parametrize(
    ("options", "stages"),
    [
        ("", []),
        (", progress=False", []),
        (', progress="long"', []),
        (', progress="stages"', ["read", "reason"]),
        (", progress=True", ["read", "reason"]),
    ],
)
def test_a_pipe_gets_finished_stages_if_they_are_asked_for(options, stages):
    with _started(options, subprocess.PIPE) as process:
        out, said = process.communicate(b"\n")
    assert out == b"done 1\n"
    assert re.findall(r"^(\w+): .*, \d+\.\d\d s$", said.decode(), re.MULTILINE) == stages
    assert len(said.splitlines()) == len(stages)


def test_stages_are_logged_whatever_is_shown(caplog, tmp_path):
    caplog.set_level(logging.INFO, "stratalog")
    program = "path(?x, ?y) :- edge(?x, ?y) ."
    kb = sl.materialise(program, {"edge": [(1, 2)]}, store=tmp_path / "kb", progress=False)
    kb.update(insert={"edge": [(2, 3)]})
    said = [record.getMessage() for record in caplog.records]
    assert [line.partition(":")[0] for line in said] == ["read", "reason", "save"] * 2
    assert said[4].startswith("reason: +2 -0 facts, ")


def test_nobody_is_watched_for_by_a_thread_where_nobody_looks(capsys):
    before = threading.active_count()
    seen = []

    def rows():
        seen.append(threading.active_count())
        yield (1,)

    sl.materialise("", {"a": rows()}, engine="reference", progress=True)
    assert seen == [before]
    assert capsys.readouterr().err.startswith("read: 1 fact")


def test_a_line_that_cannot_be_drawn_ends_no_run(monkeypatch):
    drawn = threading.Event()

    class Broken:
        def draw(self, _):
            drawn.set()
            raise OSError

        def add(self, _):
            pass

        def end(self, _):
            pass

    monkeypatch.setattr(status, "QUIET", 0)
    with status.StatusLine(Broken(), lists=False, may_list=False) as line:
        line("read", "facts")
        assert drawn.wait(60)
    assert drawn.is_set()


def test_the_command_lists_stages_if_asked(tmp_path):
    program = tmp_path / "rules.dlog"
    program.write_text("edge(1, 2) .")
    run = [sys.executable, "-m", "stratalog", "materialise", str(program), "--progress"]
    done = subprocess.run(run, capture_output=True, text=True, check=True)
    assert re.search(r"^read: 1 fact, 2 constants, ", done.stderr, re.MULTILINE)
    assert re.search(r"^reason: 0 derived facts", done.stderr, re.MULTILINE)
